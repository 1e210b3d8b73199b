"""Programs of this directory, compiled and run under an MPI with the drop-in."""
import os
import shutil
import subprocess
import tempfile
import unittest

BIN = os.path.abspath(os.environ.get("SHEAF_BIN", "build/bin"))
LIB = os.path.join(os.path.dirname(BIN), "lib")
HERE = os.path.dirname(os.path.abspath(__file__))
MPIRUN = os.path.abspath("scripts/mpirun.sh")
MPIS = [mpi for mpi in ("openmpi", "mpich") if os.path.exists(f"{LIB}/sheaf/libsheaf_mpiio_{mpi}.so")]


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
        words = ["env", f"LD_PRELOAD={LIB}/libsheaf_mpiio.so"] if preload else []
        done = subprocess.run([MPIRUN, mpi, str(tasks), *words, *command], capture_output=True, text=True, timeout=200,
                              env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.said_beside = done.stderr
        return done.stdout
