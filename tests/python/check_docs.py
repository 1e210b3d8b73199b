"""Runs the examples of docs/python.md and of the README, in order, in a separate directory."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"(<!-- snippet: skip.*-->\n)?```python\n(.*?)```", re.DOTALL)


def main() -> int:
    pages = [(name, BLOCK.findall((ROOT / name).read_text())) for name in ("README.md", "docs/python.md")]
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for name, blocks in pages:
            known: dict[str, object] = {}
            for skipped, text in blocks:
                if not skipped:
                    exec(compile(text, name, "exec"), known)
            print(f"{name}: {sum(not skipped for skipped, _ in blocks)} examples work")
    return 0 if all(blocks for _, blocks in pages) else 1


if __name__ == "__main__":
    sys.exit(main())
