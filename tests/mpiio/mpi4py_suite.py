#!/usr/bin/env python3
"""mpi4py's own tests of files and exceptions under the drop-in, with 1 and 3 tasks of Open MPI. Fetches the sources
of the installed version from the Python package index. Not part of the suite, because it needs the network; `make
soak` runs it."""
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

BIN = os.environ.get("SHEAF_BIN", "build/bin")
LIB = pathlib.Path(BIN).resolve().parent / "lib" / "libsheaf_mpiio.so"
MPIRUN = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "mpirun.sh"
PYTHON = "/usr/bin/python3"  # Debian's mpi4py belongs to it and to Open MPI


def main():
    version = subprocess.run([PYTHON, "-c", "import mpi4py; print(mpi4py.__version__)"], capture_output=True, text=True).stdout.strip()
    if not version or not LIB.exists():
        print("mpi4py_suite: left out, no mpi4py or no Open MPI")
        return 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as where:
        fetched = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", where,
                                  f"mpi4py=={version}"], capture_output=True, text=True)
        sources = list(pathlib.Path(where).glob("mpi4py-*.tar.gz"))
        if not sources:
            print(f"mpi4py_suite: left out, mpi4py {version} could not be fetched\n{fetched.stderr}")
            return 0
        with tarfile.open(sources[0]) as archive:
            archive.extractall(where)
        runner = pathlib.Path(where) / f"mpi4py-{version}" / "test" / "runtests.py"
        for tasks in (1, 3):
            words = ["env", f"LD_PRELOAD={LIB}", f"TMPDIR={where}", PYTHON, "-B", runner, "-q", "-i", "test_io", "-i", "test_file",
                     "-i", "test_exceptions"]
            done = subprocess.run([str(word) for word in (MPIRUN, "openmpi", tasks, *words)], capture_output=True, text=True)
            last = [line for line in (done.stdout + done.stderr).splitlines() if line][-1]
            print(f"mpi4py {version}, {tasks} tasks: {last}")
            if done.returncode != 0:
                print(done.stdout + done.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
