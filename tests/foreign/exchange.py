#!/usr/bin/env python3
"""Checks that two architectures can exchange multifiles.

    exchange.py HERE THERE

HERE and THERE are directories of built programs, for this host and for another architecture. Wrappers that
start the programs under emulation are enough (scripts/foreign.sh).

The programs of one side write every kind of multifile in tests/conformance/frozen_cases.py. The programs of the
other side read it by every interface and tool, change it, and read the result. Then the sides swap roles.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "python"), str(REPO / "tests" / "conformance")]

from content import content  # noqa: E402
from frozen_cases import PLAIN, Frozen, all_files  # noqa: E402
from frozen_reader import independent_streams  # noqa: E402
from writer_case import Case  # noqa: E402

SECONDS = 120
VOLATILE = ("file", "allocated_bytes", "efficiency")


@dataclass
class Side:
    """The programs of one architecture."""

    name: str
    bin: Path

    @cached_property
    def byte_order(self) -> str:
        """Returns the byte order of the architecture."""
        frozen = next(frozen for frozen in all_files() if frozen.name == "plain")
        with tempfile.TemporaryDirectory() as directory:
            self.carry_out(frozen, frozen.cases[0], Path(directory))
            return json.loads(self.tool("info", "--json", Path(directory) / frozen.main))["metadata_byte_order"]

    def run(self, *words: object, exit_code: int = 0, text: str = "", flags: str = "", cwd: Path | None = None,
            root: Path | None = None) -> bytes:
        environment = os.environ | {"SHEAF_FLAGS": flags} | ({"SHEAF_SFIO_ROOT": str(root)} if root else {})
        done = subprocess.run([str(self.bin / str(words[0])), *map(str, words[1:])], input=text.encode(), capture_output=True,
                              check=False, timeout=SECONDS, env=environment, cwd=cwd)
        if done.returncode != exit_code:
            raise AssertionError(f"{self.name}: {words}: exit code {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    def tool(self, *words: object, exit_code: int = 0, root: Path | None = None) -> bytes:
        return self.run("sheaf", *words, exit_code=exit_code, root=root)

    def carry_out(self, frozen: Frozen, case: Case, folder: Path) -> None:
        program = {"serial": ["sion_conformance_writer"], "mpi": ["sion_conformance_processes", "write", "own"],
                   "mapped": ["sion_conformance_processes", "write", "mapped"]}[frozen.writer]
        self.run(*program, text=case.script(), flags=frozen.flags, cwd=folder)

    def write(self, frozen: Frozen, folder: Path) -> None:
        folder.mkdir()
        for case in frozen.cases:
            self.carry_out(frozen, case, folder)
        if frozen.then:
            frozen.then(folder, self.tool)

    def streams(self, path: Path, tasks: int, root: Path | None = None) -> list[bytes]:
        return [self.tool("cat", "-t", task, path, root=root) for task in range(tasks)]


class Exchange(unittest.TestCase):
    writer: Side
    reader: Side

    def setUp(self) -> None:
        if type(self) is Exchange:
            self.skipTest("its subclasses have the two directions")
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = Path(directory.name)

    def each(self, check: Callable[[Frozen, Path, list[bytes]], None], *states: str) -> None:
        """Writes each kind of multifile with one of the given states, and calls `check` for it.

        The arguments of `check` are the multifile's case, its main file and the streams of its tasks."""
        for frozen in all_files():
            if frozen.state not in states or frozen.name == "striped":
                continue
            with self.subTest(frozen.name), tempfile.TemporaryDirectory(dir=self.dir) as directory:
                expected = frozen.expected(self.writer.byte_order).streams
                folder = Path(directory) / "files"
                self.writer.write(frozen, folder)
                check(frozen, folder / frozen.main, expected)

    def assert_complete(self, side: Side, path: Path, expected: list[bytes]) -> None:
        side.tool("verify", path)
        self.assertEqual(side.streams(path, len(expected)), expected)

    def test_tools(self) -> None:
        def check(frozen: Frozen, path: Path, expected: list[bytes]) -> None:
            self.assertEqual(independent_streams(path, frozen.state), expected)
            self.reader.tool("verify", path, exit_code=0 if frozen.state == "complete" else 1)
            self.assertEqual(self.reader.streams(path, len(expected)), expected)
            for words in (["info", "--json"], ["dump", "--json", "-K"]):
                found = [json.loads(side.tool(*words, path)) for side in (self.reader, self.writer)]
                self.assertEqual(*({key: value for key, value in one.items() if key not in VOLATILE} for one in found))
            self.reader.tool("dump", "-a", "-l", "-m", "-M", path)
            if "keyval" not in frozen.cases[0].words and expected:
                self.reader.tool("split", path, self.dir / "part.")
                parts = sorted(self.dir.glob("part.*"))
                self.assertEqual([part.read_bytes() for part in parts], expected)
                for part in parts:
                    part.unlink()

        self.each(check, "complete", "unclosed")

    def test_parallel_readers(self) -> None:
        def check(frozen: Frozen, path: Path, expected: list[bytes]) -> None:
            for way, mode in (("own", "br"), ("together", "br,collective,collsize=2"), ("mapped", "br")):
                if not expected:
                    continue
                out = path.parent / way
                self.reader.run("sion_conformance_processes", "read", way, len(expected), mode, path, out)
                found = [Path(f"{out}.{task}").read_bytes() for task in range(len(expected))]
                self.assertEqual(found, expected, way)

        self.each(check, "complete", "unclosed")

    def test_what_tools_make_goes_back(self) -> None:
        def check(frozen: Frozen, path: Path, expected: list[bytes]) -> None:
            made = path.parent / "made"
            compressed = "compress=" in frozen.flags or frozen.name.endswith(("_zstd", "_lz4"))
            ways = [["--decompress"], ["--compress", "lz4", "--shuffle", "4"]]
            if frozen.state == "complete" or not compressed:
                ways.append(["-q", "1"])
            for number, words in enumerate(ways):
                self.reader.tool("defrag", *words, path, f"{made}{number}")
                self.assert_complete(self.writer, Path(f"{made}{number}"), expected)
            if frozen.repairable:
                self.reader.tool("repair", "--copy", path.parent / "copy", path)
                self.assert_complete(self.writer, path.parent / "copy", expected)
                self.reader.tool("repair", path)
                self.assert_complete(self.writer, path, expected)

        self.each(check, "complete", "unclosed")

    def test_written_on_by_the_other(self) -> None:
        def check(frozen: Frozen, path: Path, expected: list[bytes]) -> None:
            first = frozen.cases[0]
            if "keyval" in first.words or not expected or frozen.then or {"cmerge", "buddy", "buddy=2"} & set(first.words):
                return
            operations = [("write", task, 90 + task) for task in range(len(expected)) if first.chunks[task] > 0]
            case = replace(first, mode="append", operations=operations, via="fwrite",
                           written=[len(stream) for stream in expected], records=[0] * len(expected))
            if self.reader.byte_order != self.writer.byte_order:
                with self.assertRaisesRegex(AssertionError, "byte order of another machine"):
                    self.reader.carry_out(frozen, case, path.parent)
                self.assert_complete(self.writer, path, expected)
                return
            self.reader.carry_out(frozen, case, path.parent)
            grown = list(expected)
            for _, task, size in operations:
                grown[task] += content(task, len(expected[task]), size)
            self.assert_complete(self.writer, path, grown)
            self.assert_complete(self.reader, path, grown)
            self.assertEqual(independent_streams(path, "complete"), grown)

        self.each(check, "complete")

    def test_what_nobody_may_read(self) -> None:
        def check(_0: Frozen, path: Path, _2: list[bytes]) -> None:
            self.reader.tool("cat", path, exit_code=1)

        self.each(check, "refused")

    def test_striped_files(self) -> None:
        frozen = next(frozen for frozen in all_files() if frozen.name == "striped")
        folder = self.dir / "striped"
        self.writer.write(frozen, folder)
        self.assertEqual(self.reader.tool("cat", f"sfio:{frozen.main}", root=folder), b"".join(frozen.expected().streams))

    def test_same_bytes(self) -> None:
        """Two architectures of the same byte order must write the same bytes, unless the file contains a random
        identity."""
        if self.reader.byte_order != self.writer.byte_order:
            self.skipTest("the byte orders differ")

        def check(frozen: Frozen, path: Path, _2: list[bytes]) -> None:
            if frozen.flags == PLAIN and not frozen.then:
                other = path.parent.parent / "other"
                self.reader.write(frozen, other)
                for file in path.parent.iterdir():
                    self.assertEqual(file.read_bytes(), (other / file.name).read_bytes(), file.name)

        self.each(check, "complete")


class FromHere(Exchange):
    pass


class FromThere(Exchange):
    pass


if __name__ == "__main__":
    if len(sys.argv) < 3 or not all(Path(argument).is_dir() for argument in sys.argv[1:3]):
        sys.exit(__doc__)
    here, there = (Path(sys.argv.pop(1)).resolve() for _ in range(2))
    FromHere.writer = FromThere.reader = Side("here", here)
    FromHere.reader = FromThere.writer = Side("there", there)
    unittest.main()
