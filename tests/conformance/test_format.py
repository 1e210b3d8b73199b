"""Tests the independent Python reader and writer of docs/format.md against each other. test_golden_files.py tests
them against golden files."""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
import struct
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "python"), str(Path(__file__).resolve().parent)]

from content import content
from sheaf_format import (KEYVAL_INLINE, KEYVAL_NONE, ChunkFiller, FormatError, Kind, Multifile, MultifileSpec, TaskSpec,
                          describe, encode, fill, write)
from sheaf_format.__main__ import main as command_line
from sheaf_format.keyval import encode as encode_records
from sheaf_format.layout import (align_up, buddy_name, collective_chunks, collective_groups, physical_name,
                                 split_evenly)


class TemporaryDirectoryTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def path(self, name: str) -> str:
        return str(self.directory / name)


def examine(path: str) -> dict[str, Any]:
    """Returns the whole content of a multifile, records included."""
    with Multifile(path) as multifile:
        return describe(multifile)


# --- writer -> reader ---------------------------------------------------------------------------------------------


def random_spec(rng: random.Random, kind: Kind, keyval: bool) -> tuple[MultifileSpec, list[bytes]]:
    """Returns a random multifile and the streams of its tasks."""
    fsblksize = rng.choice([1, 7, 10, 64, 100, 512])
    ntasks = rng.randint(1, 9)
    nfiles = 1 if kind is Kind.SERIAL else rng.randint(1, ntasks)
    byte_order = rng.choice(["little", "big"])
    places = split_evenly(ntasks, nfiles)
    if kind is Kind.MAPPED:
        rng.shuffle(places)
    tasks, streams = [], []
    for rank in range(ntasks):
        chunk = rng.choice([0, 1, 5, 64, 100, 130, rng.randint(0, 700)])
        filler = ChunkFiller(align_up(chunk, fsblksize))
        if keyval:
            chunk = max(chunk, 1)
            records = [(rng.getrandbits(64), rng.randbytes(rng.randint(0, 300))) for _ in range(rng.randint(0, 5))]
            stream = encode_records(records, byte_order)
            blocks = fill(stream, align_up(chunk, fsblksize))
        else:
            stream = b""
            for _ in range(rng.randint(0, 6) if chunk else 0):
                data = rng.randbytes(rng.randint(0, 400))
                if rng.random() < 0.2:
                    filler.ensure(rng.randint(0, chunk))
                filler.write(data)
                stream += data
            blocks = filler.blocks() if rng.random() < 0.9 or stream else []
        file, lrank = places[rank]
        globalrank = rank if kind is not Kind.SERIAL else rng.randint(-5, 1 << 40)
        tasks.append(TaskSpec(chunk, globalrank, blocks, file, lrank))
        streams.append(stream)
    mode = KEYVAL_INLINE if keyval else KEYVAL_NONE
    return MultifileSpec("random.sion", tasks, fsblksize, kind, byte_order, rng.choice(["little", "big"]), mode), streams


