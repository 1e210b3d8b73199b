"""Compresses multifiles by `sheaf defrag --compress`, and decompresses them. Streams, ranks and records must not
change, the stored data must get smaller, and the rules for outputs of other tools must apply."""

from __future__ import annotations

import json
import random
import unittest
from pathlib import Path

from tool_case import MultifileSpec, TaskSpec, ToolCase, fill, make_keyval, make_plain, write

METHODS = (["--compress", "lz4"], ["--compress=gzip:4"], ["--compress=zstd"], ["--compress=zstd:7", "--shuffle", 8, "--frame", "4k"])


def make_large(path: Path) -> list[bytes]:
    """Writes a multifile with compressible data, incompressible data, zeros, and a task without data."""
    noise = random.Random(1)
    streams = [b"particle " * 60_000, noise.randbytes(400_000), bytes(300_000), b"", b"x" + noise.randbytes(7) * 9_000]
    write(MultifileSpec(path.name, [TaskSpec(100_000, rank, fill(stream, 100_352), file=rank % 2) for rank, stream in enumerate(streams)],
                        512), str(path))
    return streams


class DefragCompression(ToolCase):
    def facts(self, path: Path) -> dict:
        return json.loads(self.succeed("sheaf", "info", "--json", path))

    def test_streams_stay_and_come_back(self) -> None:
        source = self.dir / "a.sion"
        streams = make_large(source)
        for method in METHODS:
            for block in (1, 512):
                with self.subTest(method=method, block=block):
                    packed, again, back = (self.dir / name for name in ("packed", "again", "back"))
                    self.succeed("sheaf", "defrag", "--force", "-q", block, *method, source, packed)
                    self.succeed("sheaf", "verify", packed)
                    self.assertEqual(self.facts(packed)["compression"]["codec"], method[0].split("=")[1].split(":")[0] if "=" in method[0] else "lz4")
                    self.assertLess(packed.stat().st_size, 480_000)
                    for task, stream in enumerate(streams):
                        self.assertEqual(self.succeed("sheaf", "cat", "--task", task, packed), stream)
                    self.succeed("sheaf", "defrag", "--force", "--compress=zstd:1", packed, again)
                    self.assertEqual(self.succeed("sheaf", "cat", again), b"".join(streams))
                    self.succeed("sheaf", "defrag", "--force", "--decompress", packed, back)
                    self.assertNotIn("compression", self.facts(back))
                    self.assertEqual(self.succeed("sheaf", "cat", back), b"".join(streams))
        self.succeed("sheaf", "defrag", "--force", "--compress=lz4", packed, packed)  # in place
        self.assertEqual(self.succeed("sheaf", "cat", packed), b"".join(streams))

    def test_of_small_streams_and_records(self) -> None:
        for make in (make_plain, make_keyval):
            for order in ("little", "big"):
                with self.subTest(make=make.__name__, order=order):
                    source, packed, back = (self.dir / name for name in ("b.sion", "b.packed", "b.back"))
                    make(source, order)
                    self.succeed("sheaf", "defrag", "--force", "--compress=zstd", source, packed)
                    self.succeed("sheaf", "verify", packed)
                    self.assertEqual(self.succeed("sheaf", "cat", packed), self.succeed("sheaf", "cat", source))
                    self.succeed("sheaf", "defrag", "--force", "--decompress", packed, back)
                    plain = self.dir / "b.plain"
                    self.succeed("sheaf", "defrag", "--force", source, plain)
                    for tool in (["dump", "--json", "-K"], ["cat"]):
                        self.assertEqual(self.succeed("sheaf", *tool, back).replace(b"b.back", b""),
                                         self.succeed("sheaf", *tool, plain).replace(b"b.plain", b""))

    def test_rules_of_outputs_and_mistakes(self) -> None:
        source, out = self.dir / "a.sion", self.dir / "out"
        make_plain(source)
        out.write_bytes(b"precious")
        before = self.names()
        self.assertIn("--force", self.fail_on("out", "sheaf", "defrag", "--compress=lz4", source, out))
        self.assertEqual(out.read_bytes(), b"precious")
        for mistake in (["--compress=bzip2"], ["--compress=gzip:0"], ["--compress=gzip:10"],
                        ["--compress=zstd:99"], ["--compress=lz4,durable"], ["--compress=none"], ["--frame", "4k"],
                        ["--compress=lz4", "--frame", "3"], ["--compress=lz4", "--shuffle", "300"], ["--compress=lz4", "--decompress"]):
            with self.subTest(mistake=mistake):
                self.fail_on("--help", "sheaf", "defrag", "--force", *mistake, source, out, status=2)
        self.assertEqual(out.read_bytes(), b"precious")
        self.assertEqual(self.names(), before)


if __name__ == "__main__":
    unittest.main()
