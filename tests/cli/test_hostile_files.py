"""Limits the memory and time that the tools take for files that claim to be far larger than they are, and for
large valid files.

The claimed tables are in holes, so a few kilobytes on disk represent tables of terabytes.
"""

from __future__ import annotations

import mmap
import os
import random
import struct
import subprocess
import time
import unittest
from collections.abc import Iterable, Iterator
from pathlib import Path

from tool_case import BIN, ToolCase

from sheaf_format.hashing import crc32c, xxh3

MOST_KIB = 64 << 10
SECONDS = 120  # limit for tools that take a few seconds on an idle machine
B = 4096
EXTENSION_AT = 1012
MOST_BLOCKS = 2**31 - 1


def up(size: int, unit: int = B) -> int:
    return (size + unit - 1) // unit * unit


def head(ntasks: int, nfiles: int = 1, number: int = 0, keyval: int = 50, flags: int | None = None, frame: int = 0) -> bytes:
    """Returns META1 up to its arrays. With `flags`, it has an extension header."""
    fixed = b"sion" + struct.pack("<4x7i2q", 1007, 6, 5, B, ntasks, nfiles, number, keyval << 32, 0) + b"h.sion".ljust(1024, b"\0")
    if flags is None:
        return fixed
    extension = b"\x89Sheaf\r\n" + struct.pack("<HHBbBx16sII16x", 1, flags, 1 if frame else 0, 3 if frame else 0, 0, b"i" * 16,
                                               0, frame)
    covered = fixed[:EXTENSION_AT] + extension
    return covered + struct.pack("<Q", xxh3(covered)) + fixed[EXTENSION_AT + 64:]


def sparse(path: Path, pieces: list[tuple[int, bytes | Iterable[bytes]]], size: int) -> Path:
    with path.open("wb") as file:
        for offset, data in pieces:
            file.seek(offset)
            file.writelines([data] if isinstance(data, bytes) else data)
        file.truncate(size)
    return path


def numbers(value: int, count: int) -> Iterator[bytes]:
    """Yields `count` times the value as 8 bytes. Yields them in pieces, because the kernel adds the memory of
    this process to the peak of its children."""
    for begin in range(0, count, 1 << 12):
        yield struct.pack("<q", value) * min(1 << 12, count - begin)


def unclosed(path: Path, ntasks: int, flags: int = 2, frame: int = 0) -> Path:
    return sparse(path, [(0, head(ntasks, flags=flags, frame=frame))], up(1088 + 16 * ntasks))


def complete(path: Path, tasks: int, count: int, maxblocks: int, chunk: int = 0, size: int = 0,
             data: list[tuple[int, bytes | Iterable[bytes]]] | None = None, mapping: int = 0, **header: int) -> Path:
    """Writes a file in which every task has `size` bytes in round 0. Offsets in `data` are relative to the first
    chunk. `mapping` is the number of mapping entries, which are in a hole."""
    start = up(1088 + 16 * tasks)
    table = start + maxblocks * tasks * chunk
    end = table + 8 * tasks * (1 + maxblocks)
    pieces = [(0, head(tasks, **header)), (1076 + 16 * tasks, struct.pack("<iq", maxblocks, table)), (table, numbers(count, tasks))]
    if chunk:
        pieces += [(1076 + 8 * tasks, numbers(chunk, tasks)), (table + 8 * tasks, numbers(size, tasks))]
    pieces += [(start + offset, piece) for offset, piece in data or []]
    if mapping:
        pieces.append((end, struct.pack("<i", mapping)))
    return sparse(path, pieces, end + (4 + 8 * mapping if mapping else 0))