class RoundTrip(TemporaryDirectoryTest):
    def check(self, seed: int, kind: Kind, keyval: bool = False) -> None:
        rng = random.Random(f"{seed} {kind} {keyval}")
        spec, streams = random_spec(rng, kind, keyval)
        path = self.path(spec.name)
        write(spec, path)
        with Multifile(path) as multifile:
            multifile.check_records()
            self.assertEqual(len(multifile.tasks), len(spec.tasks))
            self.assertEqual(len(multifile.files), spec.nfiles)
            for rank, task in enumerate(spec.tasks):
                physical = multifile.files[task.file]
                lrank = multifile.tasks[rank].lrank if spec.nfiles > 1 else task.lrank
                place = rank if spec.nfiles > 1 else task.lrank  # a single file is read in local rank order
                self.assertEqual((multifile.tasks[place].file, lrank), (task.file, task.lrank))
                self.assertEqual(b"".join(multifile.stream(place)), streams[rank])
                self.assertEqual(physical.globalranks[task.lrank], task.globalrank)
                self.assertEqual([size for _, size in multifile.blocks(place)], [len(b) for b in task.blocks or [b""]])
                if keyval:
                    joined = encode_records(
                        [(r.key, b"".join(r.value())) for r in multifile.records(place)], spec.byte_order)
                    self.assertEqual(joined, streams[rank])
        for name, data in encode(spec).items():
            self.assertEqual((self.directory / name).read_bytes(), data)
            (self.directory / name).unlink()

    def test_every_kind_gives_back_what_was_written(self) -> None:
        for kind in Kind:
            for seed in range(40):
                with self.subTest(kind=kind, seed=seed):
                    self.check(seed, kind)

    def test_key_value_records_give_back_what_was_written(self) -> None:
        for kind in Kind:
            for seed in range(20):
                with self.subTest(kind=kind, seed=seed):
                    self.check(seed, kind, keyval=True)

    def test_every_version_is_read(self) -> None:
        for version in (2, 3, 4, 5):
            tasks = [TaskSpec(70, 5, [b"a" * 70, b"b"]), TaskSpec(0, 6), TaskSpec(30, 7, [b"", b"c" * 30])]
            spec = MultifileSpec("old.sion", tasks, 64, format_version=version)
            write(spec, self.path("old.sion"))
            with Multifile(self.path("old.sion")) as multifile:
                self.assertEqual([b"".join(multifile.stream(r)) for r in range(3)], [b"a" * 70 + b"b", b"", b"c" * 30])
                self.assertEqual(list(multifile.files[0].globalranks), [5, 6, 7])

    def test_version_2_is_never_opened_as_a_set(self) -> None:
        spec = MultifileSpec("v2.sion", [TaskSpec(1, 0), TaskSpec(1, 1, file=1)], 64, format_version=2)
        write(spec, self.path("v2.sion"))
        with Multifile(self.path("v2.sion")) as multifile:
            self.assertEqual(len(multifile.tasks), 1)

    def test_member_of_a_set_is_a_view_of_its_own_tasks(self) -> None:
        tasks = [TaskSpec(9, r, [content(r, 0, 5 + r)], file) for r, (file, _) in enumerate(split_evenly(5, 2))]
        write(MultifileSpec("set.sion", tasks, 8), self.path("set.sion"))
        with Multifile(self.path("set.sion.000001")) as multifile:
            self.assertEqual([b"".join(multifile.stream(r)) for r in range(3)], [content(r, 0, 5 + r) for r in (2, 3, 4)])

    def test_a_set_may_be_renamed_as_a_whole(self) -> None:
        tasks = [TaskSpec(9, rank, [b"x"], rank) for rank in range(2)]
        write(MultifileSpec("old-name", tasks, 8), self.path("new-name"))
        self.assertEqual(examine(self.path("new-name"))["prefix"], "old-name")

    def test_bytes_behind_prefix_and_metadata_are_ignored(self) -> None:
        for kind in Kind:
            spec = MultifileSpec("ext.sion", [TaskSpec(9, r, [content(r, 0, 3)], 0) for r in range(3)], 8, kind)
            (name, data), = encode(spec).items()
            changed = bytearray(data + b"\x01" * 72)
            changed[1076 - 48:1076] = b"\xff" * 48
            (self.directory / name).write_bytes(changed)
            plain, extended = self.describe_bytes(data), examine(self.path(name))
            self.assertEqual(plain["tasks"], extended["tasks"])
            self.assertEqual(plain["prefix"], extended["prefix"])

    def describe_bytes(self, data: bytes) -> dict[str, Any]:
        (self.directory / "bytes.sion").write_bytes(data)
        return examine(self.path("bytes.sion"))


