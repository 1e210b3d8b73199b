"""Shared by tests of unchanged programs: each is run plain and captured, in separate directories."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path

SHEAF = Path(os.environ.get("SHEAF_BIN", "build/bin")).absolute() / "sheaf"
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
SECONDS = 200


def as_it_is(name: str, data: bytes) -> bytes:
    return data


class ProgramCase(unittest.TestCase):
    output = "out"  # glob of the directories with captured files
    rules: tuple[str, ...] = ("out/*:all.sion",)

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = Path(directory.name).resolve()

    def prepare(self, where: Path) -> None:
        """Creates the files that must exist before the program starts."""
        (where / "out").mkdir(parents=True, exist_ok=True)

    def need(self, *programs: str) -> None:
        for program in programs:
            if not shutil.which(program):
                self.skipTest(f"{program} is not installed (make capture-test installs it)")

    def files(self, where: Path) -> dict[str, bytes]:
        found = (path for top in where.glob(self.output) for path in top.rglob("*") if path.is_file())
        return {str(path.relative_to(where)): path.read_bytes() for path in found}

    def run_in(self, where: str, *command: str, capture: tuple[str, ...] = ()) -> str:
        words = [str(SHEAF), "run", *(word for rule in capture for word in ("--capture", rule)), "--", *command]
        done = subprocess.run(words if capture else command, cwd=self.dir / where, capture_output=True, text=True, timeout=SECONDS,
                              env=ENVIRONMENT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def both(self, *command: str) -> tuple[str, str]:
        for where in ("plain", "captured"):
            self.prepare(self.dir / where)
        plain = self.run_in("plain", *command)
        captured = self.run_in("captured", *command, capture=self.rules)
        self.assertEqual(self.files(self.dir / "captured"), {})
        return plain, captured

    def check_bytes(self, same_part: Callable[[str, bytes], bytes] = as_it_is) -> int:
        """Checks that all files are in the sets and have the same bytes, except for times stored in a file. Returns
        their number."""
        for name in sorted({rule.rpartition(":")[2] for rule in self.rules}):
            subprocess.run([SHEAF, "split", "--names", self.dir / "captured" / name, f"{self.dir}/found/"], check=True,
                           capture_output=True)
        expected, found = self.files(self.dir / "plain"), self.files(self.dir / "found")
        self.assertEqual(sorted(expected), sorted(found))
        for name, data in expected.items():
            self.assertEqual(same_part(name, data), same_part(name, found[name]), name)
        return len(expected)

    def check_opens(self, *command: str) -> None:
        """Checks that no system call of any process opens a captured name. Directories are real, and a name that is
        not in the set is looked up as a plain file."""
        self.need("strace")
        self.prepare(self.dir / "traced")
        self.run_in("traced", "strace", "-f", "-e", "trace=open,openat,openat2,creat", "-o", "../calls", *command, capture=self.rules)
        top = self.output.replace("*", "[^/\"]*")
        calls = [line for line in (self.dir / "calls").read_text().splitlines() if not re.search("O_DIRECTORY|= -1 ENOENT", line)]
        self.assertEqual([line for line in calls if re.search(rf'open[^"]*"([^"]*/)?{top}/(?!\.")[^"]+"', line)], [])