def measure(tool: str, *arguments: object) -> tuple[int, int, float, bytes]:
    """Runs a tool. Returns its exit status, peak memory in KiB, seconds, and the start of its output. The peak
    includes the memory of this process, which the child has until it calls exec."""
    process = subprocess.Popen([str(BIN / tool), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    begun = time.monotonic()
    said = b""
    while piece := os.read(process.stdout.fileno(), 1 << 16):
        said = (said + piece)[:1 << 16]
        if time.monotonic() - begun > SECONDS:
            process.kill()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss, time.monotonic() - begun, said


def is_sanitized() -> bool:
    with (BIN / "sheaf").open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as program:
        return program.find(b"__asan_init") >= 0 or program.find(b"__tsan_init") >= 0


@unittest.skipIf(is_sanitized(), "sanitizers need memory of their own")
class HostileFiles(ToolCase):
    def expect(self, path: Path, status: int, *tools: str, on_disk: int = 1 << 20, word: str = "") -> None:
        self.assertLessEqual(sum(512 * p.stat().st_blocks for p in self.dir.iterdir()), on_disk)
        for tool in tools or ("info", "verify"):
            code, kib, seconds, said = measure("sheaf", *tool.split(), path)
            context = (tool, path.name, said[:2000])
            self.assertEqual(code, status if tool != "verify" or status else code, context)
            self.assertLessEqual(kib, MOST_KIB, context)
            self.assertLess(seconds, SECONDS, context)
            self.assertIn(word, said.decode(errors="replace"), context)

    def test_tasks_of_a_file_that_was_never_closed(self) -> None:
        path = unclosed(self.dir / "h.sion", 5_000_000)
        self.expect(path, 0, "info", "cat", "cat -t 4999999", word="not closed")
        self.expect(path, 1, "verify", word="never closed")

    def test_the_same_with_a_journal_of_holes(self) -> None:
        path = unclosed(self.dir / "h.sion", 5_000_000)
        sparse(self.dir / "h.sion.journal", [], 1 << 42)
        self.expect(path, 0, "info")
        self.expect(path, 1, "verify")

    def test_compressed_tasks(self) -> None:
        path = unclosed(self.dir / "h.sion", 2_000_000, 2 | 256, 1 << 18)
        self.expect(path, 0, "info", "cat")
        self.expect(path, 1, "verify")

    def test_rounds_that_nobody_counts(self) -> None:
        self.expect(complete(self.dir / "h.sion", 3, 1, MOST_BLOCKS), 0, "info", "verify", "cat", "cat -t 2")

    def test_blocks_that_are_counted_and_empty(self) -> None:
        self.expect(complete(self.dir / "h.sion", 1, MOST_BLOCKS, MOST_BLOCKS), 0, "info", "verify", "cat", "cat -t 0")
        self.expect(complete(self.dir / "h.sion", 200, MOST_BLOCKS, MOST_BLOCKS), 0)

    def test_dump_of_very_many_blocks_begins_at_once(self) -> None:
        path = complete(self.dir / "h.sion", 1, MOST_BLOCKS, MOST_BLOCKS)
        for options in (["-a"], ["--json"]):
            process = subprocess.Popen([BIN / "sheaf", "dump", *options, path], stdout=subprocess.PIPE)
            for _ in range(64):
                self.assertEqual(len(process.stdout.read(1 << 16)), 1 << 16)
            process.kill()
            process.stdout.close()
            self.assertLessEqual(os.wait4(process.pid, 0)[2].ru_maxrss, MOST_KIB)
            process.returncode = 0

    def test_a_mapping(self) -> None:
        path = complete(self.dir / "h.sion", 1, 1, 1, nfiles=2, mapping=3_000_000)
        complete(self.dir / "h.sion.000001", 1, 1, 1, nfiles=2, number=1)
        self.expect(path, 0, "info", "cat")
        self.expect(path, 1, "verify", word="as another task before")

    def test_physical_files(self) -> None:
        path = complete(self.dir / "h.sion", 1, 1, 1, nfiles=MOST_BLOCKS, mapping=1)
        self.expect(path, 1, word="h.sion.000001")

    def test_records(self) -> None:
        chunk = 64 << 20
        path = complete(self.dir / "h.sion", 1, 1, 1, chunk, chunk, keyval=51)
        self.expect(path, 0, "info", "verify", "dump -k")

    def test_records_of_very_many_blocks(self) -> None:
        self.expect(complete(self.dir / "h.sion", 1, MOST_BLOCKS, MOST_BLOCKS, keyval=51), 0)

    def test_an_index_of_frames(self) -> None:
        entries = 2**27 - 3
        payload = 32 * entries + 32
        start = struct.pack("<4sBB2xIIiI", b"SFrm", 255, 0, payload, entries, 0, 0) + bytes(8)
        end = b"SFrmIdx\n" + struct.pack("<qQ", 0, entries)
        chunk = up(40 + payload)
        path = complete(self.dir / "h.sion", 1, 1, 1, chunk, 40 + payload, flags=256, frame=1 << 18,
                        data=[(0, start + struct.pack("<Q", xxh3(start))), (40 + payload - 32, end + struct.pack("<Q", xxh3(end)))])
        self.expect(path, 0, "info", "cat")

    def test_a_frame_that_an_index_makes_very_large(self) -> None:
        stored = 3 << 30
        entry = struct.pack("<qqiIII", 0, 0, 0, 1, stored, 0)
        end = b"SFrmIdx\n" + struct.pack("<qQ", stored, 1)
        end += struct.pack("<Q", xxh3(end))
        index = struct.pack("<4sBB2xIIiI", b"SFrm", 255, 0, 64, 1, 0, crc32c(entry + end)) + bytes(8)
        index += struct.pack("<Q", xxh3(index)) + entry + end
        path = complete(self.dir / "h.sion", 1, 1, 1, up(stored + 104), stored + 104, flags=256, frame=1 << 18,
                        data=[(stored, index)])
        self.expect(path, 1, "info", "cat", word="frame")

    def test_a_trailer(self) -> None:
        path = complete(self.dir / "h.sion", 1, 1, 1, flags=1)
        self.expect(path, 1, word="checksum")


@unittest.skipIf(is_sanitized(), "sanitizers need memory of their own")
class LargeFiles(ToolCase):
    def expect(self, *arguments: object) -> bytes:
        code, kib, seconds, said = measure("sheaf", *arguments)
        self.assertEqual(code, 0, (arguments, said[:2000]))
        self.assertLessEqual(kib, MOST_KIB, arguments)
        self.assertLess(seconds, SECONDS, arguments)
        return said

    def test_a_million_tasks(self) -> None:
        n = 1 << 20
        path = complete(self.dir / "m.sion", n, 2, 3, 64, 3)
        self.assertIn(b"1048576", self.expect("info", path))
        for tool in (["verify"], ["dump"], ["dump", "-a"], ["dump", "--json"], ["cat", "-t", n - 1]):
            self.expect(*tool, path)

    def test_a_million_tasks_that_take_turns_in_the_files_of_a_set(self) -> None:
        n, files = 1 << 20, 256
        path = self.dir / "m.sion"
        for k in range(files):
            complete(self.dir / f"m.sion.{k:06}" if k > 0 else path, n // files, 1, 1, 64, 5, nfiles=files, number=k,
                     mapping=0 if k > 0 else n)
        with path.open("r+b") as file:
            file.seek(-8 * n, os.SEEK_END)
            for row in range(n // files):
                file.write(b"".join(struct.pack("<ii", k, row) for k in range(files)))
        for tool in ("info", "verify", "dump"):
            self.expect(tool, path)

    def test_frames_of_16_mib(self) -> None:
        size = 40 << 20
        random_bytes = random.Random(1)
        pieces = (random_bytes.randbytes(1 << 16) if i % 2 else bytes(range(256)) * 256 for i in range(size >> 16))
        complete(self.dir / "p.sion", 1, 1, 1, size, size, data=[(0, pieces)])
        self.succeed("sheaf", "defrag", "--compress", "zstd", "--shuffle", 8, "--frame", "16M", self.dir / "p.sion", self.dir / "c.sion")
        for tool in ("info", "verify"):
            self.expect(tool, self.dir / "c.sion")


if __name__ == "__main__":
    unittest.main()
