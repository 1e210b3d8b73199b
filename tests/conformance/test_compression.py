"""Checks that the independent reader (docs/format.md, section 14.4) and the tools read the library's compressed
multifiles."""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from sheaf_format import FormatError, Multifile, describe, verify  # noqa: E402
from sheaf_format.hashing import xxh3  # noqa: E402

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
LIBRARY = BIN.parent / "lib" / "libsheaf.so"


def content(task: int, size: int) -> bytes:
    return bytes((17 * (task + 1) + 5 * i + i // 251) & 255 for i in range(size))


class Library:
    """Wraps the serial calls of the library on handles of open multifiles."""

    def __init__(self) -> None:
        self.lib = ctypes.CDLL(str(LIBRARY))
        self.lib.sion_fwrite.restype = self.lib.sion_fread.restype = ctypes.c_size_t
        self.lib.sion_fwrite.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
        self.lib.sion_fread.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
        self.lib.sion_seek.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong]
        self.lib.sion_get_fp.restype = ctypes.c_void_p

    def open(self, path: pathlib.Path, mode: str, chunks: list[int]) -> int:
        n = len(chunks)
        sizes = (ctypes.c_longlong * n)(*chunks)
        ranks = (ctypes.c_int * n)(*range(n))
        return self.lib.sion_open(str(path).encode(), mode.encode(), ctypes.byref(ctypes.c_int(n)), ctypes.byref(ctypes.c_int(1)),
                                  ctypes.byref(ctypes.cast(sizes, ctypes.POINTER(ctypes.c_longlong))),
                                  ctypes.byref(ctypes.c_int(512)), ctypes.byref(ctypes.cast(ranks, ctypes.POINTER(ctypes.c_int))), None)

    def write(self, path: pathlib.Path, words: str, tasks: list[bytes], chunk: int, close: bool = True) -> None:
        sid = self.open(path, "wb," + words, [chunk] * len(tasks))
        assert sid >= 0
        for task, data in enumerate(tasks):
            assert self.lib.sion_seek(sid, task, -102, -103) == 1
            for at in range(0, len(data), 700):
                piece = data[at:at + 700]
                assert self.lib.sion_fwrite(piece, 1, len(piece), sid) == len(piece)
        if close:
            assert self.lib.sion_close(sid) == 1


def tool(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(BIN / "sheaf"), *map(str, words)], capture_output=True, timeout=100)


def leave_open(path: str) -> None:
    """Writes a multifile with 10,000 flushed bytes and ends this process without a close."""
    library = Library()
    sid = library.open(pathlib.Path(path), "wb,compress=lz4,frame=4k", [30000])
    data = content(0, 10000)
    library.lib.sion_fwrite(data, 1, len(data), sid)
    library.lib.sion_flush(sid)
    library.lib.sion_fwrite(b"never flushed", 1, 13, sid)
    os._exit(0)


