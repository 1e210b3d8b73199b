"""Tests containers with checksums (docs/format.md, section 19), undamaged and with damage. The library and the tools
read containers of the independent writer, and the independent reader reads containers of the library."""
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from sheaf_format import FormatError, containers  # noqa: E402

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
IDENTITY = b"0123456789abcdef"
STREAMS = {b"empty": b"", b"small": b"seven", b"block": bytes(range(256)) * 256, b"large": bytes(range(251)) * 600}


class ContainerChecksums(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)
        self.set = self.dir / "set.sion"
        self.container = pathlib.Path(f"{self.set}.container.h")

    def sheaf(self, *words: object) -> subprocess.CompletedProcess:
        return subprocess.run([BIN / "sheaf", *map(str, words)], capture_output=True)

    def flip(self, content: bytes, at: int) -> None:
        """Flips a bit of the container, `at` bytes after the start of `content`. The container must have `content`
        once."""
        data = bytearray(self.container.read_bytes())
        data[data.index(content) + at] ^= 16
        self.container.write_bytes(data)

    def write(self, version: int = 2) -> None:
        containers.write_container(str(self.container), STREAMS, IDENTITY, version=version)

    def write_by_library(self, writes: list[tuple[bytes, bytes, int]], flags: str = "") -> pathlib.Path:
        """Writes `entries` with the library. Each entry has a name, bytes, and an offset (-1: the end). Returns the
        container."""
        script = (
            "import ctypes, sys\n"
            f"lib = ctypes.CDLL({str(BIN.parent / 'lib' / 'libsheaf.so')!r})\n"
            "lib.sheaf_set_open.restype = lib.sheaf_stream_open.restype = ctypes.c_void_p\n"
            "lib.sheaf_stream_write.restype = ctypes.c_longlong\n"
            f"s = ctypes.c_void_p(lib.sheaf_set_open({str(self.set).encode()!r}))\n"
            f"for name, data, at in {writes!r}:\n"
            "    f = ctypes.c_void_p(lib.sheaf_stream_open(s, name, b'a' if at < 0 else b'r+'))\n"
            "    n = lib.sheaf_stream_write(f, data, ctypes.c_ulonglong(len(data)), ctypes.c_longlong(at))\n"
            "    sys.exit(1) if n != len(data) or lib.sheaf_stream_close(f) else None\n"
            "lib.sheaf_set_close(s)\n")
        subprocess.run([sys.executable, "-"], input=script, text=True, check=True, env=dict(os.environ, SHEAF_FLAGS=flags))
        return next(self.dir.glob("set.sion.container.*"))

    def test_tools_read_what_the_independent_writer_has_made(self) -> None:
        self.write()
        self.assertEqual(self.sheaf("verify", self.set).returncode, 0)
        for name, content in STREAMS.items():
            self.assertEqual(self.sheaf("cat", "--name", name.decode(), self.set).stdout, content)
        self.assertEqual(self.sheaf("defrag", self.set, self.set).returncode, 0)
        self.assertEqual(self.sheaf("verify", self.set).returncode, 0)
        self.assertEqual(self.sheaf("cat", "--name", "large", self.set).stdout, STREAMS[b"large"])

    def test_tools_tell_what_has_changed(self) -> None:
        for name, at, offset in [("small", 3, 0), ("block", 60000, 0), ("large", 70000, 65536), ("large", 150000, 131072)]:
            with self.subTest(f"{name}, {at}"):
                self.write()
                content = STREAMS[name.encode()]
                self.flip(content, at)
                found = self.sheaf("verify", self.set)
                self.assertEqual(found.returncode, 1)
                self.assertIn(f"bytes from offset {offset} on of '{name}' do not match their checksum", found.stdout.decode())
                read = self.sheaf("cat", "--name", name, self.set)
                self.assertEqual(read.returncode, 1)
                self.assertIn(f"{self.container}': the", read.stderr.decode())
                self.assertEqual(self.sheaf("cat", "--name", name, "-o", self.dir / "out", self.set).returncode, 1)
                ignoring = self.sheaf("cat", "--ignore-checksums", "--name", name, self.set)
                self.assertEqual(ignoring.returncode, 0)
                self.assertEqual(sum(a != b for a, b in zip(ignoring.stdout, content, strict=True)), 1)
                before = self.container.read_bytes()
                self.assertNotEqual(self.sheaf("defrag", self.set, self.set).returncode, 0)
                self.assertEqual(self.container.read_bytes(), before)
                self.assertFalse(self.set.exists())
                for other in STREAMS:
                    if other.decode() != name:
                        self.assertEqual(self.sheaf("cat", "--name", other.decode(), self.set).stdout, STREAMS[other])

    def test_a_multifile_elsewhere_keeps_the_mismatch(self) -> None:
        self.write()
        self.flip(STREAMS[b"large"], 70000)
        copy = self.dir / "copy.sion"
        self.assertEqual(self.sheaf("defrag", self.set, copy).returncode, 1)
        self.assertEqual(self.sheaf("verify", copy).returncode, 1)
        self.assertEqual(self.sheaf("cat", "--name", "block", copy).stdout, STREAMS[b"block"])
        self.assertNotEqual(self.sheaf("cat", "--name", "large", copy).returncode, 0)
        self.assertEqual(self.sheaf("defrag", "--force", "--ignore-checksums", self.set, copy).returncode, 0)
        self.assertEqual(self.sheaf("verify", copy).returncode, 0)
        self.assertEqual(self.sheaf("split", "--names", self.set, f"{self.dir}/a/").returncode, 1)
        self.assertEqual(self.sheaf("split", "--names", "--ignore-checksums", self.set, f"{self.dir}/b/").returncode, 0)

    def test_the_independent_reader_checks_what_the_library_writes(self) -> None:
        parts = [(b"a", bytes([k]) * 7000, -1) for k in range(1, 30)]
        self.container = self.write_by_library([*parts, (b"b", b"other", -1), (b"a", b"over" * 20000, 3000)])
        right = bytearray(b"".join(part for _, part, _ in parts))
        right[3000:83000] = b"over" * 20000
        self.assertEqual(self.container.read_bytes()[8], 2)
        found = containers.read_streams([str(self.container)])
        self.assertEqual({name: bytes(stream.data) for name, stream in found.items()}, {b"a": right, b"b": b"other"})
        for content, at in [(b"over" * 20000, 70000), (bytes([29]) * 7000, 6999), (b"other", 0)]:
            whole = self.container.read_bytes()
            self.flip(content, at)
            with self.assertRaisesRegex(FormatError, "do not match their checksum"):
                containers.read_streams([str(self.container)])
            self.assertEqual(len(containers.read_streams([str(self.container)], checked=False)), 2)
            self.container.write_bytes(whole)

    def test_a_container_keeps_its_version(self) -> None:
        first = self.write_by_library([(b"a", b"first" * 20000, -1)], "checksums=off")
        self.assertEqual(first.read_bytes()[8], 1)
        self.assertEqual(self.write_by_library([(b"a", b"second" * 20000, -1)]), first)
        self.assertEqual(first.read_bytes()[8], 1)
        self.assertEqual(self.sheaf("verify", self.set).returncode, 0)
        self.assertEqual(containers.read_streams([str(first)])[b"a"].data, b"first" * 20000 + b"second" * 20000)

    def test_a_later_version_is_refused(self) -> None:
        self.write(3)
        self.assertIn("version 3", self.sheaf("ls", self.container).stderr.decode() + self.sheaf("verify", self.set).stdout.decode())
        with self.assertRaisesRegex(FormatError, "version 3"):
            containers.read_streams([str(self.container)])


if __name__ == "__main__":
    unittest.main()
