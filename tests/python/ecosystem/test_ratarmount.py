"""Multifiles under ratarmount."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest
import sheaf
from ratarmountcore.mountsource.factory import open_mount_source
from sheaf.archive import Archive
from sheaf.ratarmount import register


@pytest.fixture
def multifile(tmp_path):
    path = str(tmp_path / "a.sion")
    with sheaf.open(path, "w", tasks=3, chunk_size=100) as f:
        for rank, stream in enumerate(f):
            stream.write(b"task %d " % rank * 5000)
    return path


def test_tasks_are_files(multifile):
    register()
    with open_mount_source(multifile) as source:
        assert sorted(source.list("/")) == ["0", "1", "2"]
        info = source.lookup("/1")
        with source.open(info) as file:
            file.seek(7)
            assert file.read(7) == b"task 1 " and info.size == 35000
        assert source.read(info, 6, 34993) == b"task 1"
        assert source.lookup("/3") is None


def test_archives_have_directories(tmp_path):
    path = str(tmp_path / "a.sion")
    Archive(path, create=True).put_many({"x/y": b"1", "z": np.arange(3)})
    register()
    with open_mount_source(path) as source:
        assert (
            sorted(source.list("/")) == ["x", "z"]
            and list(source.list("/x")) == ["y"]
            and source.is_dir("/x")
        )


@pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="nothing can be mounted here: no /dev/fuse")
def test_the_command_mounts(multifile, tmp_path):
    point = tmp_path / "mnt"
    point.mkdir()
    run = subprocess.run(
        [sys.executable, "-m", "sheaf", "ratarmount", multifile, str(point)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    if "Operation not permitted" in run.stderr or "fusermount" in run.stderr:
        pytest.skip(f"nothing can be mounted here: {run.stderr.strip().splitlines()[-1]}")
    assert run.returncode == 0, run.stderr
    try:
        for _ in range(100):
            if os.path.ismount(point):
                break
            time.sleep(0.1)
        assert (point / "2").read_bytes() == b"task 2 " * 5000
    finally:
        subprocess.run(["fusermount", "-u", str(point)], check=False, capture_output=True)