class Compression(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)
        self.library = Library()

    def test_the_independent_reader_finds_what_was_written(self) -> None:
        tasks = [content(0, 20000), b"", content(2, 300), os.urandom(9000), content(4, 4096)]
        for words in ("compress=zstd,frame=1k", "compress=lz4,frame=4k,shuffle=4", "compress=zstd:9,shuffle=3,compress_threads=2",
                      "compress=gzip,frame=1k", "compress=gzip:9,shuffle=4"):
            with self.subTest(words):
                path = self.dir / "a.sion"
                self.library.write(path, words, tasks, 4000)
                with Multifile(str(path)) as multifile:
                    self.assertEqual([b"".join(multifile.plain_blocks(t)) for t in range(len(tasks))], tasks)
                    blocks = multifile.plain_blocks(0)
                    self.assertTrue(all(len(block) <= 4096 for block in blocks))
                    stored = b"".join(multifile.stream(0))
                    self.assertTrue(multifile.files[0].header.encoded)
                    self.assertTrue(describe(multifile)["encoded"])
                self.assertEqual(path.read_bytes()[:4], b"\x89SHF")
                self.assertNotEqual(stored, tasks[0])
                self.assertTrue(stored.startswith(b"SFrm"))

    def test_damage_is_found_by_both(self) -> None:
        path = self.dir / "a.sion"
        self.library.write(path, "compress=zstd,frame=1k,checksums=off", [content(0, 5000)], 5000)
        with Multifile(str(path)) as multifile:
            begin, _ = multifile.blocks(0)[0]
        whole = path.read_bytes()
        for at in (begin + 3, begin + 30, begin + 60):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
            with Multifile(str(path)) as multifile, self.assertRaises(FormatError):
                multifile.plain_blocks(0)
            done = tool("verify", path)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(b"task 0 of", done.stdout)

    def test_an_encoded_file_says_how_or_is_damaged(self) -> None:
        path = self.dir / "a.sion"
        self.library.write(path, "compress=zstd,checksums=off", [content(0, 5000)], 5000)
        whole = path.read_bytes()

        def change(at: int, data: bytes) -> None:
            changed = bytearray(whole)
            changed[at:at + len(data)] = data
            changed[1068:1076] = xxh3(bytes(changed[:1068])).to_bytes(8, "little")
            path.write_bytes(changed)

        change(0, b"sion")  # as in versions without a magic for encoded files
        self.assertEqual(tool("cat", path).stdout, content(0, 5000))
        self.assertIn(b"note: compressed, with the magic of plain files", tool("verify", path).stdout)
        version = 16 if sys.byteorder == "little" else 19  # offset of the nonzero byte of the format version
        for at, data in ((1012, b"none"), (1023, b"\0"), (version, b"\4")):
            change(at, data)
            done = tool("cat", path)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"encoded", done.stderr)
            with self.assertRaisesRegex(FormatError, "encoded"), Multifile(str(path)) as multifile:
                verify(multifile.files[0])
        change(1012, b"none")
        self.assertEqual(tool("cat", "--ignore-checksums", path).stdout, content(0, 5000))

    def test_tools_tell_both_sizes_and_write_plain_data(self) -> None:
        path = self.dir / "a.sion"
        tasks = [content(0, 20000), content(1, 100)]
        self.library.write(path, "compress=zstd:3,shuffle=2,frame=2k", tasks, 9000)
        self.assertEqual(tool("cat", path).stdout, tasks[0] + tasks[1])
        self.assertEqual(tool("cat", "-t", 1, path).stdout, tasks[1])
        self.assertEqual(tool("split", path, self.dir / "part.").returncode, 0)
        self.assertEqual([part.read_bytes() for part in sorted(self.dir.glob("part.*"))], tasks)
        dump = json.loads(tool("dump", "--json", path).stdout)
        self.assertEqual(dump["compression"], {"codec": "zstd", "level": 3, "shuffle": 2, "frame": 2048})
        self.assertEqual([task["plain_length"] for task in dump["tasks"]], [20000, 100])
        self.assertLess(dump["tasks"][0]["length"], 10000)
        info = json.loads(tool("info", "--json", path).stdout)
        self.assertEqual(info["plain_bytes"], 20100)
        self.assertLess(info["data_bytes"], 10000)
        self.assertIn(b"frames of 2048 bytes", tool("info", path).stdout)
        self.assertIn(b"5, encoded, written by", tool("info", path).stdout)
        for options, compressed in (((), True), (("--decompress",), False)):
            packed = self.dir / f"packed{compressed}.sion"
            self.assertEqual(tool("defrag", *options, path, packed).returncode, 0)
            self.assertEqual(tool("cat", packed).stdout, tasks[0] + tasks[1])
            with Multifile(str(packed)) as multifile:
                self.assertEqual([b"".join(multifile.plain_blocks(t)) for t in range(2)], tasks)
                self.assertEqual(b"".join(multifile.stream(1)) == tasks[1], not compressed)

    def test_what_was_flushed_is_repaired(self) -> None:
        path = self.dir / "a.sion"
        program = "import sys; sys.path.insert(0, sys.argv[1]); import test_compression; test_compression.leave_open(sys.argv[2])"
        subprocess.run([sys.executable, "-B", "-c", program, pathlib.Path(__file__).parent, path], check=True, timeout=100)
        self.assertTrue(tool("cat", path).stdout.startswith(content(0, 10000)))
        self.assertEqual(tool("repair", path).returncode, 0)
        self.assertEqual(tool("verify", path).returncode, 0)
        self.assertTrue(tool("cat", path).stdout.startswith(content(0, 10000)))

    def test_the_stream_of_the_program_goes_through_the_library(self) -> None:
        path = self.dir / "a.sion"
        libc = ctypes.CDLL(None)
        for call, result in (("fwrite", ctypes.c_size_t), ("fread", ctypes.c_size_t), ("ftell", ctypes.c_long), ("fseek", ctypes.c_int)):
            getattr(libc, call).restype = result
        libc.fwrite.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
        libc.fread.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
        libc.fseek.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_int]
        libc.ftell.argtypes = [ctypes.c_void_p]
        data = content(0, 3000)
        sid = self.library.open(path, "wb,compress=zstd", [5000])
        stream = self.library.lib.sion_get_fp(sid)
        self.assertTrue(stream)
        self.assertEqual(libc.fwrite(data[:1000], 1, 1000, stream), 1000)
        self.assertEqual(self.library.lib.sion_fwrite(data[1000:2000], 1, 1000, sid), 1000)
        self.assertEqual(libc.fwrite(data[2000:], 1, 1000, stream), 1000)
        self.assertEqual(self.library.lib.sion_close(sid), 1)
        self.assertEqual(tool("cat", path).stdout, data)

        sid = self.library.open(path, "rb", [0])
        stream = self.library.lib.sion_get_fp(sid)
        begin = libc.ftell(stream)
        found = ctypes.create_string_buffer(1000)
        self.assertEqual(libc.fread(found, 1, 1000, stream), 1000)
        self.assertEqual(found.raw, data[:1000])
        self.assertEqual(self.library.lib.sion_fread(found, 1, 500, sid), 500)
        self.assertEqual(found.raw[:500], data[1000:1500])
        self.assertEqual(libc.ftell(stream), begin + 1500)
        self.assertEqual(libc.fseek(stream, begin + 100, 0), 0)
        self.assertEqual(libc.fread(found, 1, 50, stream), 50)
        self.assertEqual(found.raw[:50], data[100:150])
        self.assertEqual(self.library.lib.sion_close(sid), 1)


if __name__ == "__main__":
    unittest.main()
