"""Checks that this version reads the multifiles of every earlier version (tests/conformance/frozen), in every way
and with every tool.

$SHEAF_BIN is the directory of the built programs. The parallel readers need Open MPI.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "python"), str(Path(__file__).resolve().parent)]

import freeze
from content import content
from frozen_reader import FROZEN, FrozenFile, frozen_files, independent_streams
from library import Library
from sheaf_format import FormatError, Multifile
from sheaf_format.extensions import read_extension
from writer_case import Case

BIN = Path(os.environ.get("SHEAF_BIN") or REPO / "build" / "bin")
READABLE = ("complete", "unclosed")


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tool(*arguments: object, root: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    environment = os.environ | {"SHEAF_LEASE_TIMES": "5,500"} | ({"SHEAF_SFIO_ROOT": str(root)} if root else {})
    return subprocess.run([str(BIN / "sheaf"), *map(str, arguments)], capture_output=True, check=False, env=environment)


def says_at_least(found: Any, frozen: Any) -> bool:
    """Returns whether a JSON value equals the frozen one. Objects may have additional members."""
    if isinstance(frozen, dict):
        return isinstance(found, dict) and all(key in found and says_at_least(found[key], frozen[key]) for key in frozen)
    if isinstance(frozen, list):
        return isinstance(found, list) and len(found) == len(frozen) and all(map(says_at_least, found, frozen))
    return found == frozen


class Frozen(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = Path(directory.name)
        self.library = Library(BIN.parent / "lib" / "libsheaf.so")

    def copies(self, *states: str) -> Iterator[tuple[FrozenFile, Path]]:
        """Copies every frozen multifile with one of the given states to a folder. Yields the multifile and the
        path of its main file."""
        there = list(frozen_files(*states))
        self.assertGreater(len(there), 2)
        for frozen in there:
            folder = self.dir / frozen.label.replace("/", "-")
            shutil.copytree(frozen.folder, folder)
            yield frozen, folder / frozen.manifest["main"]
            shutil.rmtree(folder)

    def run_tool(self, *arguments: object, exit_code: int = 0, root: Path | None = None) -> bytes:
        done = tool(*arguments, root=root)
        self.assertEqual(done.returncode, exit_code, f"sheaf {arguments}: {done.stdout!r} {done.stderr!r}")
        return done.stdout

    def assert_streams(self, found: list[bytes], frozen: FrozenFile) -> None:
        expected = [(task["length"], task["sha256"]) for task in frozen.manifest["tasks"]]
        self.assertEqual([(len(stream), digest(stream)) for stream in found], expected)

    def assert_complete(self, path: Path, frozen: FrozenFile) -> None:
        """Checks that the library and the independent reader find all data in the output of a tool."""
        self.run_tool("verify", path)
        self.assert_streams(self.library.streams(path), frozen)
        self.assert_streams(independent_streams(path, "complete"), frozen)

    def assert_encoded(self, path: Path, encoded: bool) -> None:
        """Checks the magic of all physical files of a set. If `encoded`, it must be the magic that other
        implementations refuse."""
        magics = {file.read_bytes()[:4] for file in path.parent.glob(f"{path.name}*") if not file.name.endswith(".journal")}
        self.assertEqual(magics, {b"\x89SHF" if encoded else b"sion"})

    def assert_untouched(self, path: Path, frozen: FrozenFile) -> None:
        found = {file.name: digest(file.read_bytes()) for file in path.parent.iterdir()}
        for file in frozen.manifest["files"]:
            self.assertEqual(found.get(file["name"]), file["sha256"], file["name"])

    def test_nobody_has_changed_them(self) -> None:
        for path in sorted(FROZEN.glob("*/*/manifest.json")):
            manifest = json.loads(path.read_text())
            with self.subTest(manifest["name"]):
                found = {str(file.relative_to(path.parent)): digest(file.read_bytes())
                         for file in path.parent.rglob("*") if file.is_file() and file != path}
                self.assertEqual(found, {file["name"]: file["sha256"] for file in manifest["files"]})

    def test_they_are_never_made_again(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(freeze.main(["1", "plain"]), 1)
        self.assertIn("never made again", said.getvalue())

    def test_the_independent_reader(self) -> None:
        for frozen, path in self.copies(*READABLE):
            with self.subTest(frozen.label):
                self.assert_streams(independent_streams(path, frozen.manifest["state"]), frozen)
                if frozen.manifest["keyval"] and frozen.manifest["state"] == "complete":
                    with Multifile(str(path)) as multifile:
                        found = [[{"key": record.key, "length": record.length, "sha256": digest(b"".join(record.value()))}
                                  for record in multifile.records(task.rank)] for task in multifile.tasks]
                    self.assertEqual(found, [task["records"] for task in frozen.manifest["tasks"]])

    def test_the_serial_calls(self) -> None:
        for frozen, path in self.copies(*READABLE):
            with self.subTest(frozen.label):
                self.assert_streams(self.library.streams(path), frozen)
                self.assert_streams([self.library.stream(path, task) for task in range(len(frozen.manifest["tasks"]))], frozen)
                if frozen.manifest["keyval"]:
                    found = [[{"key": key, "length": len(value), "sha256": digest(value)} for key, value in records]
                             for records in self.library.records(path)]
                    self.assertEqual(found, [task["records"] for task in frozen.manifest["tasks"]])
                self.assert_untouched(path, frozen)

    def test_info_and_dump_say_the_same_as_ever(self) -> None:
        for frozen, path in self.copies(*READABLE):
            with self.subTest(frozen.label):
                for what, words in (("info", ["info", "--json"]), ("dump", ["dump", "--json", "-K"])):
                    found = json.loads(self.run_tool(*words, path))
                    self.assertTrue(says_at_least(found, frozen.manifest[what]), f"{what}: {found}\n{frozen.manifest[what]}")
                self.run_tool("info", path)
                self.run_tool("dump", "-a", "-l", "-m", "-M", path)
                self.assert_untouched(path, frozen)

    def test_verify(self) -> None:
        for frozen, path in self.copies(*READABLE):
            with self.subTest(frozen.label):
                complete = frozen.manifest["state"] == "complete"
                report = json.loads(self.run_tool("verify", "--json", path, exit_code=0 if complete else 1))
                states = {file["state"] for multifile in report["multifiles"] for file in multifile["files"]}
                self.assertEqual("unclosed" in states, not complete, report)
                self.assertLessEqual(states, {"complete", "unclosed"}, report)
                self.assert_untouched(path, frozen)

    def test_cat_and_split(self) -> None:
        for frozen, path in self.copies(*READABLE):
            with self.subTest(frozen.label):
                tasks = len(frozen.manifest["tasks"])
                self.assert_streams([self.run_tool("cat", "-t", task, path) for task in range(tasks)], frozen)
                if frozen.manifest["keyval"]:
                    continue
                self.run_tool("split", path, self.dir / "part.")
                parts = sorted(self.dir.glob("part.*"))
                self.assert_streams([part.read_bytes() for part in parts], frozen)
                for part in parts:
                    part.unlink()

    def test_defrag(self) -> None:
        for frozen, path in self.copies(*READABLE):
            with self.subTest(frozen.label):
                compressed = "compression" in frozen.manifest["info"]
                ways = [["--decompress"], ["--compress", "lz4", "--shuffle", "4"]]
                if frozen.manifest["state"] == "complete" or not compressed:
                    ways += [[], ["-q", "1"]]  # otherwise refused, because a stream may end in a partial frame
                for number, words in enumerate(ways):
                    made = path.parent / f"made{number}"
                    self.run_tool("defrag", *words, path, made)
                    self.assert_complete(made, frozen)
                    self.assert_encoded(made, "--compress" in words or (compressed and "--decompress" not in words))
                self.assert_untouched(path, frozen)

    def test_repair(self) -> None:
        for frozen, path in self.copies(*READABLE, "refused"):
            with self.subTest(frozen.label):
                if not frozen.manifest["repairable"]:
                    continue
                copy = path.parent / "copy"
                self.run_tool("repair", "--dry-run", path)
                self.run_tool("repair", "--copy", copy, path)
                self.assert_complete(copy, frozen)
                self.assert_encoded(copy, "compression" in json.loads(self.run_tool("info", "--json", copy)))
                self.assert_untouched(path, frozen)
                encoded = path.read_bytes()[:4] != b"sion"
                self.run_tool("repair", path)
                self.assert_complete(path, frozen)
                self.assert_encoded(path, encoded)
                self.assertEqual(list(path.parent.glob("*.journal")), [])

    def test_append(self) -> None:
        for frozen, path in self.copies("complete"):
            with self.subTest(frozen.label):
                if not frozen.manifest["tasks"] or ".sheaf-tmp" in path.name:
                    continue
                task = next((t for t, chunk in enumerate(frozen.manifest["dump"]["tasks"]) if chunk["chunksize"] > 0), None)
                if task is None or frozen.manifest["keyval"]:
                    continue
                encoded = path.read_bytes()[:4] != b"sion"
                before, more = self.library.streams(path), content(77, 0, 500)
                if frozen.manifest["dump"]["metadata_byte_order"] != sys.byteorder:
                    with self.assertRaisesRegex(OSError, "byte order of another machine"):
                        self.library.append(path, task, more)
                    self.assert_untouched(path, frozen)
                    continue
                with contextlib.closing(Multifile(path)) as multifile:
                    has_header = read_extension(multifile.files[0]) is not None
                if not has_header:
                    with self.assertRaisesRegex(OSError, "no extension header.*journal=off"):
                        self.library.append(path, task, more)
                    self.assert_untouched(path, frozen)
                    self.library.append(path, task, more, ",journal=off")
                else:
                    self.library.append(path, task, more)
                self.run_tool("verify", path)
                after = before[:task] + [before[task] + more] + before[task + 1:]
                self.assertEqual(self.library.streams(path), after)
                self.assertEqual(independent_streams(path, "complete"), after)
                self.assert_encoded(path, encoded)

    def test_unclosed_ones_are_not_written_on(self) -> None:
        for frozen, path in self.copies("unclosed"):
            with self.subTest(frozen.label):
                with self.assertRaisesRegex(OSError, "closed"):
                    self.library.append(path, 0, b"more")
                self.assert_untouched(path, frozen)

    def test_copies_of_buddies(self) -> None:
        for frozen, path in self.copies("complete"):
            with self.subTest(frozen.label):
                for copy in path.parent.glob(f"{path.name}_BUDDY_??"):
                    with Multifile(str(copy)) as multifile:
                        self.assert_streams([b"".join(multifile.plain_blocks(task.rank)) for task in multifile.tasks], frozen)
                    self.assert_streams(self.library.streams(copy), frozen)
                    self.run_tool("verify", copy)

    def test_what_cannot_be_read_is_refused(self) -> None:
        for frozen, path in self.copies("refused"):
            with self.subTest(frozen.label):
                for words in (["info"], ["dump"], ["cat"], ["defrag", path, path.parent / "made"], ["verify"]):
                    done = tool(*(words if len(words) > 1 else [*words, path]))
                    self.assertEqual(done.returncode, 1, words)
                    self.assertTrue(done.stderr + done.stdout, words)
                with self.assertRaises(OSError):
                    self.library.streams(path)
                with self.assertRaises((FormatError, FileNotFoundError)):
                    independent_streams(path, "unclosed")
                self.assertFalse((path.parent / "made").exists())
                self.assert_untouched(path, frozen)

    def test_a_journal_that_lies_alone_hinders_nobody(self) -> None:
        for frozen, path in self.copies("refused"):
            if frozen.manifest["name"] != "journal_alone":
                continue
            with self.subTest(frozen.label):
                case = Case([64], [("write", 0, 40), ("flush", 0), ("write", 0, 70)], name=path.name)
                subprocess.run([str(BIN / "sion_conformance_writer")], input=case.script(), text=True, cwd=path.parent,
                               capture_output=True, check=True)
                self.run_tool("verify", path)
                self.assertEqual(self.library.streams(path), [content(0, 0, 110)])

    def test_leftovers(self) -> None:
        for frozen, path in self.copies(*READABLE):
            with self.subTest(frozen.label):
                if ".sheaf-tmp" not in path.name:
                    continue
                if frozen.manifest["state"] == "unclosed":
                    self.run_tool("repair", path)
                self.run_tool("leftovers", "--finish", path.parent)
                self.assert_complete(path.parent / path.name.split(".sheaf-tmp")[0], frozen)

    def test_striped_files(self) -> None:
        for path in sorted(FROZEN.glob("*/*/manifest.json")):
            manifest = json.loads(path.read_text())
            if manifest["name"] != "striped":
                continue
            with self.subTest(path.parent.parent.name):
                name, root = manifest["main"], path.parent
                self.run_tool("stripe", "check", name, root=root)
                self.assert_streams([self.run_tool("cat", "-t", task, f"sfio:{name}", root=root)
                                     for task in range(len(manifest["tasks"]))], FrozenFile(path.parent, manifest))
                back = self.dir / "back"
                self.run_tool("stripe", "export", name, back, root=root)
                self.assert_complete(back, FrozenFile(path.parent, manifest))
                back.unlink()


@unittest.skipUnless((BIN / "sion_conformance_reader_mpi_openmpi").exists(), "Open MPI is not there")
class FrozenInParallel(Frozen):
    """Reads all frozen multifiles by one run of the parallel reader program."""

    def test_parallel_readers(self) -> None:
        lines, outputs = [], []

        def read(frozen: FrozenFile, way: str, path: Path, words: str = "") -> None:
            tasks = len(frozen.manifest["tasks"])
            out = self.dir / f"{frozen.label.replace('/', '-')}.{way}"
            lines.append(f"{way} {tasks} br{words} {path} {out}\n")
            outputs.append((frozen, way, [self.dir / f"{out.name}.{task}" for task in range(tasks)]))

        for frozen in frozen_files(*READABLE):
            if not frozen.manifest["tasks"]:
                continue
            path = (frozen.folder / frozen.manifest["main"]).relative_to(FROZEN)
            read(frozen, "single", path)
            read(frozen, "collective", path, ",collective,collsize=2")
            read(frozen, "mapped", path)
            copies = list(frozen.folder.glob(f"{path.name}_BUDDY_??"))
            if copies and frozen.manifest["state"] == "complete":
                folder = self.dir / frozen.label.replace("/", "-")
                shutil.copytree(frozen.folder, folder)
                (folder / f"{path.name}.000001").unlink()
                read(frozen, "buddy", folder / path.name, f",buddy={len(copies)}")
        script = self.dir / "list.txt"
        script.write_text("".join(lines))
        done = subprocess.run([str(REPO / "scripts/mpirun.sh"), "openmpi", "6", str(BIN / "sion_conformance_reader_mpi_openmpi"),
                               str(script)], cwd=FROZEN, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        for frozen, way, parts in outputs:
            with self.subTest(frozen.label, way=way):
                self.assert_streams([part.read_bytes() for part in parts], frozen)


for name in [name for name in vars(Frozen) if name.startswith("test_")]:
    setattr(FrozenInParallel, name, None)  # only its own test, none of the base class

if __name__ == "__main__":
    unittest.main()