class Layout(unittest.TestCase):
    def test_worked_example_of_the_format_document(self) -> None:
        tasks = [TaskSpec(100, 0, [b"a" * 128, b"b" * 100, b"c"]), TaskSpec(100, 1),
                 TaskSpec(100, 2, [b"d" * 128, b""])]
        (data,) = encode(MultifileSpec("a.sion", tasks, 128)).values()
        document = (REPO / "docs/format.md").read_text()
        for line in re.findall(r"^    ([0-9a-f]{8})  ((?:[0-9a-f]{4} )+)", document, re.MULTILINE):
            offset, shown = int(line[0], 16), bytes.fromhex(line[1])
            self.assertEqual(data[offset:offset + len(shown)], shown, line[0])
        self.assertEqual(data[0x900:], struct.pack("<12q", 3, 1, 2, 128, 0, 128, 100, 0, 0, 1, 0, 0))
        self.assertEqual([data[0x600], data[0x663], data[0x664], data[0x780]], [*b"bb", 0, *b"c"])

    def test_names_of_physical_files(self) -> None:
        self.assertEqual(physical_name("d.sion", 0), "d.sion")
        self.assertEqual(physical_name("d.sion", 1), "d.sion.000001")
        self.assertEqual(physical_name("d.sion", 1234567), "d.sion.1234567")
        self.assertEqual(buddy_name("d.sion", 0), "d.sion_BUDDY_00")

    def test_last_file_takes_the_remainder(self) -> None:
        self.assertEqual(split_evenly(5, 2), [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)])
        self.assertEqual(split_evenly(5, 3), [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)])
        with self.assertRaises(ValueError):
            split_evenly(2, 3)

    def test_collective_groups_end_on_block_borders(self) -> None:
        rng = random.Random(10)
        for _ in range(200):
            requests = [rng.randint(0, 900) for _ in range(rng.randint(1, 600))]
            requests[0] += 1
            fsblksize, collsize = rng.choice([1, 64, 512]), rng.choice([0, 1, 3, 16])
            groups = collective_groups(requests, fsblksize, collsize)
            self.assertEqual([lrank for group in groups for lrank in group], list(range(len(requests))))
            plain = collective_chunks(requests, fsblksize, collsize)
            merged = collective_chunks(requests, fsblksize, collsize, merge=True)
            for group in groups:
                asked = sum(requests[lrank] for lrank in group)
                self.assertEqual(sum(plain[lrank] for lrank in group), align_up(asked, fsblksize))
                self.assertEqual(merged[group[0]], align_up(asked, fsblksize))

    def test_requests_larger_than_a_chunk_fill_chunks_without_gaps(self) -> None:
        filler = ChunkFiller(10)
        for size in (4, 7, 25, 3, 0, 10):
            filler.write(b"x" * size)
        self.assertEqual([len(block) for block in filler.blocks()], [4, 10, 10, 10, 5, 10])


# --- damage -------------------------------------------------------------------------------------------------------


