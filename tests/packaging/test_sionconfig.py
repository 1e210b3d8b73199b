"""Output of sionconfig for every interface and language; see the tables in the interface's description."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from installed import InstalledCase  # noqa: E402

DEFINES = {"com": "", "ser": "", "gen": "", "omp": " -DSION_OMP", "mpi": "  -DSION_MPI", "ompi": "  -DSION_OMPI"}
LIBRARIES = {
    "com": "",
    "ser": " -lsionser_64",
    "gen": " -lsiongen_64",
    "omp": " -lsionomp_64 -lsiongen_64 -lsionser_64",
    "mpi": " -lsionmpi_64 -lsiongen_64 -lsionser_64",
    "ompi": " -lsionompi_64 -lsiongen_64 -lsionser_64",
}
LANGUAGES = {"com": [], "gen": [], "ser": ["ser"], "omp": ["ser", "ser"], "mpi": ["mpi", "ser"], "ompi": ["mpi", "ser"]}


class SionConfig(InstalledCase):
    def test_flags_of_c_and_cxx(self):
        for interface, define in DEFINES.items():
            for language in ("c", "cxx"):
                want = f"-I{self.prefix}/include -D_SION_LINUX{define}"
                self.assertEqual(self.config("--cflags", f"--{interface}", f"--{language}"), want)

    def test_flags_of_fortran(self):
        want = f"-I{self.prefix}/include -I{self.prefix}/include/mod_64"
        for interface in DEFINES:
            for language in ("--f77", "--f90", "--fortran"):
                self.assertEqual(self.config(language, "--cflags", f"-{interface}"), want)

    def test_libraries(self):
        for interface, libraries in LIBRARIES.items():
            for language in ("c", "cxx", "f77", "f90"):
                extra = "" if language == "c" else "".join(f" -lsion{part}_{language}_64" for part in LANGUAGES[interface])
                want = f"-L{self.prefix}/lib{extra}{libraries} -lsioncom_64 -lsioncom_64_lock_none"
                self.assertEqual(self.config(f"--{interface}", "--libs", f"--{language}"), want)

    def test_locks_and_suffix(self):
        self.assertTrue(self.config("--libs", "--threadsafe").endswith("-lsioncom_64_lock_pthreads"))
        self.assertIn("-lsionser_32 -lsioncom_32 -lsioncom_32_lock_none", self.config("--32", "--libs"))

    def test_the_last_of_a_kind_wins_and_unknown_options_are_ignored(self):
        self.assertEqual(self.config("--cflags", "--nonsense", "--path"), str(self.prefix))
        self.assertEqual(self.config("--libs", "--mpi", "--be", "-ser"), self.config("--libs"))
        self.assertEqual(self.config("--mpi"), "")

    def test_features_are_those_of_the_build(self):
        version = self.run_command(self.prefix / "bin" / "sheaf", "--version", "-v")
        built = re.search(r"\nfeatures +(.*)\n", version)[1].split()
        self.assertEqual(self.config("--features").split("\n"), built)
        self.assertLessEqual({"openmp"}, set(built))

    def test_fortran_is_refused_where_there_is_none(self):
        script = self.prefix / "bin" / "sionconfig-without"
        text = (self.prefix / "bin" / "sionconfig").read_text()
        script.write_text(re.sub(r"^(features='.*)\bfortran\b", r"\1", text, flags=re.M))
        script.chmod(0o755)
        self.addCleanup(script.unlink)
        for words in (("--f90",), ("--f77", "--libs"), ("--mpi", "--cflags", "--fortran")):
            refused = subprocess.run([script, *words], capture_output=True, text=True)
            self.assertEqual((refused.returncode, refused.stdout), (1, ""))
            self.assertIn("has no Fortran interface", refused.stderr)
        for words in (("--f90", "--path"), ("--libs",), ("--f77", "--features")):
            self.assertTrue(self.run_command(script, *words))

    def test_exit_codes(self):
        script = self.prefix / "bin" / "sionconfig"
        self.assertIn("--cflags", self.run_command(script, code=1))
        help_text = self.run_command(script, "--help", code=1)
        self.assertTrue(help_text.startswith("SIONlib Version 1.7.6"))
        self.assertTrue(self.run_command(script, "-V").startswith("SIONlib Version 1.7.6"))
        refused = subprocess.run([script, "--mic", "--libs"], capture_output=True, text=True)
        self.assertEqual((refused.returncode, refused.stdout), (42, ""))
        self.assertEqual(refused.stderr, "ERROR: device mic not supported for SION architecture LINUX!\n")


if __name__ == "__main__":
    unittest.main()
