"""Tests named streams. The tools read containers of an independent writer, and an independent reader reads
containers of the library."""

from __future__ import annotations

import ctypes
import json
import unittest

from tool_case import BIN, ToolCase

from sheaf_format import containers, extensions
from sheaf_format.physical import PhysicalFile


class NamedStreams(ToolCase):
    streams = {b"b/c": b"two" * 5000, b"a": b"", b"step/17": bytes(range(256)) * 300}

    def setUp(self) -> None:
        super().setUp()
        self.set = self.dir / "set.sion"
        containers.write_container(f"{self.set}.container.other", self.streams, b"0123456789abcdef")

    def listed(self, *arguments: object) -> list[str]:
        return self.succeed("sheaf", "ls", *arguments).decode().split("\n")[:-1]

    def test_containers_of_another_writer(self) -> None:
        self.assertEqual(self.listed(self.set), ["a", "b/c", "step/17"])
        self.assertEqual(self.listed(self.set, "b/"), ["b/c"])
        self.assertEqual(self.listed(f"{self.set}.container.other"), ["a", "b/c", "step/17"])
        for name, content in self.streams.items():
            self.assertEqual(self.succeed("sheaf", "cat", "--name", name.decode(), self.set), content)
        self.assertEqual(json.loads(self.succeed("sheaf", "info", "--json", self.set))["streams"], 3)
        self.succeed("sheaf", "verify", self.set)
        self.assertIn("no stream", self.fail_on("set.sion", "sheaf", "cat", "--name", "d", self.set))
        self.assertIn("sheaf ls", self.fail_on("set.sion", "sheaf", "dump", self.set))

    def test_files_come_back_under_their_names(self) -> None:
        self.succeed("sheaf", "split", "--names", self.set, f"{self.dir}/out/")
        for name, content in self.streams.items():
            self.assertEqual((self.dir / "out" / name.decode()).read_bytes(), content)

    def test_names_that_lead_elsewhere_are_refused(self) -> None:
        containers.write_container(f"{self.dir}/bad.container.x", {b"../x": b"1"}, b"fedcba9876543210")
        self.fail_on("../x", "sheaf", "split", "--names", self.dir / "bad", f"{self.dir}/out/")
        self.assertFalse((self.dir / "x").exists())

    def test_a_multifile_of_containers(self) -> None:
        self.succeed("sheaf", "defrag", self.set, self.set)
        self.assertEqual([path.name for path in self.dir.iterdir()], ["set.sion"])
        self.succeed("sheaf", "verify", self.set)
        with PhysicalFile(str(self.set)) as file:
            self.assertTrue(extensions.verify(file))
            self.assertEqual([name for name, _, _ in containers.task_names(file)], sorted(self.streams))
        self.assertEqual(self.succeed("sheaf", "cat", "--task", 1, self.set), self.streams[b"b/c"])
        self.succeed("sheaf", "defrag", "--compress", "zstd", self.set, self.dir / "small.sion")
        self.assertEqual(self.listed(self.dir / "small.sion"), ["a", "b/c", "step/17"])
        self.assertEqual(self.succeed("sheaf", "cat", "--name", "step/17", self.dir / "small.sion"), self.streams[b"step/17"])

    def test_containers_need_no_repair(self) -> None:
        before = {path.name: path.read_bytes() for path in self.dir.iterdir()}
        said = self.succeed("sheaf", "repair", self.set).decode()
        self.assertIn("complete, nothing to do; 3 streams", said)
        self.assertIn("sheaf defrag", said)
        self.assertTrue(json.loads(self.succeed("sheaf", "repair", "--json", self.set))["was_complete"])
        self.assertEqual(before, {path.name: path.read_bytes() for path in self.dir.iterdir()})
        self.assertIn("sheaf defrag", self.fail_on("set.sion", "sheaf", "repair", "--copy", self.dir / "x", self.set))
        self.set.with_name("set.sion.container.torn").write_bytes(b"torn" * 5000)
        self.assertIn("is not a container", self.fail_on("set.sion.container.torn", "sheaf", "repair", self.set))
        self.assertIn("is not a container", self.fail_on("set.sion.container.torn", "sheaf", "verify", self.set))

    def test_an_independent_reader_of_what_the_library_writes(self) -> None:
        sheaf = ctypes.CDLL(str(BIN.parent / "lib" / "libsheaf.so"))
        sheaf.sheaf_set_open.restype = sheaf.sheaf_stream_open.restype = ctypes.c_void_p
        own = sheaf.sheaf_set_open(str(self.dir / "own").encode())
        for name, content in [(b"x", b"first"), (b"gone", b"1"), (b"y", bytes(range(200)) * 500)]:
            stream = ctypes.c_void_p(sheaf.sheaf_stream_open(ctypes.c_void_p(own), name, b"w"))
            for at in range(0, len(content), 3000):
                part = content[at:at + 3000]
                written = sheaf.sheaf_stream_write(stream, part, ctypes.c_ulonglong(len(part)), ctypes.c_longlong(-1))
                self.assertEqual(written, len(part))
            if name == b"y":
                sheaf.sheaf_stream_truncate(stream, ctypes.c_longlong(70000))
                sheaf.sheaf_stream_write(stream, b"end", ctypes.c_ulonglong(3), ctypes.c_longlong(80000))
            self.assertEqual(sheaf.sheaf_stream_close(stream), 0)
        self.assertEqual(sheaf.sheaf_stream_remove(ctypes.c_void_p(own), b"gone"), 0)
        self.assertEqual(sheaf.sheaf_stream_rename(ctypes.c_void_p(own), b"x", b"z"), 0)
        sheaf.sheaf_set_close(ctypes.c_void_p(own))
        found = containers.read_streams([str(path) for path in self.dir.glob("own.container.*")])
        y = (bytes(range(200)) * 500)[:70000] + bytes(10000) + b"end"
        self.assertEqual({name: bytes(stream.data) for name, stream in found.items()}, {b"z": b"first", b"y": y})


if __name__ == "__main__":
    unittest.main()