class Damage(TemporaryDirectoryTest):
    def sample(self, name: str = "sample.sion", keyval: bool = False) -> MultifileSpec:
        tasks = []
        for rank, (file, _) in enumerate(split_evenly(5, 2)):
            stream = encode_records([(rank, content(rank, 0, 20 * rank)), (7, b"")], "little")
            tasks.append(TaskSpec(48, rank, fill(stream, 48), file))
        return MultifileSpec(name, tasks, 16, keyval_mode=KEYVAL_INLINE if keyval else KEYVAL_NONE)

    def test_every_truncation_is_found(self) -> None:
        files = encode(self.sample())
        for name, whole in files.items():
            for victim, data in files.items():
                (self.directory / victim).write_bytes(data)
            for size in range(0, len(whole), 3):
                (self.directory / name).write_bytes(whole[:size])
                with self.subTest(name=name, size=size), self.assertRaises(FormatError):
                    examine(self.path("sample.sion"))

    def test_any_changed_metadata_is_an_error_or_a_sound_file(self) -> None:
        rng = random.Random(11)
        files = encode(self.sample(keyval=True))
        interesting = [b"\0", b"\xff", b"\x7f\xff\xff\xff", b"\0\0\0\x80", b"\xff" * 8, b"\0" * 8, b"\1"]
        refused = 0
        for _ in range(1500):
            for name, data in files.items():
                changed = bytearray(data)
                for _ in range(rng.randint(1, 2)):
                    end = len(data)
                    offset = rng.choice([rng.randrange(52), rng.randrange(1076, 1170), rng.randrange(end - 160, end)])
                    value = rng.choice([*interesting, rng.randbytes(1)])
                    changed[offset:offset + len(value)] = value
                (self.directory / name).write_bytes(changed[:end])
            try:
                examine(self.path("sample.sion"))
            except FormatError as error:
                refused += 1
                self.assertTrue(error.finding)
                self.assertTrue(error.path.startswith(str(self.directory)))
        self.assertGreater(refused, 1000)

    def test_unclosed_files_are_named_as_such(self) -> None:
        (data,) = encode(MultifileSpec("u.sion", [TaskSpec(10, 0, [b"abc"])], 64)).values()
        for unclosed in (data[:1092], data[:1092] + bytes(12) + data[1104:]):
            (self.directory / "u.sion").write_bytes(unclosed)
            with self.assertRaisesRegex(FormatError, "never closed"):
                examine(self.path("u.sion"))

    def test_a_foreign_member_is_refused(self) -> None:
        write(self.sample(), self.path("sample.sion"))
        alone = MultifileSpec("alone", [TaskSpec(10, 0)], 64)
        write(alone, self.path("sample.sion.000001"))
        with self.assertRaisesRegex(FormatError, "expected 1 of 2"):
            examine(self.path("sample.sion"))

    def test_a_block_may_overrun_its_chunk_but_not_the_data(self) -> None:
        tasks = [TaskSpec(64, 0, [b"a" * 80]), TaskSpec(64, 1)]
        (data,) = encode(MultifileSpec("o.sion", tasks, 64, Kind.SERIAL)).values()
        path = self.directory / "o.sion"
        path.write_bytes(data)
        self.assertEqual(examine(str(path))["tasks"][0]["length"], 80)
        size_offset = data.rindex((80).to_bytes(8, "little"))
        path.write_bytes(data[:size_offset] + (len(data) + 1 - 1152).to_bytes(8, "little") + data[size_offset + 8:])
        with self.assertRaisesRegex(FormatError, "leaves the data area"):
            examine(str(path))

    def test_of_an_overrun_count_the_bytes_in_front_of_what_lies_there(self) -> None:
        for name, sizes, own, more in (("middle", (300, 800, 300), (300, 512, 300), 0), ("free", (300, 800, 0), (300, 800, 0), 0),
                                       ("last", (300, 300, 800), (300, 300, 512), 300), ("two", (1300, 800, 0), (512, 512, 0), 0),
                                       ("long", (1300, 0, 300), (1024, 0, 300), 0)):
            with self.subTest(name):
                tasks = [TaskSpec(512, rank, [bytes([65 + rank]) * 512]) for rank in range(3)]
                (data,) = encode(MultifileSpec("o.sion", tasks, 512, Kind.SERIAL)).values()
                at = 3072 + 24
                path = self.directory / name
                path.write_bytes(data[:at] + b"".join(size.to_bytes(8, "little") for size in sizes) + data[at + 24:] + bytes(more))
                found = examine(str(path))
                self.assertEqual([task["length"] for task in found["tasks"]], list(own))
                self.assertEqual(found["physical"][0]["raw_blocksizes"], [list(sizes)])


class CommandLine(TemporaryDirectoryTest):
    def run_command(self, *arguments: str) -> tuple[int, bytes, str]:
        out, err = io.TextIOWrapper(io.BytesIO(), write_through=True), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = command_line(list(arguments))
        return status, out.buffer.getvalue(), err.getvalue()

    def test_check_describe_and_stream(self) -> None:
        path = self.path("c.sion")
        write(MultifileSpec("c.sion", [TaskSpec(10, 0, [b"first", b"second"]), TaskSpec(10, 1)], 1), path)
        self.assertEqual(self.run_command("check", path), (0, f"{path}: ok\n".encode(), ""))
        self.assertEqual(self.run_command("stream", path, "0"), (0, b"firstsecond", ""))
        self.assertEqual(self.run_command("stream", path, "2")[0], 1)
        self.assertEqual(json.loads(self.run_command("describe", path)[1])["tasks"][0]["blocksizes"], [5, 6])

    def test_findings_give_exit_status_1(self) -> None:
        (self.directory / "bad.sion").write_bytes(b"none" * 20)
        for command in (["check"], ["describe"]):
            self.assertEqual(self.run_command(*command, self.path("bad.sion"))[0], 1)
            self.assertEqual(self.run_command(*command, self.path("absent.sion"))[0], 1)
        self.assertIn(b"magic", self.run_command("check", self.path("bad.sion"))[1])


if __name__ == "__main__":
    unittest.main()
