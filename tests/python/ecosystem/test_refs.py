"""`sheaf refs`: xarray and Dask read a multifile in place."""

from __future__ import annotations

import json
import subprocess
import sys

import fsspec
import numpy as np
import pytest
import sheaf
import xarray as xr
from sheaf.refs import references
from sheaf.zarr import SheafStore


def opened(refs):
    fs = fsspec.filesystem("reference", fo=refs, asynchronous=True, remote_protocol="file")
    import zarr

    store = zarr.storage.FsspecStore(fs, path="", read_only=True)
    return xr.open_dataset(store, engine="zarr", consolidated=False, chunks={})


def test_equal_tasks_are_one_array(tmp_path):
    path = tmp_path / "a.sion"
    with sheaf.open(path, "w", tasks=5, chunk_size=8 * 24) as f:
        for rank, stream in enumerate(f):
            stream.write(np.arange(24.0) + 100 * rank)
    data = opened(references(path, dtype="f8", shape=(4, 6)))["data"]
    assert (
        data.dims == ("task", "dimension_0", "dimension_1") and data.chunks[0] == (1,) * 5
    )  # Dask arrays, one task each
    assert float(data.sum().compute()) == sum(range(24)) * 5 + 24 * 1000
    assert (data[3].values == (np.arange(24.0) + 300).reshape(4, 6)).all()


def test_chunks_are_the_grid_of_unequal_tasks(tmp_path):
    path = tmp_path / "a.sion"
    with sheaf.open(path, "w", tasks=3, chunk_size=4096, block_size=4096) as f:
        for rank, stream in enumerate(f):
            stream.write(np.arange(1000 * (rank + 1), dtype="f8"))
    found = opened(references(path, dtype="f8"))
    for rank in range(3):
        assert (found[f"task_{rank}"].values == np.arange(1000 * (rank + 1))).all()


def test_a_zarr_hierarchy_in_an_archive(tmp_path):
    path = tmp_path / "a.sion"
    wanted = xr.Dataset(
        {"t": (("y", "x"), np.random.default_rng(1).random((20, 30)))}, coords={"x": np.arange(30)}
    )
    wanted.chunk({"x": 10}).to_zarr(SheafStore(path), consolidated=False)
    xr.testing.assert_identical(opened(references(path)).compute(), wanted)
    xr.testing.assert_identical(
        xr.open_zarr(SheafStore(path, read_only=True), consolidated=False).compute(), wanted
    )


def test_the_command_and_what_it_refuses(tmp_path):
    path = str(tmp_path / "a.sion")
    with sheaf.open(path, "w", tasks=2, keyval=True) as f:
        f[1].records[7] = b"seven"
    run = subprocess.run(
        [sys.executable, "-m", "sheaf", "refs", path, "--url", "s3://b/a.sion"],
        capture_output=True,
        text=True,
        check=True,
    )
    url, offset, size = json.loads(run.stdout)["refs"]["1/7"]
    assert (url, size) == ("s3://b/a.sion", 5) and open(path, "rb").read()[offset : offset + size] == b"seven"
    with sheaf.open(path, "w", compress="lz4") as f:
        f[0].write(b"x" * 1000)
    run = subprocess.run([sys.executable, "-m", "sheaf", "refs", path], capture_output=True, text=True)
    assert run.returncode == 1 and "sheaf defrag --decompress" in run.stderr
    with pytest.raises(sheaf.InvalidArgumentError, match="goes with a dtype"):
        references(path, shape=[1])
