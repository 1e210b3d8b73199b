"""Tests programs that end without a close (crash/forgotten_writer.c). The written data must be readable, and one
warning of the job must name the file. MPI_Finalize must close multifiles that all MPI tasks have left open."""
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
MPIRUN = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "mpirun.sh"
MPIS = [mpi for mpi in ("openmpi", "mpich") if (BIN / f"forgotten_writer_{mpi}").exists()]
RECORDS = 1000


class Forgotten(unittest.TestCase):
    def setUp(self) -> None:
        self.where = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-forgotten-"))
        self.file = self.where / "m"

    def tearDown(self) -> None:
        shutil.rmtree(self.where)

    def run_writer(self, mpi: str, tasks: int, way: str, words: str = "wb", **environment: str) -> str:
        """Runs a writer and returns its stderr."""
        for name in self.where.iterdir():
            name.unlink()
        launcher = [] if tasks == 0 else [MPIRUN, mpi, str(tasks)]
        done = subprocess.run([*launcher, BIN / f"forgotten_writer_{mpi}", self.file, words, way], capture_output=True, text=True,
                              timeout=120, env={**os.environ, **environment})
        if way != "exit":  # mpirun reports a failure if a program omits MPI_Finalize
            self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def warnings(self, said: str) -> list[str]:
        return [line for line in said.splitlines() if "has not closed" in line]

    def check_data(self, tasks: int, file: pathlib.Path | None = None) -> None:
        for task in range(tasks):
            found = subprocess.run([BIN / "sheaf", "cat", "--task", str(task), file or self.file], capture_output=True, check=True).stdout
            self.assertEqual(found, struct.pack(f"{RECORDS}i", *range(1000 * task, 1000 * task + RECORDS)), f"task {task}")

    def verify(self) -> subprocess.CompletedProcess:
        return subprocess.run([BIN / "sheaf", "verify", self.file], capture_output=True, text=True)

    def check_unclosed(self, tasks: int, said: str) -> None:
        self.assertEqual(len(self.warnings(said)), 1, said)
        self.assertIn(str(self.file), said)
        self.check_data(tasks)
        found = self.verify()
        self.assertIn("never closed", found.stdout + found.stderr)
        subprocess.run([BIN / "sheaf", "repair", self.file], capture_output=True, check=True)
        self.check_data(tasks)

    def check_closed(self, tasks: int, said: str) -> None:
        self.assertEqual(len(self.warnings(said)), 1, said)
        self.assertIn(f"'{self.file}': all tasks had ended, so it is closed now", said)
        self.assertEqual(self.verify().returncode, 0)
        self.assertEqual([name.name for name in self.where.iterdir()], ["m"])
        self.check_data(tasks)

    def test_processes_without_mpi_flush_at_exit(self) -> None:
        for way in ("serial", "omp"):
            for words in ("wb", "wb,compress=zstd", "wb,fileptr=stream", "wb,durable", "wb,keyval=none"):
                with self.subTest(way=way, words=words):
                    self.check_unclosed(2, self.run_writer(MPIS[0], 0, way, words))

    def test_forked_children_do_nothing(self) -> None:
        self.check_unclosed(2, self.run_writer(MPIS[0], 0, "fork"))

    def test_finalize_closes(self) -> None:
        for mpi in MPIS:
            for way, per_process in (("parallel", 1), ("mapped", 2), ("ompi", 2)):
                with self.subTest(mpi=mpi, way=way):
                    self.check_closed(2 * per_process, self.run_writer(mpi, 2, way))

    def test_finalize_closes_collective_and_compressed_ones(self) -> None:
        for words in ("wb,collective,collsize=2", "wb,collective,collsize=3,cmerge", "wb,compress=zstd", "wb,journal=off"):
            with self.subTest(words=words):
                said = self.run_writer(MPIS[0], 3, "parallel", words)
                self.assertIn("so it is closed now", said)
                self.assertEqual(self.verify().returncode, 0)
                if "cmerge" not in words:
                    self.check_closed(3, said)

    def test_without_finalize_all_tasks_flush(self) -> None:
        for words in ("wb", "wb,collective,collsize=3"):
            with self.subTest(words=words):
                self.check_unclosed(3, self.run_writer(MPIS[0], 3, "exit", words))

    def test_the_wait_for_tasks_that_do_not_come_is_bounded(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.check_unclosed(2, self.run_writer(mpi, 2, "some", SHEAF_FINALIZE_WAIT="1"))

    def test_atomic_ones_do_not_get_their_names(self) -> None:
        for tasks, way in ((0, "serial"), (2, "parallel")):
            with self.subTest(way=way):
                said = self.run_writer(MPIS[0], tasks, way, "wb,atomic")
                self.assertEqual(len(self.warnings(said)), 1, said)
                self.assertFalse(self.file.exists())
                temporary = next(name for name in self.where.iterdir() if name.name.startswith("m.sheaf-tmp.") and
                                 name.suffix not in (".journal", ".lease"))
                self.assertIn(temporary.name, said)
                self.check_data(2, temporary)

    def test_verify_speaks_of_a_journal_only_where_there_is_one(self) -> None:
        self.run_writer(MPIS[0], 0, "serial", "wb,journal=off")
        found = self.verify()
        self.assertIn("never closed", found.stdout + found.stderr)
        self.assertNotIn("its journal tells", found.stdout + found.stderr)


if __name__ == "__main__":
    unittest.main()
