"""Programs of this directory, compiled and run under an MPI with the drop-in.

SHEAF_TEST_MPIS: names of the MPIs to test (openmpi,mpich). SHEAF_DROP_IN: directory of a libsheaf_mpiio.so to use
instead of the build's, with its engines in sheaf/. SHEAF_MPI4PY: the Python with mpi4py for the first of the MPIs."""
import os
import shutil
import subprocess
import tempfile
import unittest

BIN = os.path.abspath(os.environ.get("SHEAF_BIN", "build/bin"))
LIB = os.path.join(os.path.dirname(BIN), "lib")
HERE = os.path.dirname(os.path.abspath(__file__))
MPIRUN = os.path.abspath("scripts/mpirun.sh")
DROP_IN = os.environ.get("SHEAF_DROP_IN", LIB)


def interface_of(mpi):
    """Returns the binary interface of an engine. mpich2 names a second MPI of the build with the interface of mpich."""
    kind = mpi.rstrip("0123456789")
    return "mpich" if kind == "intelmpi" else kind


def yields(mpi):
    """Returns whether waiting tasks yield their cores. Those of MPICH and its derivatives do not, so tests use two
    tasks, or fewer cases."""
    return interface_of(mpi) == "openmpi"


MPIS = [mpi for mpi in os.environ.get("SHEAF_TEST_MPIS", "openmpi,mpich").split(",")
        if os.path.exists(f"{DROP_IN}/sheaf/libsheaf_mpiio_{interface_of(mpi)}.so")]


class Programs(unittest.TestCase):
    def setUp(self):
        self.where = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)

    def tearDown(self):
        shutil.rmtree(self.where)

    def build(self, compiler, source, *flags, name="program"):
        program = os.path.join(self.where, name)
        subprocess.run([compiler, os.path.join(HERE, source), "-o", program, *flags], check=True, cwd=self.where)
        return program

    def run_under(self, mpi, tasks, command, preload=True, environment=None):
        words = ["env", f"LD_PRELOAD={DROP_IN}/libsheaf_mpiio.so"] if preload else []
        done = subprocess.run([MPIRUN, mpi, str(tasks), *words, *command], capture_output=True, text=True, timeout=200,
                              env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.said_beside = done.stderr
        return done.stdout
