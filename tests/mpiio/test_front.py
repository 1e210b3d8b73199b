#!/usr/bin/env python3
"""The library of entry points: one file for every MPI, one clear line if no engine fits, no effect in programs
without MPI. Also `sheaf mpiio`, which sets it up and reports."""
import json
import os
import re
import shutil
import subprocess
import unittest

from programs import BIN, DROP_IN, LIB, MPIS, Programs, interface_of

WRITER = """
#include <mpi.h>
int main(int argc, char **argv) {
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_ordered(file, "text", 4, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  return MPI_Finalize();
}
"""


class Front(Programs):
    def writer(self, mpi):
        source = os.path.join(self.where, "writer.c")
        with open(source, "w") as file:
            file.write(WRITER)
        return self.build(f"mpicc.{mpi}", source)

    def check(self, path):
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"text" * 2)
        os.unlink(path)

    def test_without_an_engine_one_line_says_which_file_is_missing(self):
        alone = shutil.copy(os.path.join(DROP_IN, "libsheaf_mpiio.so"), self.where)
        for mpi in MPIS:
            path = os.path.join(self.where, "x")
            self.run_under(mpi, 2, ["env", f"LD_PRELOAD={alone}", self.writer(mpi), path], preload=False)
            self.check(path)
            lines = [line for line in self.said_beside.splitlines() if "sheaf mpiio" in line]
            self.assertEqual(len(lines), 1, self.said_beside)
            self.assertIn(os.path.join(self.where, "sheaf", f"libsheaf_mpiio_{interface_of(mpi)}.so"), lines[0])
            self.assertIn("its own MPI-IO is used", lines[0])

    def test_an_engine_that_does_not_load_is_told_with_its_reason(self):
        alone = shutil.copy(os.path.join(DROP_IN, "libsheaf_mpiio.so"), self.where)
        os.mkdir(os.path.join(self.where, "sheaf"))
        for mpi in MPIS:
            with open(os.path.join(self.where, "sheaf", f"libsheaf_mpiio_{interface_of(mpi)}.so"), "w") as file:
                file.write("no library")
            path = os.path.join(self.where, "x")
            self.run_under(mpi, 2, ["env", f"LD_PRELOAD={alone}", self.writer(mpi), path], preload=False)
            self.check(path)
            self.assertIn("file too short", self.said_beside)

    def test_a_library_under_another_name_is_known_by_what_it_says(self):
        """An MPI library under another name is recognized by its version text.

        Python loads an MPI library itself, by names without a number."""
        for mpi in MPIS:
            if interface_of(mpi) == "abi":  # is recognized by its name alone
                continue
            program = self.build(f"mpicc.{mpi}", "late_calls.c", name="late")
            listed = subprocess.run(["ldd", self.build(f"mpicc.{mpi}", "settings.c", name="linked")], capture_output=True, text=True)
            library = os.path.join(self.where, f"libmpi_of_{mpi}.so")
            real = re.search(r"libmpi(?:ch)?\.so\S* => (\S+)", listed.stdout).group(1)
            os.symlink(real, library)
            # A directory where it looks for its own libraries under its own name.
            beside = f"LD_LIBRARY_PATH={os.path.dirname(real)}:{os.path.dirname(real)}/mpich"
            with self.subTest(mpi=mpi):
                said = self.run_under(mpi, 1, ["env", beside, program, os.path.join(self.where, "x"), library])
                self.assertIn("all right", said)
                self.assertNotIn("sheaf mpiio", self.said_beside)

    def test_functions_that_the_mpi_library_does_not_have(self):
        """Functions with large counts that the MPI library lacks work through the drop-in.

        mpi4py looks them up at run time and finds the entry points of the drop-in. With an engine they work;
        without one, as far as a function with int counts allows."""
        alone = shutil.copy(os.path.join(DROP_IN, "libsheaf_mpiio.so"), self.where)
        for mpi in MPIS:
            program = self.build(f"mpicc.{mpi}", "late_calls.c", "-Wl,--no-as-needed", name="late")
            path = os.path.join(self.where, "x")
            with self.subTest(mpi=mpi):
                self.assertIn("all right", self.run_under(mpi, 1, [program, path]))
                said = self.run_under(mpi, 1, ["env", f"LD_PRELOAD={alone}", program, path], preload=False)
                lines = [line for line in self.said_beside.splitlines() if "sheaf mpiio" in line]
                if "refused" not in said:  # this MPI library has them
                    self.assertIn("all right", said)
                    self.assertEqual(len(lines), 1, lines)
                    continue
                self.assertIn("all right", said)
                self.assertEqual(len(lines), 2, lines)
                self.assertIn("MPI_File_write_at_c cannot do what is asked for", lines[1])

    def test_the_report_names_any_path(self):
        strange = os.path.join(self.where, 'a"b\\c\td')
        os.mkdir(strange)
        shutil.copytree(DROP_IN, os.path.join(strange, "lib"), symlinks=True, ignore=shutil.ignore_patterns("*.a", "mpi*", "built"))
        for mpi in MPIS:
            path, report = os.path.join(self.where, "x"), os.path.join(self.where, f"report.{mpi}")
            preloaded = f"LD_PRELOAD={strange}/lib/libsheaf_mpiio.so"
            self.run_under(mpi, 2, ["env", preloaded, f"SHEAF_MPIIO_REPORT={report}", self.writer(mpi), path], preload=False)
            with open(report) as lines:
                (choice,) = map(json.loads, lines)
            self.assertEqual(choice["engine"], f"{strange}/lib/sheaf/libsheaf_mpiio_{interface_of(mpi)}.so")

    def test_programs_without_mpi_do_not_notice(self):
        done = subprocess.run(["env", f"LD_PRELOAD={DROP_IN}/libsheaf_mpiio.so", "sh", "-c", "echo here"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "here\n", ""))

    def report(self, *command, **settings):
        done = subprocess.run([f"{BIN}/sheaf", "mpiio", *command], capture_output=True, text=True, cwd=self.where, timeout=100,
                              env={**os.environ, **settings, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                   "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_ALLOW_RUN_AS_ROOT": "1",
                                   "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                   "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"})
        return done.returncode, done.stdout, done.stderr

    def test_sheaf_mpiio_reports(self):
        for mpi in MPIS:
            command = ["--", f"mpirun.{mpi}", "-n", "2", self.writer(mpi), "x"]
            code, out, err = self.report("--json", *command)
            self.assertEqual(code, 0, err)
            report = json.loads(out)
            self.assertEqual([(file["path"], file["tasks"], file["bytes_written"]) for file in report["files"]], [("x", 2, 8)])
            (library,) = report["libraries"]
            self.assertTrue(library["engine"].endswith(f"libsheaf_mpiio_{interface_of(mpi)}.so"), library)
            self.check(os.path.join(self.where, "x"))
            code, out, err = self.report("--report", *command)
            self.assertEqual((code, out), (0, ""))
            self.assertRegex(err, r"\n +2 +8 +0 .* x\n")
            self.assertEqual(self.report(*command), (0, "", ""))
            self.assertEqual([name for name in os.listdir(self.where) if name.startswith(".")], [])

    def test_a_report_comes_in_addition_to_the_statistics_of_the_environment(self):
        for mpi in MPIS:
            command = ["--", f"mpirun.{mpi}", "-n", "2", self.writer(mpi), "x"]
            lines = os.path.join(self.where, f"stats.{mpi}")
            code, out, err = self.report("--json", *command, SHEAF_STATS=f"json:{lines}")
            self.assertEqual(code, 0, err)
            with open(lines) as file:
                self.assertEqual(list(map(json.loads, file)), json.loads(out)["files"])
            code, _, err = self.report("--report", *command, SHEAF_STATS="1")
            self.assertEqual(code, 0, err)
            self.assertRegex(err, r"sheaf: x, 2 tasks\n")
            self.assertRegex(err, r"\n +2 +8 +0 .* x\n")

    def test_sheaf_mpiio_hands_on_how_the_command_ended(self):
        self.assertEqual(self.report("--report", "--", "sh", "-c", "exit 5")[0], 5)
        self.assertEqual(self.report("--report", "--", "sh", "-c", "kill -9 $$")[0], 128 + 9)
        for words in ([], ["--report"]):
            code, _, err = self.report(*words, "--", "./no-such-program")
            self.assertEqual(code, 127)
            self.assertIn("no-such-program", err)
        self.assertEqual(self.report()[0], 2)


if __name__ == "__main__":
    unittest.main()
