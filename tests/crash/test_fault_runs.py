"""Random programs of one task and several, in every mode, of whose system calls one to five fail (fault_runs.cpp): none hangs, and
none closes a file well that lacks a byte that a call has accepted. SHEAF_FAULT_RUNS: how many runs, 500 by default."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNS = int(os.environ.get("SHEAF_FAULT_RUNS", "500"))
SECONDS_PER_RUN = 2  # far more than one takes: only a hang lasts so long


class FaultRuns(unittest.TestCase):
    def run_programs(self, program: str, runs: int, launcher: list) -> None:
        if not (BIN / program).exists():
            self.skipTest(f"{program} was not built")
        scratch = tempfile.mkdtemp(prefix="sheaf-faults-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.addCleanup(shutil.rmtree, scratch, ignore_errors=True)
        preload = ["env", f"LD_PRELOAD={BIN}/libfailing_calls.so"]
        command = [*launcher, *preload, BIN / program, scratch, runs]
        result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120 + SECONDS_PER_RUN * runs, check=False)
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
        print(result.stdout.strip())

    def test_one_task(self) -> None:
        self.run_programs("fault_runs", RUNS * 5 // 10, [])

    def test_several_tasks(self) -> None:
        self.run_programs("fault_runs_openmpi", RUNS * 4 // 10, [ROOT / "scripts/mpirun.sh", "openmpi", "3"])

    def test_two_tasks_of_mpich(self) -> None:
        self.run_programs("fault_runs_mpich", RUNS // 10, [ROOT / "scripts/mpirun.sh", "mpich", "2"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
