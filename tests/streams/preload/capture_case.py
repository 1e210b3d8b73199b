"""CaptureCase, the base class of the tests of `sheaf run`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "cli"), str(HERE.parents[2] / "python")]
import tool_case  # noqa: E402
from tool_case import BIN, ToolCase  # noqa: E402

os.environ.setdefault("SHEAF_LIBRARY", str(BIN.parent / "lib" / "libsheaf.so.1"))
import sheaf  # noqa: E402

SECONDS = max(tool_case.SECONDS, 60)  # for programs that take several seconds on an idle machine

__all__ = ["BIN", "SECONDS", "CaptureCase", "sheaf"]


class CaptureCase(ToolCase):
    def setUp(self) -> None:
        super().setUp()
        self.work = self.dir / "work"
        self.work.mkdir()

    def sheaf(self, *words: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([str(word) for word in (BIN / "sheaf", *words)], cwd=self.work, capture_output=True, text=True,
                              timeout=SECONDS)
        if check:
            self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def run_captured(self, *command: object, options: tuple[str, ...] = (), check: bool = True):
        return self.sheaf("run", "--capture", "cap.*:set.sion", *options, "--", *command, check=check)

    def names(self, path: str = "set.sion") -> list[str]:
        return [line.split()[-1] for line in self.sheaf("ls", path).stdout.splitlines()]

    def content(self, name: str, path: str = "set.sion") -> str:
        return self.sheaf("cat", "--name", name, path).stdout
