#!/usr/bin/env python3
"""docs/first-hour.md as printed: its programs are saved, its commands run in order in one directory, their output compared.

    <!-- snippet: file=write.c -->   the block is saved under this name
    <!-- snippet: needs=mount -->    the commands are run only if this is available (NEEDS)
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import unittest

import snippets
from installed import BUILD, FORTRAN, MPIS, ROOT, InstalledCase

PAGE = "docs/first-hour.md"
BLOCKS = snippets.blocks(PAGE, (ROOT / PAGE).read_text())
PYTHON = "/usr/bin/python3"  # the one that has Debian's packages
MPI = MPIS[0] if MPIS else ""
CACHE = BUILD / "CMakeCache.txt"
SANITIZED = CACHE.exists() and re.search(r"^SHEAF_SANITIZE:\w+=.+$", CACHE.read_text(), re.MULTILINE) is not None


def imports(*modules: str) -> bool:
    return subprocess.run([PYTHON, "-c", f"import {', '.join(modules)}"], capture_output=True, check=False).returncode == 0


NEEDS = {
    "fortran": lambda: FORTRAN and shutil.which(f"mpif90.{MPI}") is not None,
    "numpy": lambda: imports("numpy"),
    "mpi4py": lambda: MPI == "openmpi" and imports("numpy", "mpi4py.MPI"),  # Debian's is made for Open MPI
    "matplotlib": lambda: imports("numpy", "matplotlib"),
    "mount": lambda: os.access("/dev/fuse", os.W_OK) and (os.geteuid() == 0 or shutil.which("fusermount3"))
    and (BUILD / "bin" / "sheaf-mount").exists(),
}


def stable(block: snippets.Block, output: str) -> list[str]:
    """Returns the lines that must be as printed, with PIDs, host names and times replaced."""
    plain = re.sub(r"process\s+\d+\s+on\s+host\s+[^\s,]+,\s+since\s+\d+\s+s", "process 1 on host H, since 1 s", output)
    return snippets.comparable(block, plain)


@unittest.skipUnless(MPIS, "the page needs an MPI")
@unittest.skipIf(SANITIZED, "Python and killed programs do not bear sanitizers")
class FirstHour(InstalledCase):
    def setUp(self):
        super().setUp()
        shims = self.directory.parent / "shims"  # the first MPI under the names of the page, any number of ranks
        shims.mkdir()
        for name in ("mpicc", "mpif90"):
            (shims / name).write_text(f'#!/bin/sh\nexec {name}.{MPI} "$@"\n')
        (shims / "mpirun").write_text(f'#!/bin/sh\nshift\nexec {ROOT}/scripts/mpirun.sh {MPI} "$@"\n')
        (shims / "python3").write_text(f'#!/bin/sh\nexec {PYTHON} -B "$@"\n')
        for shim in shims.iterdir():
            shim.chmod(0o755)
        path = [str(shims), str(self.prefix / "bin"), str(BUILD / "mpi"), self.environment["PATH"]]
        self.environment |= {"PATH": ":".join(path), "PYTHONPATH": str(ROOT / "python"), "SHEAF_LIBRARY": str(self.prefix / "lib"),
                             "MPLCONFIGDIR": str(shims), "LC_ALL": "C.UTF-8"}

    def tearDown(self):
        subprocess.run([self.prefix / "bin" / "sheaf", "umount", "--lazy", "view"], cwd=self.directory, capture_output=True, check=False)

    def test_page_works_as_printed(self):
        for block in BLOCKS:
            if "file" in block.words:
                (self.directory / block.words["file"]).write_text(block.text + "\n")
            elif "skip" not in block.words and NEEDS.get(block.words.get("needs"), lambda: True)():
                output = self.run_command("bash", "-c", snippets.session(block.text))
                self.assertEqual(stable(block, output), stable(block, block.text), str(block))


class Blocks(unittest.TestCase):
    def test_each_is_a_file_a_session_or_says_why_it_is_not_run(self):
        strays = [str(block) for block in BLOCKS if not ("file" in block.words or block.is_session or block.words.get("skip"))]
        self.assertEqual([], strays)
        self.assertLessEqual({block.words["needs"] for block in BLOCKS if "needs" in block.words}, set(NEEDS))


if __name__ == "__main__":
    unittest.main()
