"""Runs MPI programs on a disk that is full for a while. They ignore or repeat failed writes (full_disk.c).

A close must succeed if and only if no byte is missing. If it fails with `atomic`, the old checkpoint must keep its
name. The disk is a tmpfs. The tests are skipped if no tmpfs can be mounted."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
MPIRUN = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "mpirun.sh"
MODES = ("bw,atomic", "bw,atomic,collective", "bw,collective,cmerge,collsize=2", "bw,atomic,files=2", "bw,atomic,compress=lz4",
         "bw,atomic,durable", "bw")


class FullDisk(unittest.TestCase):
    def setUp(self) -> None:
        if os.geteuid() != 0:
            self.skipTest("mounting needs root")
        self.where = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-full-"))
        self.addCleanup(shutil.rmtree, self.where, ignore_errors=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", self.where], capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a tmpfs: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.where], check=False)

    def run_all(self, mpi: str, tasks: int) -> None:
        program = BIN / f"full_disk_{mpi}"
        if not program.exists():
            self.skipTest(f"{program.name} was not built")
        for mode in MODES:
            for answer in ("ignore", "repeat"):
                if answer == "repeat" and "cmerge" in mode:
                    continue  # task 0 has the bytes of all tasks
                with self.subTest(mode=mode, answer=answer):
                    command = [MPIRUN, mpi, tasks, program, self.where / "state.sion", self.where / "ballast", mode, answer]
                    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, check=False)
                    self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
                for left in self.where.iterdir():
                    left.unlink()

    def test_tasks_of_openmpi(self) -> None:
        self.run_all("openmpi", 3)

    def test_tasks_of_mpich(self) -> None:
        self.run_all("mpich", 2)


class BackgroundSaves(FullDisk):
    """Saves in the background (async_full_disk.c)."""

    def run_all(self, mpi: str, tasks: int) -> None:
        program = BIN / f"async_full_disk_{mpi}"
        if not program.exists():
            self.skipTest(f"{program.name} was not built")
        for answer, statuses in ("ask", {0}), ("leave", {1, 2}):  # 2: the close has failed already
            with self.subTest(answer=answer):
                command = [MPIRUN, mpi, tasks, program, self.where / "state.sion", self.where / "ballast", answer]
                result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, check=False)
                self.assertIn(result.returncode, statuses, f"{result.stdout}\n{result.stderr}")
                if answer == "leave":
                    self.assertIn("No space left", result.stderr)
                else:
                    self.assertEqual([left.name for left in self.where.iterdir()], ["state.sion"])
            for left in self.where.iterdir():
                left.unlink()


if __name__ == "__main__":
    unittest.main()
