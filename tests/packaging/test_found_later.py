"""If a component is installed after a build directory was configured, the next configuration must find it, because
missing components are not cached."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
FORTRAN = re.compile(r"gfortran|^(f77|f95|ftn|ifx|ifort)$|-(f77|f95)|flang")


class FoundLater(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.dir = pathlib.Path(place.name)
        self.build = self.dir / "build"

    def configure(self, path: str, *options: str) -> str:
        environment = {name: value for name, value in os.environ.items() if name != "FC"} | {"PATH": path}
        done = subprocess.run(["cmake", "-S", TOP, "-B", self.build, "-G", "Ninja", "-DSHEAF_MPIS=none", "-DSHEAF_MOUNT=OFF", *options],
                              env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def path_without_fortran(self) -> str:
        programs = self.dir / "programs"
        programs.mkdir()
        for directory in reversed(os.environ["PATH"].split(os.pathsep)):
            for program in pathlib.Path(directory).glob("*"):
                if not FORTRAN.search(program.name):
                    (programs / program.name).unlink(missing_ok=True)
                    (programs / program.name).symlink_to(program)
        return str(programs)

    def compiled_codecs(self) -> set[str]:
        units = json.loads((self.build / "compile_commands.json").read_text())
        return {pathlib.Path(unit["file"]).stem for unit in units if "-DSHEAF_HAS_CODEC" in unit["command"]}

    @unittest.skipUnless(shutil.which("gfortran"), "no Fortran compiler here")
    def test_fortran_and_codecs(self) -> None:
        headers = self.dir / "headers"
        headers.mkdir()
        for name in ("zstd.h", "lz4.h"):
            (headers / name).write_text("#error missing\n")
        said = self.configure(self.path_without_fortran(), f"-DCMAKE_CXX_FLAGS=-isystem {headers}")
        self.assertIn("Fortran: no compiler was found", said)
        self.assertIn("compression with zstd: no zstd.h was found", said)
        self.assertRegex(said, r"compression +gzip\n")
        self.assertEqual(self.compiled_codecs(), {"gzip"})

        for header in headers.iterdir():
            header.unlink()
        said = self.configure(os.environ["PATH"])
        self.assertNotIn("no compiler was found", said)
        self.assertRegex(said, r"Fortran +/")
        self.assertRegex(said, r"compression +zstd, lz4, gzip\n")
        self.assertEqual(self.compiled_codecs(), {"zstd", "lz4", "gzip"})


if __name__ == "__main__":
    unittest.main()
