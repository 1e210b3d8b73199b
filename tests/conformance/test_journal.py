"""Checks that the independent reader (docs/format.md, section 16) and the tools read the library's journals."""
import ctypes
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from sheaf_format import FormatError, Multifile, RecoveredFile, describe  # noqa: E402
from sheaf_format.hashing import xxh3  # noqa: E402

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
LIBRARY = BIN.parent / "lib" / "libsheaf.so"


def content(task: int, size: int) -> bytes:
    return bytes((17 * (task + 1) + 5 * i + i // 251) & 255 for i in range(size))


def write_and_die(path: pathlib.Path, sizes: list[int], chunk: int, mode: bytes = b"wb") -> None:
    """Runs a child process that ends without a close. Every task first writes and flushes in pieces, and then
    writes data that are never flushed."""
    child = os.fork()
    if child == 0:
        lib = ctypes.CDLL(str(LIBRARY))
        n = len(sizes)
        lib.sion_fwrite.restype = ctypes.c_size_t
        lib.sion_fwrite.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
        lib.sion_seek.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong]
        chunks = (ctypes.c_longlong * n)(*[chunk] * n)
        ranks = (ctypes.c_int * n)(*range(n))
        sid = lib.sion_open(str(path).encode(), mode, ctypes.byref(ctypes.c_int(n)), ctypes.byref(ctypes.c_int(1)),
                            ctypes.byref(ctypes.cast(chunks, ctypes.POINTER(ctypes.c_longlong))),
                            ctypes.byref(ctypes.c_int(512)), ctypes.byref(ctypes.cast(ranks, ctypes.POINTER(ctypes.c_int))), None)
        for task, size in enumerate(sizes):
            lib.sion_seek(sid, task, -102, -103)
            data = content(task, size)
            for at in range(0, size, 100):
                lib.sion_fwrite(data[at:at + 100], 1, len(data[at:at + 100]), sid)
                if at % 300 == 0:
                    lib.sion_flush(sid)
            lib.sion_flush(sid)
            lib.sion_fwrite(b"never flushed", 1, 13, sid)
        os._exit(0 if sid >= 0 else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0


class Journal(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.path = pathlib.Path(self.scratch.name) / "a.sion"
        self.sizes = [0, 1, 700, 5000]
        write_and_die(self.path, self.sizes, 1000)

    def run_tool(self, *arguments: object) -> subprocess.CompletedProcess:
        return subprocess.run([BIN / "sheaf", *map(str, arguments)], capture_output=True)

    def test_the_independent_reader_finds_what_was_flushed(self) -> None:
        with RecoveredFile(str(self.path)) as file:
            for task, size in enumerate(self.sizes):
                found = b"".join(piece for offset, length in file.blocks(task) for piece in file.read_range(offset, length))
                self.assertEqual(found[:size], content(task, size))
                self.assertLessEqual(len(found), size + 13)
        with self.assertRaises(FormatError):
            Multifile(str(self.path))

    def test_the_tools_say_that_the_file_was_not_closed(self) -> None:
        for command in (["cat", "--task", 3], ["info"], ["dump"], ["split"], ["defrag"]):
            extra = [self.path.with_suffix(".out")] if command[0] in ("split", "defrag") else []
            done = self.run_tool(*command, self.path, *extra)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"was not closed", done.stderr)
        self.assertEqual(json.loads(self.run_tool("info", "--json", self.path).stdout)["state"], "unclosed")
        self.assertTrue(json.loads(self.run_tool("dump", "--json", self.path).stdout)["unclosed"])
        self.assertEqual(self.run_tool("verify", self.path).returncode, 1)
        self.assertEqual(self.run_tool("cat", "--task", 3, self.path).stdout[:5000], content(3, 5000))

    def test_repair_makes_an_ordinary_multifile(self) -> None:
        before = self.path.read_bytes()
        self.assertEqual(json.loads(self.run_tool("repair", "--json", "--dry-run", self.path).stdout)["files"][0]["source"], "journal")
        copy = self.path.with_name("copy.sion")
        self.assertEqual(self.run_tool("repair", "--copy", copy, self.path).returncode, 0)
        self.assertEqual(self.path.read_bytes(), before)
        self.assertEqual(self.run_tool("repair", "--copy", copy, self.path).returncode, 1)
        self.assertEqual(self.run_tool("repair", self.path).returncode, 0)
        self.assertFalse(self.path.with_name("a.sion.journal").exists())
        for path in (copy, self.path):
            self.assertEqual(self.run_tool("verify", path).returncode, 0)
            with Multifile(str(path)) as multifile:
                for task, size in enumerate(self.sizes):
                    self.assertEqual(b"".join(multifile.stream(task))[:size], content(task, size))
        self.assertIn(b"nothing to do", self.run_tool("repair", self.path).stdout)

    def test_a_lost_journal_is_an_error_and_repair_says_what_it_cannot_know(self) -> None:
        self.path.with_name("a.sion.journal").unlink()
        out = self.path.with_name("out")
        for command in (["verify"], ["cat", "--task", 3], ["info"], ["dump"], ["split"], ["defrag"]):
            done = self.run_tool(*command, self.path, *([out] if command[0] in ("split", "defrag") else []))
            self.assertEqual(done.returncode, 1, command)
            self.assertIn(b"a.sion.journal' is missing", done.stdout + done.stderr)
        left = {path.name for path in self.path.parent.iterdir()} - {"a.sion.lease"}  # of the dead job, if it lived long enough
        self.assertEqual(left, {"a.sion"})
        with self.assertRaisesRegex(FormatError, "journal is lost"):
            RecoveredFile(str(self.path)).close()
        report = json.loads(self.run_tool("repair", "--json", self.path).stdout)["files"][0]
        self.assertEqual(report["source"], "holes")
        self.assertTrue(any("journal" in what for what in report["unknown"]))
        self.assertEqual(self.run_tool("verify", self.path).returncode, 0)
        self.expect_mark(report["guessed_chunk_ends"])
        for task, size in enumerate(self.sizes):
            self.assertEqual(self.run_tool("cat", "--task", task, self.path).stdout[:min(size, 1000)], content(task, min(size, 1000)))

    def expect_mark(self, ends: int) -> None:
        """Checks that the tools report a repair that had to guess the ends of `ends` chunks."""
        self.assertIn(b"guessed", self.run_tool("verify", self.path).stdout)
        self.assertIn(b"guessed", self.run_tool("cat", "--task", 3, self.path).stderr)
        self.assertEqual(json.loads(self.run_tool("info", "--json", self.path).stdout)["guessed_chunk_ends"], ends)
        self.assertIn(f"where {ends} chunk(s) end".encode(), self.run_tool("info", self.path).stdout)
        with Multifile(str(self.path)) as multifile:
            self.assertEqual(describe(multifile)["guessed"], ends)
        copy = self.path.with_name("copy")
        self.assertEqual(self.run_tool("defrag", self.path, copy).returncode, 0)
        self.assertEqual(json.loads(self.run_tool("info", "--json", copy).stdout)["guessed_chunk_ends"], ends)

    def test_a_repaired_file_without_extensions_says_what_was_guessed(self) -> None:
        write_and_die(self.path, self.sizes, 1000, b"wb,journal=off,checksums=off")
        self.assertNotIn(b"\x89Sheaf", self.path.read_bytes()[:1076])
        report = json.loads(self.run_tool("repair", "--json", self.path).stdout)["files"][0]
        self.assertTrue(report["guessed"])
        self.assertGreater(report["guessed_chunk_ends"], 1, "every chunk that is not full")
        self.expect_mark(report["guessed_chunk_ends"])

    def test_a_damaged_record_is_told_and_refused(self) -> None:
        journal = self.path.with_name("a.sion.journal")
        good = journal.read_bytes()
        slot = 512 + 64 * 2
        journal.write_bytes(good[:slot] + bytes(byte ^ 0x5A for byte in good[slot:slot + 64]) + good[slot + 64:])
        with self.assertRaisesRegex(FormatError, "damaged"):
            RecoveredFile(str(self.path)).close()
        done = self.run_tool("cat", "--task", 2, self.path)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"local task 2", done.stderr)
        self.assertEqual(self.run_tool("cat", "--task", 3, self.path).stdout[:5000], content(3, 5000))
        self.assertIn(b"local task 2", self.run_tool("verify", self.path).stdout)
        self.assertEqual(self.run_tool("repair", self.path).returncode, 1)
        self.assertEqual(self.run_tool("repair", "--force", self.path).returncode, 0)
        self.assertIn(b"guessed", self.run_tool("verify", self.path).stdout)

    def test_records_with_a_wrong_bit_are_corrected(self) -> None:
        journal = self.path.with_name("a.sion.journal")
        good = journal.read_bytes()
        for at in range(512, len(good), 13):
            journal.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1:])
            with RecoveredFile(str(self.path)) as file:
                for task in range(4):
                    found = b"".join(piece for offset, length in file.blocks(task) for piece in file.read_range(offset, length))
                    self.assertEqual(self.run_tool("cat", "--task", task, self.path).stdout, found)
                    self.assertEqual(found[:self.sizes[task]], content(task, len(found))[:self.sizes[task]])
            if at > 512 + 64 * 8:
                break

    def deal_out(self, host_of: list[int]) -> None:
        """Rewrites the journal as one journal per host, as tasks of several hosts would write it. Slot s belongs
        to task s mod n."""
        journal = pathlib.Path(f"{self.path}.journal")
        one, n, hosts = journal.read_bytes(), len(self.sizes), max(host_of) + 1

        def header(host: int) -> bytes:
            head = one[:8] + struct.pack("<I", 2) + one[12:56]
            head += struct.pack("<Qii", xxh3(head), hosts, host)
            return (head + struct.pack("<Q", xxh3(head))).ljust(512, b"\0")

        journal.write_bytes(header(-1))
        self.identity = one[16:32]
        for host in range(hosts):
            slots = [one[at:at + 64] if host_of[(at - 512) // 64 % n] == host else bytes(64) for at in range(512, len(one), 64)]
            pathlib.Path(f"{journal}.{host}").write_bytes(header(host) + b"".join(slots))

    def keep_edges(self, host_of: list[int], unit: int) -> None:
        """Moves the bytes of boundary blocks to the boundary files of the hosts. A block of `unit` bytes is a
        boundary block unless it is within the chunk of one task."""
        n, hosts = len(self.sizes), max(host_of) + 1
        with RecoveredFile(str(self.path)) as file:
            starts, chunks, skip = list(file.starts), list(file.chunks), file.globalskip
            blocks = [file.blocks(task) for task in range(n)]
        data = bytearray(self.path.read_bytes())
        shift = (128 + 32 * n + 65535) // 65536 * 65536
        seed = xxh3(self.identity)
        for host in range(hosts):
            head = struct.pack("<8sIi16siIqqq", b"SheafEdg", 1, n, self.identity, host, 32, unit, starts[0], skip)
            edges = bytearray(shift) + bytearray(len(data))
            edges[:72] = head + struct.pack("<Q", xxh3(head))
            for task in (task for task in range(n) if host_of[task] == host):
                row = struct.pack("<qqq", starts[task], starts[task] + chunks[task], 0)
                edges[128 + 32 * task:160 + 32 * task] = row + struct.pack("<Q", xxh3(row, (seed + task) & (1 << 64) - 1))
                for number, (begin, length) in enumerate(blocks[task]):
                    chunk = starts[task] + number * skip
                    whole = range(-(-chunk // unit) * unit, (chunk + chunks[task]) // unit * unit)
                    for at in (at for at in range(begin, begin + length) if at not in whole):
                        edges[shift + at], data[at] = data[at], 0xEE
            pathlib.Path(f"{self.path}.edges.{host}").write_bytes(edges)
        self.path.write_bytes(data)

    def test_with_edges_of_several_hosts(self) -> None:
        tasks = range(len(self.sizes))
        for unit in (768, 4096):  # a part of a chunk, and the whole chunk
            write_and_die(self.path, self.sizes, 1000)
            before = [self.read(task) for task in tasks]
            self.deal_out([0, 2, 1, 2])
            self.keep_edges([0, 2, 1, 2], unit)
            self.assertEqual([self.read(task) for task in tasks], before)
            for task in tasks:
                self.assertEqual(self.run_tool("cat", "--task", task, self.path).stdout, before[task])
            self.assertEqual(self.run_tool("repair", self.path).returncode, 0)
            left = [p.name for p in self.path.parent.iterdir() if "journal" in p.name or "edges" in p.name]
            self.assertEqual(left, [])
            for task in tasks:
                self.assertEqual(self.run_tool("cat", "--task", task, self.path).stdout, before[task])

    def read(self, task: int) -> bytes:
        with RecoveredFile(str(self.path)) as file:
            return b"".join(piece for offset, length in file.blocks(task) for piece in file.read_range(offset, length))

    def test_of_several_hosts(self) -> None:
        tasks = range(len(self.sizes))
        before = [self.read(task) for task in tasks]
        self.deal_out([0, 2, 1, 2])
        self.assertEqual([self.read(task) for task in tasks], before)
        for task, size in enumerate(self.sizes):
            done = self.run_tool("cat", "--task", task, self.path)
            self.assertEqual(done.stdout[:size], content(task, size), done.stderr)
        self.path.with_name("a.sion.journal.2").unlink()  # a host without records has no journal
        self.assertEqual(self.read(3), b"")
        self.assertEqual(self.run_tool("cat", "--task", 3, self.path).stdout, b"")
        self.assertEqual(self.run_tool("repair", self.path).returncode, 0)
        self.assertEqual([p.name for p in self.path.parent.iterdir() if "journal" in p.name], [])


if __name__ == "__main__":
    unittest.main()
