"""The examples of the documentation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_examples_work():
    script = Path(__file__).resolve().parent / "check_docs.py"
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
