"""Tests sheaf-partest under every MPI: all test types, the output, and the behaviour after an error."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("SHEAF_BIN", ROOT / "build" / "bin")).resolve()
# MPICH gets only two tasks, because its waiting tasks never yield their cores.
MPIS = {mpi: count for mpi, count in (("openmpi", 4), ("mpich", 2)) if (BIN / mpi / "sheaf-partest").exists()}
NAMES = ["multifile", "multifile, open_rank", "MPI-IO", "one file per task", "one task for all", "one shared POSIX file"]
SECONDS = 100
# The environment of the programs, without variables that change how the library writes.
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("SION_") and k != "SHEAF_FLAGS"}


@unittest.skipUnless(MPIS, "no MPI")
class PartestCase(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = Path(directory.name)
        self.mpi = next(iter(MPIS))
        self.environment = {"OMP_NUM_THREADS": "2"}

    def start(self, *options: object, name: str = "sheaf-partest", count: int | None = None) -> subprocess.CompletedProcess:
        launch = [ROOT / "scripts" / "mpirun.sh", self.mpi, count or MPIS[self.mpi], BIN / self.mpi / name, *options]
        return subprocess.run([str(word) for word in launch], cwd=self.dir, capture_output=True, text=True,
                              timeout=SECONDS, env=ENVIRONMENT | self.environment)

    def run_json(self, *options: object, count: int | None = None) -> dict:
        done = self.start("--json", *options, count=count)
        self.assertEqual(done.returncode, 0, (options, done.stdout, done.stderr))
        return json.loads(done.stdout)

    def refused(self, status: int, *options: object, says: str, count: int | None = None) -> None:
        """Checks that the run fails with `status` and prints one message on stderr, which states the error."""
        done = self.start(*options, count=count)
        self.assertEqual(done.returncode, status, (options, done.stderr))
        said = [line for line in done.stderr.splitlines() if line.startswith("sheaf-partest: ")]
        self.assertEqual(len(said), 1, (options, done.stderr))
        self.assertIn(says, said[0], options)

    def names(self) -> list[str]:
        return sorted(path.name for path in self.dir.iterdir())


def each_mpi(test):
    """Runs the test under every MPI, each in its own directory."""
    def run(self):
        for mpi, count in MPIS.items():
            with self.subTest(mpi=mpi):
                self.setUp()
                self.mpi = mpi
                test(self, count)
    return run


class TestTypes(PartestCase):
    @each_mpi
    def test_every_type_moves_all_data_and_checks_them(self, count):
        result = self.run_json("-T", "0,1,2,3,4,5", "-s", "1M", "-b", "100k", "-X", 1)
        self.assertEqual(result["tasks"], count)
        rows = [(p["test"], p["operation"]) for p in result["phases"]]
        self.assertEqual(rows, [(name, operation) for name in NAMES for operation in ("write", "read")])
        for phase in result["phases"]:
            self.assertEqual(phase["bytes"], count << 20, phase)
            self.assertEqual(phase["files"], count if phase["testtype"] == 3 else 1)
            self.assertEqual(phase["checked"], phase["operation"] == "read")
            self.assertGreater(phase["transfer_mib_per_second"], phase["mib_per_second"])
            self.assertGreater(phase["mib_per_second"], 0)
        self.assertEqual(self.names(), [], "-X removes all files")

    @each_mpi
    def test_threads(self, count):
        result = self.run_json("--threads", 2, "-T", "0,1,2,3", "-s", "100k", "-Z", 1, "-X", 1)
        self.assertEqual((result["tasks"], result["threads"]), (2 * count, 2))
        files = [p["files"] for p in result["phases"]]
        self.assertEqual(files, [1, 1, 1, 1, count, count, count, count])
        self.assertTrue(all(p["bytes"] == 2 * count * 102400 for p in result["phases"]))
        self.assertEqual(self.names(), [])

    @each_mpi
    def test_sizes_that_fit_nothing(self, count):
        odd = ("-s", 10007, "-b", 1000, "-O", 13, "-F", 2.5, "-q", 512, "-r", 1234, "-Z", 1, "-v", "-X", 1)
        result = self.run_json("-T", "0,1,2,3,4,5", *odd)
        for phase in result["phases"]:
            sizes = {task["data_of_task"]: task["bytes"] for task in phase["each_task"]}
            self.assertEqual(len(sizes), count)
            self.assertEqual(sum(sizes.values()), phase["bytes"])
            self.assertEqual(sizes, {t["data_of_task"]: t["bytes"] for t in result["phases"][0]["each_task"]})
            self.assertTrue(all(10007 <= size <= 3.5 * 10007 for size in sizes.values()))
            self.assertGreater(phase["chunks"], count - 1 if phase["testtype"] > 1 else 5 * count)

    @each_mpi
    def test_collective_calls(self, count):
        odd = ("-s", 10007, "-b", 1000, "-F", 2.5, "-q", 512, "-r", 4000, "-Z", 1)
        for size in ("", "1", "2", "-1"):
            self.environment = {"SION_COLLSIZE": size} if size else {}
            self.run_json("-T", "3,2,0", "-M", "-m", *odd)
            self.run_json("-T", "0,1", "-W", 0, *odd)
        self.run_json("-T", "2,0", "-M", "-m", *odd, "-s", 0)

    def test_no_data_at_all(self):
        self.assertEqual(self.run_json("-T", "0,1,2,3,4,5", "-s", 0)["phases"][-1]["bytes"], 0)

    @each_mpi
    def test_tasks_read_what_others_wrote(self, count):
        for shift in (1, -1, count + 1):
            result = self.run_json("-T", "0,1,2,3,4,5", "-s", "10k", "-Z", shift, "-v")
            for phase in result["phases"]:
                moved = 0 if phase["operation"] == "write" else shift
                wanted = [(task + moved) % count for task in range(count)]
                self.assertEqual([t["data_of_task"] for t in phase["each_task"]], wanted)

    @each_mpi
    def test_physical_files(self, count):
        for options, files in (("-n", 2), 2), (("-n", 0), 1), (("-n", 0, "--bgtaskperionode", 1), count):
            result = self.run_json("-s", "10k", "-f", "x.sion", *options)
            self.assertEqual([p["files"] for p in result["phases"]], [files, files])
            self.assertEqual(self.names(), ["x.sion"] + [f"x.sion.{i:06d}" for i in range(1, files)])
            self.run_json("-W", 0, "-T", 1, "-s", "10k", "-f", "x.sion", "-X", 1)
            self.assertEqual(self.names(), [])

    def test_the_file_is_a_multifile(self):
        self.run_json("-s", "10k", "-R", 0, "-f", "x.sion", "--posix", 1)
        verified = subprocess.run([BIN / "sheaf", "verify", self.dir / "x.sion"], capture_output=True)
        self.assertEqual(verified.returncode, 0, verified.stderr)

    @each_mpi
    def test_so_many_tasks_transfer_at_once(self, count):
        result = self.run_json("-T", "0,2", "--iotasks", 1, "-s", "1M", "-b", "64k", "-X", 1)
        self.assertTrue(all(phase["bytes"] == count << 20 for phase in result["phases"]))

    def test_the_table_has_the_step_that_creates(self):
        done = self.start("-T", "0,3", "-W", 2, "-s", "10k", "-X", 1)
        self.assertEqual(done.stdout.count("its files created before"), 2, done.stdout)

    @each_mpi
    def test_turns_and_creation_in_a_step_of_its_own(self, count):
        result = self.run_json("-T", "0,1,2,3", "-j", 1, "-W", 2, "-s", "10k")
        for phase in result["phases"]:
            self.assertEqual("create" in phase["seconds"], phase["operation"] == "write")
        self.run_json("-T", "0,1", "-j", -2, "-s", "10k")

    def test_total_size_and_units(self):
        result = self.run_json("-g", 10, "-b", "2kB", "-r", "3Ki", "-q", "1M")
        self.assertEqual([p["bytes"] for p in result["phases"]], [10, 10])
        given = result["parameters"]
        self.assertEqual([given[name] for name in ("bufsize", "chunksize", "fsblksize")], [2000, 3072, 1 << 20])


class Damage(PartestCase):
    @each_mpi
    def test_wrong_data_are_found_in_every_type(self, count):
        self.environment["SHEAF_FLAGS"] = "checksums=off"  # otherwise the library reports the damage first
        for kind in range(6):
            self.run_json("-T", kind, "-R", 0, "-s", "10k", "-f", "data", "-q", 512, "-r", -1)
            damaged = self.dir / (f"data.{count - 1:06d}" if kind == 3 else "data")
            content = bytearray(damaged.read_bytes())
            # This offset is in the data of the last task. Metadata may follow the data.
            at = len(content) - 3000
            content[at] ^= 1
            damaged.write_bytes(content)
            self.refused(1, "-T", kind, "-W", 0, "-s", "10k", "-f", "data", says=f"of the data of task {count - 1} is not")
            self.assertEqual(self.run_json("-T", kind, "-W", 0, "-C", "-s", "10k", "-f", "data")["phases"][0]["checked"],
                             False)

    @each_mpi
    def test_a_file_that_only_one_task_misses(self, count):
        self.run_json("-T", 3, "-R", 0, "-s", "1k", "-f", "data")
        (self.dir / f"data.{count - 1:06d}").unlink()
        self.refused(1, "-T", 3, "-W", 0, "-s", "1k", "-f", "data", says="No such file")

    def test_less_data_than_asked_for(self):
        for kind in range(6):
            self.run_json("-T", kind, "-R", 0, "-s", "1k", "-f", "data", "-q", 512, "-r", 1024)
            self.refused(1, "-T", kind, "-W", 0, "-s", "100k", "-f", "data", says="data")

    @each_mpi
    def test_paths_that_do_not_exist(self, count):
        for kind in range(6):
            self.refused(1, "-T", kind, "-f", "/nonexistent/x", "-s", "1k", says="'/nonexistent/x")
            self.refused(1, "-T", kind, "-f", "nothere", "-W", 0, "-s", "1k", says="'nothere")
        self.refused(1, "--threads", 2, "-f", "/nonexistent/x", "-s", "1k", says="'/nonexistent/x'")
        self.refused(1, "--threads", 2, "-T", 2, "-f", "/nonexistent/x", "-s", "1k", says="'/nonexistent/x")


class CommandLine(PartestCase):
    def test_mistakes(self):
        for self.mpi in MPIS:
            self.refused(2, "--nonsense", says="--nonsense")
        for options, says in ((("stray",), "stray"), (("-s", "12q"), "'12q' is no size"), (("-T", 6), "0 to 5"), (("-T", 4, "-j", 2), "every transfer"), (("-T", 5, "--threads", 2), "without threads"),
                              (("-b", 0), "--bufsize"), (("-n", 9), "9 physical files for"), (("-W", 3), "--write"),
                              (("-W", 0, "-R", 0), "nothing to do"), (("-j", 0), "-j"), (("-r", 0), "0 bytes"),
                              (("-j", -2, "-T", 3), "transactions"), (("-j", 1, "-M"), "collective"),
                              (("-n", 2, "--threads", 2), "2 physical files for 1 processes")):
            self.refused(2, *options, says=says, count=1)

    def test_help_and_version(self):
        done = self.start("--help")
        self.assertEqual(done.returncode, 0)
        for option in "fnrqTbgsFRWvCdDLMmcZOjXwQx":
            self.assertEqual(len(re.findall(rf"^  -{option},--\w", done.stdout, re.M)), 1, option)
        self.assertIn("Exit codes", done.stdout)
        self.assertTrue(self.start("-V").stdout.startswith("sheaf "))

    def test_long_options_as_in_the_original(self):
        given = self.run_json("--verbose", 1, "--read=0", "--posix", 1, "--nochecksum=0", "--localsize", "1k",
                              "--numfiles", -1, "--chunksize", -1, "--hintsparseacess=1", "-r", -2, "-vL")["parameters"]
        wanted = {"verbose": 1, "read": 0, "posix": 1, "nochecksum": 0, "localsize": 1024, "numfiles": -1, "chunksize": -2,
                  "hintsparseaccess": 1, "hintlargeblock": -1}
        self.assertEqual({name: given[name] for name in wanted}, wanted)


class Output(PartestCase):
    def test_table(self):
        done = self.start("-T", "0,3", "-s", "1M", "-n", 2, "-v", count=4 if self.mpi == "openmpi" else 2)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^multifile +write +[48]\.0 MiB +\d\.\d{4} .* 2$")
        self.assertIn("  task 0", done.stdout)
        self.assertNotIn("\r", done.stdout + done.stderr)
        self.assertTrue(done.stdout.endswith("All data read are those that were written.\n"))

    def test_progress_is_for_terminals(self):
        leader, terminal = pty.openpty()
        job = [BIN / self.mpi / "sheaf-partest", "-T", "3", "-s", "4M", "-b", "8", "--posix", "1", "-X", "1"]
        done = subprocess.run([str(word) for word in job], cwd=self.dir, stdout=subprocess.PIPE, stderr=terminal,
                              text=True, timeout=SECONDS, check=True)
        os.close(terminal)
        shown = os.read(leader, 10000).decode()
        os.close(leader)
        self.assertRegex(shown, r"\rwriting one file per task: +\d+%")
        self.assertNotIn("%", done.stdout)

    @each_mpi
    def test_lines_of_the_original(self, count):
        done = self.start("-s", "1M", "-n", 2, "-v", name="partest")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        lines = done.stderr.splitlines()
        self.assertTrue(lines[0].startswith("SION parallel file I/O benchmark 'partest': start at "))
        self.assertTrue(any(re.match(r"partest parameter:   \(-n\)    numfiles +  = 2", x.rstrip()) or
                            re.match(r"partest parameter: +\(-n\) +numfiles += 2$", x) for x in lines))
        for operation in ("WRITE", "READ"):
            for number, kind, sets in ((count, "TOTAL", 1), (None, "FILE", 2), (None, "TASK", count)):
                label = r"\d{6}" if number is None else f"{number:06d}"
                stat = (rf"timings\[{label}\] T_STAT           {kind} {operation}  b= *[\d.]+ MiB t= *[\d.]+s #chunks=\d+ "
                        r"bw= *[\d.]+ MB/s \( *[\d.]+ MiB/s\) ion=\d+ nf=2$")
                self.assertEqual(sum(bool(re.match(stat, x)) for x in lines), sets, (kind, operation))
        self.assertRegex(done.stderr, r"T_PHASE          TOTAL WRITE  create=[\d.]{7}s, create_cls=[\d.]{7}s, open=[\d.]{7}s, "
                                      r"write=[\d.]{7}s, close=[\d.]{7}s, tlog=0.0000s")
        self.assertRegex(done.stderr, r"T_FILE_BARRIER   TOTAL READ  open=[\d.]{6}s, read=[\d.]{6}s, close=[\d.]{6}s\n")

    def test_lines_of_the_original_for_mpi_io_and_threads(self):
        done = self.start("-T", 2, "-s", "1M", name="partest")
        self.assertRegex(done.stderr, r"TOTAL result: open= *[\d.]+s close= *[\d.]+s wrote +[\d.]+ MB write\+barrier= *[\d.]+s "
                                      r"bw= *[\d.]+ MB/s to 1 files\n")
        done = self.start("-s", "1M", name="ompi_partest")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"timings[{2 * MPIS[self.mpi]:06d}] T_STAT           TOTAL WRITE", done.stderr)


if __name__ == "__main__":
    unittest.main()
