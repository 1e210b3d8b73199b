"""Base class and multifiles of the tests of the tools.

Environment variables:
SHEAF_BIN: directory of the programs.
SHEAF_VECTORS: directory of the golden files (default ../shared/vectors beside the repository). Without golden
files, the tests use only files that they write.
SHEAF_TOOL_SECONDS: time limit of a tool in seconds (default 10).
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from sheaf_format import KEYVAL_INLINE, MultifileSpec, TaskSpec, fill, write  # noqa: E402
from sheaf_format.keyval import encode as encode_records  # noqa: E402

BIN = Path(os.environ.get("SHEAF_BIN", ROOT / "build" / "bin")).resolve()
VECTORS = Path(os.environ.get("SHEAF_VECTORS", ROOT.parent / "shared" / "vectors")).resolve()
SECONDS = float(os.environ.get("SHEAF_TOOL_SECONDS", 10))


def run(tool: str, *arguments: object, cwd: object = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([str(BIN / tool), *map(str, arguments)], capture_output=True, timeout=SECONDS, cwd=cwd)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def golden() -> Iterator[tuple[str, Path, dict]]:
    """Yields name, main file and manifest of every golden multifile."""
    for manifest in sorted(VECTORS.glob("*/manifest.json")):
        description = json.loads(manifest.read_text())
        yield description["name"], manifest.parent / description["main"], description


def damaged() -> list[Path]:
    return sorted((VECTORS / "damaged").glob("*.sion"))


def without_checksums(value):
    if isinstance(value, dict):
        return {key: without_checksums(item) for key, item in value.items() if key != "sha256"}
    return [without_checksums(item) for item in value] if isinstance(value, list) else value


def payload(rank: int, size: int) -> bytes:
    return bytes((17 * rank + 5 * k + k // 251) % 256 for k in range(size))


def make_plain(path: Path, byte_order: str = "little", tasks: int = 5) -> list[bytes]:
    """Writes a set of two files with several blocks and an empty task. Returns the stream of every task."""
    streams = [payload(rank, 0 if rank == 1 else 150 + 90 * rank) for rank in range(tasks)]
    specs = [TaskSpec(100, 10 + rank, fill(stream, 128), file=0 if rank < 2 else 1)
             for rank, stream in enumerate(streams)]
    write(MultifileSpec(path.name, specs, 128, byte_order=byte_order), str(path))
    return streams


def make_keyval(path: Path, byte_order: str = "little") -> list[list[tuple[int, bytes]]]:
    """Writes a multifile with records across chunk borders, repeated keys, an empty value, a key beyond 2^63, and
    a task without records. Returns the records of every task."""
    records = [[(7, payload(1, 10)), (2**64 - 16, payload(2, 300)), (7, payload(3, 70)), (9, b"")], [],
               [(key, payload(key, key)) for key in range(40)]]
    specs = [TaskSpec(64, rank, fill(encode_records(mine, byte_order), 64)) for rank, mine in enumerate(records)]
    write(MultifileSpec(path.name, specs, 64, byte_order=byte_order, keyval_mode=KEYVAL_INLINE), str(path))
    return records


class ToolCase(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = Path(directory.name)

    def succeed(self, tool: str, *arguments: object, cwd: object = None) -> bytes:
        result = run(tool, *arguments, cwd=cwd)
        self.assertEqual((result.returncode, result.stderr), (0, b""), (tool, arguments))
        return result.stdout

    def fail_on(self, name: str, tool: str, *arguments: object, status: int = 1) -> str:
        """Runs a tool that must fail. Checks its exit status and that its message contains `name`. Returns the
        message."""
        result = run(tool, *arguments)
        self.assertEqual(result.returncode, status, (tool, arguments, result.stderr))
        said = (result.stdout + result.stderr).decode(errors="replace")
        self.assertIn(name, said, (tool, arguments))
        return said

    def names(self) -> list[str]:
        return sorted(path.name for path in self.dir.iterdir())
