"""Tests multifiles with checksums that the independent writer writes (docs/format.md, sections 14.2 and 14.3). The
library and the tools verify and read them, undamaged and with damage to every kind of data."""
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from sheaf_format import extensions, verify, writer  # noqa: E402
from sheaf_format.physical import PhysicalFile  # noqa: E402

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
LIBRARY = BIN.parent / "lib" / "libsheaf.so"
PIECE = 4096


def content(task: int, size: int) -> bytes:
    return bytes((17 * (task + 1) + 5 * i + i // 251) & 255 for i in range(size))


def streams() -> list[bytes]:
    return [content(0, 30000), b"", content(2, 100), content(3, 4096), content(4, 9000)]


def spec(name: str, kind: writer.Kind, nfiles: int, order: str) -> writer.MultifileSpec:
    tasks = [writer.TaskSpec(9000, t, writer.fill(data, 9216), file=t * nfiles // 5) for t, data in enumerate(streams())]
    return writer.MultifileSpec(name, tasks, 512, kind, order)


class Checksums(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)

    def written(self, kind: writer.Kind, nfiles: int, order: str = "little") -> list[str]:
        identity = extensions.new_identity()
        paths = writer.write(spec("a.sion", kind, nfiles, order), str(self.dir / "a.sion"))
        for path in paths:
            extensions.add(path, identity, PIECE)
        return paths

    def verify(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([BIN / "sheaf", "verify", *words, str(self.dir / "a.sion")], capture_output=True, text=True)

    def stream(self, task: int) -> bytes:
        """Reads a stream with the serial calls of the library. Stores the message of a failure in self.said."""
        script = (
            "import ctypes, sys\n"
            f"lib = ctypes.CDLL({str(LIBRARY)!r})\n"
            "lib.sion_fread.restype = ctypes.c_size_t\n"
            "lib.sion_fread.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]\n"
            "p = ctypes.POINTER\n"
            "chunk, block, rank = ctypes.c_longlong(), ctypes.c_int(), ctypes.c_int(int(sys.argv[2]))\n"
            "sid = lib.sion_open_rank(sys.argv[1].encode(), b'rb', ctypes.byref(chunk), ctypes.byref(block), ctypes.byref(rank), None)\n"
            "room = ctypes.create_string_buffer(1 << 20)\n"
            "size = lib.sion_fread(room, 1, 40000, sid) if sid >= 0 else 0\n"
            "sys.stdout.buffer.write(room.raw[:size])\n")
        done = subprocess.run([sys.executable, "-c", script, str(self.dir / "a.sion"), str(task)], capture_output=True)
        self.said = done.stderr.decode()
        return done.stdout

    def test_files_of_the_independent_writer_are_sound(self) -> None:
        for kind, nfiles in ((writer.Kind.SERIAL, 1), (writer.Kind.PARALLEL, 1), (writer.Kind.PARALLEL, 2), (writer.Kind.MAPPED, 2)):
            for order in ("little", "big"):
                with self.subTest(kind=kind, nfiles=nfiles, order=order):
                    for path in self.written(kind, nfiles, order):
                        with PhysicalFile(path) as file:
                            self.assertTrue(verify(file))
                    result = self.verify("--json")
                    self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                    for task, data in enumerate(streams()):
                        self.assertEqual(self.stream(task), data, self.said)

    def test_every_damaged_piece_is_found(self) -> None:
        for nfiles in (1, 2):
            for path in self.written(writer.Kind.PARALLEL, nfiles):
                whole = pathlib.Path(path).read_bytes()
                with PhysicalFile(path) as file:
                    places = [(lrank, block, at, offset + at) for lrank in range(file.header.ntasks)
                              for block, (offset, size) in enumerate(file.blocks(lrank)) for at in range(0, size, PIECE)]
                self.assertTrue(places)
                for lrank, block, at, offset in places:
                    with self.subTest(path=path, task=lrank, block=block, piece=at):
                        damaged = bytearray(whole)
                        damaged[offset] ^= 16
                        pathlib.Path(path).write_bytes(damaged)
                        result = self.verify()
                        self.assertEqual(result.returncode, 1)
                        told = result.stdout + result.stderr
                        self.assertIn(path, told)
                        self.assertIn(f"task {lrank}", told)
                        self.assertIn(f"offset {at} ", told)
                pathlib.Path(path).write_bytes(whole)

    def test_a_reader_hands_out_nothing_that_is_damaged(self) -> None:
        (path,) = self.written(writer.Kind.PARALLEL, 1)
        with PhysicalFile(path) as file:
            offset, _ = list(file.blocks(4))[0]
        with open(path, "r+b") as out:
            out.seek(offset + PIECE + 7)
            out.write(b"?")
        found = self.stream(4)
        self.assertEqual(found, streams()[4][:len(found)])
        self.assertLessEqual(len(found), PIECE)
        for part in (path, "task 4", "block 0", f"offset {PIECE}", "checksum"):
            self.assertIn(part, self.said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
