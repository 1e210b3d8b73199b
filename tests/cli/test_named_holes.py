"""Tests named streams that have holes, or claim an impossible size."""

from __future__ import annotations

import ctypes
import json
import unittest
from pathlib import Path

from tool_case import BIN, ToolCase


class Holes(ToolCase):
    def setUp(self) -> None:
        super().setUp()
        self.set = self.dir / "set.sion"
        self.sheaf = ctypes.CDLL(str(BIN.parent / "lib" / "libsheaf.so"))
        self.sheaf.sheaf_set_open.restype = self.sheaf.sheaf_stream_open.restype = ctypes.c_void_p

    def write(self, streams: dict[bytes, tuple[int, dict[int, bytes]]]) -> None:
        """Writes streams of the given size in bytes, with pieces at the given offsets."""
        made = ctypes.c_void_p(self.sheaf.sheaf_set_open(str(self.set).encode()))
        for name, (size, pieces) in streams.items():
            stream = ctypes.c_void_p(self.sheaf.sheaf_stream_open(made, name, b"w"))
            for at, piece in pieces.items():
                written = self.sheaf.sheaf_stream_write(stream, piece, ctypes.c_ulonglong(len(piece)),
                                                        ctypes.c_longlong(at))
                self.assertEqual(written, len(piece))
            self.assertEqual(self.sheaf.sheaf_stream_truncate(stream, ctypes.c_longlong(size)), 0)
            self.assertEqual(self.sheaf.sheaf_stream_close(stream), 0)
        self.sheaf.sheaf_set_close(made)

    def assert_sparse(self, path: Path, content: bytes) -> None:
        self.assertEqual(path.read_bytes(), content, path)
        self.assertLess(path.stat().st_blocks * 512, 1 << 20, path)

    def test_holes_stay_holes(self) -> None:
        pieces = {0: b"first", 5 << 20: bytes(5 << 20), 30_000_000: b"last"}
        self.write({b"a": (40_000_000, pieces), b"only": (10_000_000, {}), b"empty": (0, {})})
        content = bytearray(40_000_000)
        for at, piece in pieces.items():
            content[at:at + len(piece)] = piece
        for from_multifile in (False, True):
            if from_multifile:
                self.succeed("sheaf", "defrag", self.set, self.set)
            out = self.dir / f"out{from_multifile:d}"
            self.succeed("sheaf", "split", "--names", self.set, f"{out}/")
            self.succeed("sheaf", "cat", "--name", "a", "-o", out / "one", self.set)
            self.assertEqual(self.succeed("sheaf", "cat", "--name", "a", self.set), content)
            for name, expected in ((b"a", content), (b"one", content), (b"only", bytes(10_000_000)),
                                   (b"empty", b"")):
                self.assert_sparse(out / name.decode(), expected)

    def test_sizes_beyond_all_bounds(self) -> None:
        self.write({b"%02d" % k: (1 << 60, {k << 50: b"x"}) for k in range(16)})
        self.succeed("sheaf", "verify", self.set)
        told = json.loads(self.succeed("sheaf", "info", "--json", self.set))
        self.assertEqual(told["data_bytes"], 2**63 - 1)


if __name__ == "__main__":
    unittest.main()
