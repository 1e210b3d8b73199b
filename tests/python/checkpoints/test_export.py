"""sheaf export --safetensors, and FsspecWriter over sheaf://."""

import json
import os
import subprocess
import sys

import pytest
import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

from ranks import on_ranks
from sheaf.errors import InvalidArgumentError, UnsupportedError
from sheaf.torch import SheafWriter

safetensors = pytest.importorskip("safetensors.torch")

DTYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.int64,
    torch.uint8,
    torch.bool,
]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "step.sion")


def cube():
    return torch.arange(6 * 8 * 10).reshape(6, 8, 10)


def state_of(size):
    mesh = init_device_mesh("cpu", (size,)) if size > 1 else None
    state = {
        f"cube.{dimension}": cube()
        if size == 1
        else distribute_tensor(cube(), mesh, [Shard(dimension)])
        for dimension in range(3)
    }
    return {
        "model": {
            **state,
            "bias": torch.arange(7.0),
            "scalar": torch.tensor(2.5),
            "empty": torch.empty(0, 4),
        },
        "step": 3,
    }


def save(rank, size, path):
    dcp.save(state_of(size), storage_writer=SheafWriter(path))


@pytest.mark.parametrize("size", [1, 4])
def test_tensors_are_whole(path, size):
    on_ranks(size, save, path)
    output = path + ".safetensors"
    told = subprocess.run(
        [sys.executable, "-m", "sheaf", "export", path, output, "--safetensors"],
        capture_output=True,
        text=True,
    )
    assert (
        told.returncode == 0
        and told.stdout == output + "\n"
        and "1 values that are no tensors" in told.stderr
    ), told
    found = safetensors.load_file(output)
    assert found.keys() == {
        f"model.{key}" for key in ("cube.0", "cube.1", "cube.2", "bias", "scalar", "empty")
    }
    assert all(torch.equal(found[f"model.cube.{dimension}"], cube()) for dimension in range(3))
    assert (
        found["model.bias"].tolist() == list(range(7))
        and found["model.scalar"] == 2.5
        and found["model.empty"].shape == (0, 4)
    )


def test_dtypes(path):
    from sheaf.export import export_safetensors

    state = {str(dtype): torch.arange(12).remainder(2).to(dtype) for dtype in DTYPES}
    dcp.save(state, storage_writer=SheafWriter(path))
    export_safetensors(path, path + ".safetensors")
    found = safetensors.load_file(path + ".safetensors")
    assert all(
        found[name].dtype == value.dtype and torch.equal(found[name].float(), value.float())
        for name, value in state.items()
    )


def test_several_files_and_a_prefix(path, tmp_path):
    from sheaf.export import export_safetensors

    dcp.save(
        {
            "model": {f"t{i}": torch.full((100,), float(i)) for i in range(10)},
            "other": torch.ones(5),
        },
        storage_writer=SheafWriter(path),
    )
    names = export_safetensors(
        path, tmp_path / "model.safetensors", prefix="model.", shard_size=1200
    )
    assert [os.path.basename(name) for name in names] == [
        f"model-{i:05d}-of-00004.safetensors" for i in range(1, 5)
    ]
    places = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert places["metadata"]["total_size"] == 4000 and len(places["weight_map"]) == 10
    for key, file in places["weight_map"].items():
        assert safetensors.load_file(tmp_path / file)[key].tolist() == [float(key[1:])] * 100


def test_what_cannot_be_exported_is_told(path):
    from sheaf.export import export_safetensors

    dcp.save({"a": torch.ones(3), "b": torch.eye(3).to_sparse()}, storage_writer=SheafWriter(path))
    with pytest.raises(UnsupportedError, match="'b' is a sparse_coo tensor"):
        export_safetensors(path, path + ".safetensors")
    with pytest.raises(InvalidArgumentError, match="no tensor whose name begins with 'x'"):
        export_safetensors(path, path + ".safetensors", prefix="x")
    export_safetensors(path, path + ".safetensors", prefix="a")
    with pytest.raises(InvalidArgumentError, match="exists already"):
        export_safetensors(path, path + ".safetensors", prefix="a")


def through_fsspec(rank, size, url):
    state = {
        "w": distribute_tensor(
            torch.arange(40.0).reshape(8, 5), init_device_mesh("cpu", (size,)), [Shard(0)]
        ),
        "step": 4,
    }
    dcp.save(state, storage_writer=dcp.FsspecWriter(url))
    state["w"].to_local().fill_(-1)
    state["step"] = 0
    dcp.load(state, storage_reader=dcp.FsspecReader(url))
    assert (
        torch.equal(state["w"].full_tensor(), torch.arange(40.0).reshape(8, 5))
        and state["step"] == 4
    )


@pytest.mark.parametrize("size", [1, 4])
def test_fsspec_writer_over_sheaf(tmp_path, size):
    import fsspec

    from sheaf.fsspec import SheafFileSystem

    fsspec.register_implementation("sheaf", SheafFileSystem, clobber=True)
    on_ranks(size, through_fsspec, f"sheaf://{tmp_path}/all.sion/step-4")
    assert os.listdir(tmp_path) == ["all.sion"]
