"""Collective opens by several processes: groups of threads and processes, mpi4py."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
import sheaf
from groups import GatheringGroup, SocketGroup, ThreadGroup
from sheaf.group import Group


def together(groups, work):
    """Runs work(group) in a thread for each group; returns the results or exceptions."""
    found = [None] * len(groups)

    def run(group):
        try:
            found[group.rank] = work(group)
        except Exception as error:
            found[group.rank] = error

    threads = [threading.Thread(target=run, args=(group,)) for group in groups]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("kind", [ThreadGroup, GatheringGroup])
@pytest.mark.parametrize("files", [1, 3])
@pytest.mark.parametrize("size", [1, 3, 7])
def test_threads_write_and_read_together(path, size, files, kind):
    files = min(files, size)

    def work(group):
        with sheaf.open(
            path, "w", group=group, files=files, chunk_size=1000, compress="lz4" if size == 3 else None
        ) as f:
            f.write(np.full(3000, group.rank, "u1"))
            f.write_all(b"end")
        with sheaf.open(path, group=group) as f:
            return f.array("u1", copy=True), f.info.files

    assert isinstance(ThreadGroup.of(1)[0], Group)
    for rank, (array, nfiles) in enumerate(together(kind.of(size), work)):
        assert (array[:3000] == rank).all() and array[3000:].tobytes() == b"end" and nfiles == files
    with sheaf.open(path) as f:
        assert len(f) == size and [task.bytes for task in f.tasks] == [3003] * size


def test_mapped(path):
    def write(group):
        with sheaf.open(path, "w", group=group, mapped=[group.rank, group.rank + 3], chunk_size=100) as f:
            for task in f:
                f[task].write(b"task %d" % task * 100)

    def read(group):
        with sheaf.open(path, group=group, mapped=True) as f:
            share = {task: f[task].read(6) for task in f}
        with sheaf.open(path, group=group, mapped=[5, 0]) as f:
            with pytest.raises(IndexError):
                f[1]
            return share, f[5].read(12), f[0].size

    assert together(ThreadGroup.of(3), write) == [None] * 3
    found = together(ThreadGroup.of(4), read)
    assert sorted(task for share, _, _ in found for task in share) == list(range(6))
    assert all(
        rest == (b"task 5task 5", 600)
        for _, *rest in map(lambda row: (row[0], tuple(row[1:])), found)
        for rest in rest
    )


def test_an_error_of_one_is_an_error_of_all(path):
    def work(group):
        name = path if group.rank != 1 else "/nowhere/a.sion"
        with sheaf.open(name, "w", group=group):
            pass

    found = together(ThreadGroup.of(3), work)
    assert all(isinstance(error, sheaf.Error) for error in found), found


def test_an_exception_in_the_group_is_the_cause(path):
    class Broken(ThreadGroup):
        def gather(self, data, root):
            found = super().gather(data, root)
            if self.rank == 1:
                raise ConnectionError("the network is down")
            return found

    groups = ThreadGroup.of(3)
    shared = groups[0]._shared
    found = together(
        [Broken(rank, 3, shared) for rank in range(3)], lambda group: sheaf.open(path, "w", group=group)
    )
    assert all(isinstance(error, sheaf.Error) for error in found), found
    assert isinstance(found[1].__cause__, ConnectionError) and "task 1" in str(found[0])


def test_an_atomic_multifile_that_is_given_up_does_not_appear(path):
    with sheaf.open(path, "w") as f:
        f[0].write(b"old")

    def work(group):
        with pytest.raises(KeyError):
            with sheaf.open(path, "w", group=group, atomic=True) as f:
                f.write(b"new" * 1000)
                f.flush()
                group.barrier()  # the first member to abort removes the file
                raise KeyError

    assert together(ThreadGroup.of(3), work) == [None] * 3
    assert os.listdir(os.path.dirname(path)) == ["a.sion"] and sheaf.open(path)[0].read() == b"old"


def test_processes_write_one_multifile_without_mpi(path):
    groups = SocketGroup.of(4)
    children = []
    for group in groups[1:]:
        pid = os.fork()
        if pid == 0:
            try:
                with sheaf.open(path, "w", group=group, atomic=True, durable=True) as f:
                    f.write(b"process %d" % group.rank)
                os._exit(0)
            except BaseException:
                os._exit(1)
        children.append(pid)
    with sheaf.open(path, "w", group=groups[0], atomic=True, durable=True) as f:
        f.write(b"process 0")
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * 3
    with sheaf.open(path) as f:
        assert [stream.read() for stream in f] == [b"process %d" % rank for rank in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert sheaf.verify(path)


PROGRAM = """
import sys, numpy, sheaf, sheaf.mpi, sheaf.mpiio
drop_in = sheaf.mpiio.enable() if "drop-in" in sys.argv else None
from mpi4py import MPI
comm, path = MPI.COMM_WORLD, sys.argv[1]
with sheaf.open(path, "w", comm=comm, chunk_size=100, files=min(2, comm.size)) as f:
    f.write(numpy.arange(100.0) + comm.rank)
    f.write_all(b"end")
