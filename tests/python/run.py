"""Runs the tests of the Python package with an interpreter that has numpy and pytest: this one, or the system's.
Exits with status 77 if neither has them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    for python in dict.fromkeys([sys.executable, "/usr/bin/python3"]):
        check = [python, "-c", "import sys, numpy, pytest; sys.exit(sys.version_info < (3, 9))"]
        if os.path.exists(python) and subprocess.run(check, capture_output=True, check=False).returncode == 0:
            words = [python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE), *sys.argv[1:]]
            return subprocess.run(words, check=False).returncode
    print("skipped: no Python with numpy and pytest (Debian: python3-numpy python3-pytest)")
    return 77


if __name__ == "__main__":
    sys.exit(main())
