"""Tests multifiles of 1,500 physical files (SHEAF_MANY_FILES; `make soak`: 5,000) in processes with 256
descriptors. Runs every tool that opens multifiles, and the serial reader."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tool_case import BIN, payload

from sheaf_format import KEYVAL_INLINE, MultifileSpec, TaskSpec, fill, write
from sheaf_format.keyval import encode as encode_records

FILES = int(os.environ.get("SHEAF_MANY_FILES", "1500"))
DESCRIPTORS = 256
SECONDS = 60
BYTES = 700  # bytes of a task (many_files.c)


def stream(task: int) -> bytes:
    return bytes((task * 31 + k * 7) % 256 for k in range(BYTES))


def few_descriptors() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))


def run(program: str, *arguments: object, limit: bool = True) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([str(BIN / program), *map(str, arguments)], capture_output=True, timeout=SECONDS,
                          preexec_fn=few_descriptors if limit else None)


class ManyFiles(unittest.TestCase):
    scratch: tempfile.TemporaryDirectory
    can_write_all = resource.getrlimit(resource.RLIMIT_NOFILE)[1] > 3 * FILES  # the writer has all files and journals open at once

    @classmethod
    def setUpClass(cls) -> None:
        cls.scratch = tempfile.TemporaryDirectory()
        cls.dir = Path(cls.scratch.name)
        cls.plain = cls.dir / "plain.sion"
        write(MultifileSpec(cls.plain.name, [TaskSpec(256, t, fill(stream(t), 512), file=t) for t in range(FILES)], 512), str(cls.plain))

    @classmethod
    def tearDownClass(cls) -> None:
        cls.scratch.cleanup()

    def succeed(self, program: str, *arguments: object, limit: bool = True) -> bytes:
        result = run(program, *arguments, limit=limit)
        self.assertEqual((result.returncode, result.stderr[-300:]), (0, b""), (program, arguments))
        return result.stdout

    def written(self, name: str, mode: str, *more: str) -> Path:
        if not self.can_write_all:
            self.skipTest("no process may have so many files open for writing here")
        path = self.dir / name
        self.succeed("many_files", "write", path, mode, FILES, *more, limit=False)
        return path

    def expect_streams(self, prefix: Path) -> None:
        for task in range(FILES):
            found = prefix.with_name(f"{prefix.name}{task:05}")
            self.assertEqual(found.read_bytes(), stream(task), found)
            found.unlink()

    def use_tools(self, path: Path) -> None:
        self.assertEqual(json.loads(self.succeed("sheaf", "info", "--json", path))["physical_files"], FILES)
        self.succeed("sheaf", "info", path)
        self.succeed("sheaf", "verify", path)
        self.succeed("sheaf", "dump", "-a", "-m", path)
        self.succeed("sheaf", "dump", "--json", path)
        self.succeed("siondump", "-a", "-M", path)
        self.assertEqual(self.succeed("sheaf", "cat", path), b"".join(map(stream, range(FILES))))
        self.assertEqual(self.succeed("sheaf", "cat", "-t", FILES - 1, path), stream(FILES - 1))
        self.assertEqual(self.succeed("sioncat", path), b"".join(map(stream, range(FILES))))
        self.succeed("sheaf", "split", path, self.dir / "t.")
        self.expect_streams(self.dir / "t.")
        packed = self.dir / "packed.sion"
        self.succeed("sheaf", "defrag", path, packed)
        self.assertEqual(self.succeed("sheaf", "cat", packed), b"".join(map(stream, range(FILES))))
        packed.unlink()
        self.succeed("many_files", "read", path, FILES)

    def test_plain(self) -> None:
        self.use_tools(self.plain)
        self.succeed("sionsplit", self.plain, self.dir / "t.")
        self.expect_streams(self.dir / "t.")
        self.succeed("siondefrag", self.plain, self.dir / "one.sion")
        self.succeed("sheaf", "verify", self.dir / "one.sion")

    def test_with_checksums_and_compressed(self) -> None:
        for mode in ("wb", "wb,compress=zstd"):
            with self.subTest(mode=mode):
                self.use_tools(self.written("own.sion", mode))

    def test_records(self) -> None:
        path = self.dir / "keys.sion"
        records = [encode_records([(t % 7, payload(t, 30)), (9, payload(t, 200))], "little") for t in range(FILES)]
        write(MultifileSpec(path.name, [TaskSpec(64, t, fill(r, 64), file=t) for t, r in enumerate(records)], 64,
                            keyval_mode=KEYVAL_INLINE), str(path))
        self.succeed("sheaf", "verify", path)
        self.succeed("siondump", "-k", "-K", path)
        self.succeed("sheaf", "split", path, self.dir / "k.")
        for task in range(FILES):
            for key, value in ((task % 7, payload(task, 30)), (9, payload(task, 200))):
                found = self.dir / f"k.{task:05}_{key:012}"
                self.assertEqual(found.read_bytes(), value, found)
                found.unlink()

    def test_unclosed_and_repaired(self) -> None:
        path = self.written("unclosed.sion", "wb", "unclosed")
        for tool in (["sheaf", "cat", path], ["sioncat", path]):
            result = run(*tool)
            self.assertEqual((result.returncode, result.stdout), (0, b"".join(map(stream, range(FILES)))), result.stderr[-300:])
        for tool in (["sheaf", "info", path], ["sheaf", "dump", "-a", path], ["many_files", "read", path, FILES]):
            self.assertEqual(run(*tool).returncode, 0, tool)
        self.assertEqual(run("sheaf", "verify", path).returncode, 1)
        copy = self.dir / "copy.sion"
        self.succeed("sheaf", "repair", "--copy", copy, path)
        self.assertEqual(self.succeed("sheaf", "cat", copy), b"".join(map(stream, range(FILES))))
        self.succeed("sheaf", "repair", path)
        self.succeed("sheaf", "verify", path)
        self.succeed("many_files", "read", path, FILES)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