with sheaf.open(path, comm=comm) as f:
    assert (f.array("f8", 100) == numpy.arange(100.0) + comm.rank).all()
    f.seek(800)
    last = bytearray(3)
    assert f.readinto_all(last) == 3 and last == b"end"
with sheaf.open(path, comm=comm, mapped=[0, comm.size - 1]) as f:
    assert f[comm.size - 1].array("f8", 1)[0] == comm.size - 1
with sheaf.open(path + "m", "w", comm=comm, mapped=[comm.rank]) as f:
    f[comm.rank].write(b"x")
try:
    sheaf.open("/nowhere/a", "w", comm=comm)
except FileNotFoundError:
    pass
if drop_in:
    file = MPI.File.Open(comm, path + ".raw", MPI.MODE_CREATE | MPI.MODE_WRONLY)
    file.Write_at_all(comm.rank, bytearray(b"%d" % comm.rank))
    info = file.Get_info()
    assert info.Get("sheaf_block_size") is not None
    file.Close()
kinds = comm.gather(type(sheaf.mpi.opener_of(comm)).__name__)
if comm.rank == 0:
    print(*sorted(set(kinds)))
"""


def mpi4py_runs(mpi, directory):
    """Returns (launcher, environment) with which mpi4py works on this MPI; None if it does not. Provides MPICH's Debian
    library under the name that mpi4py expects."""
    launcher = shutil.which(f"mpirun.{mpi}") or (shutil.which("mpirun") if mpi == "openmpi" else None)
    if not launcher:
        return None
    environment = dict(os.environ)
    if mpi == "mpich":
        found = ctypes.util.find_library("mpich")
        if not found:
            return None
        (directory / "libmpi.so.12").symlink_to(find_path_of(found))
        environment.update(MPI4PY_MPIABI="mpich", LD_LIBRARY_PATH=str(directory))
    check = subprocess.run(
        [sys.executable, "-c", "from mpi4py import MPI; print(MPI.Get_library_version())"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    name = {"openmpi": "Open MPI", "mpich": "MPICH"}[mpi]
    return (launcher, environment) if name in check.stdout else None


def find_path_of(library):
    """Returns the path at which the linker finds the library."""
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    return next(line.rpartition("=> ")[2] for line in listed.splitlines() if line.strip().startswith(library))


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
@pytest.mark.parametrize("way", ["native", "messages"])
def test_mpi4py(path, tmp_path, build, way, mpi):
    runs = mpi4py_runs(mpi, tmp_path)
    if not runs:
        pytest.skip(f"no mpi4py under {mpi}")
    if way == "native" and not (build / "lib" / mpi).exists():
        pytest.skip(f"the build has no {mpi}")
    launcher, environment = runs
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment.update(
        SHEAF_PYTHON_MPI=way,
        SHEAF_LIBRARY=str(build / "lib"),
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
    )
    tasks = {"openmpi": 3, "mpich": 2}[mpi]  # MPICH polls
    drop_in = ["drop-in"] if way == "native" else []
    run = subprocess.run(
        [launcher, "-n", str(tasks), sys.executable, str(program), path, *drop_in],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["NativeOpener" if way == "native" else "Opener"]
    with sheaf.open(path) as f:
        assert [task.bytes for task in f.tasks] == [803] * tasks and sheaf.verify(path)


def test_the_drop_in_comes_before_mpi4py(build, tmp_path):
    if not mpi4py_runs("openmpi", tmp_path):
        pytest.skip("no mpi4py under Open MPI")
    code = "from mpi4py import MPI; import sheaf.mpiio; sheaf.mpiio.enable()"
    environment = dict(os.environ, SHEAF_LIBRARY=str(build / 'lib'))
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1 and "LD_PRELOAD=" in run.stderr
