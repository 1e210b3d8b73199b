"""Compares golden multifiles with the results of the independent Python reader and writer of docs/format.md.

The golden multifiles are in $SHEAF_VECTORS, by default ../shared/vectors beside the repository. Without them all
tests are skipped.
"""

from __future__ import annotations

import json
import os
import sys
import unittest
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "python"), str(Path(__file__).resolve().parent)]

from content import content, record_value
from sheaf_format import (ChunkFiller, FormatError, Kind, Multifile, MultifileSpec, TaskSpec, cut, describe, encode,
                          fill)
from sheaf_format.keyval import encode as encode_records
from sheaf_format.layout import collective_chunks, physical_name
from writer_case import Case

VECTORS = Path(os.environ.get("SHEAF_VECTORS") or REPO.parent / "shared" / "vectors")
FROM_ELSEWHERE = ("name", "origin", "producer", "content", "buddy_copy", "files")


def examine(path: str) -> dict[str, Any]:
    """Returns the whole content of a multifile, records included."""
    with Multifile(path) as multifile:
        return describe(multifile)


def load_manifests() -> dict[str, dict[str, Any]]:
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(VECTORS.glob("*/manifest.json"))}


@unittest.skipUnless(VECTORS.is_dir(), f"no golden files in {VECTORS}")
class GoldenFiles(unittest.TestCase):
    def setUp(self) -> None:
        self.manifests = load_manifests()
        self.assertGreater(len(self.manifests), 20)

    def main(self, name: str) -> str:
        return str(VECTORS / name / self.manifests[name]["main"])

    def test_descriptions_equal_the_manifests(self) -> None:
        for name, manifest in self.manifests.items():
            with self.subTest(name):
                found = examine(self.main(name))
                expected = {key: value for key, value in manifest.items() if key not in FROM_ELSEWHERE}
                files = [file for file in manifest["files"] if "_BUDDY_" not in file["name"]]
                self.assertEqual(found.pop("files"), files)
                self.assertEqual(found, expected)

    def test_buddy_copy_equals_its_manifest(self) -> None:
        manifest = self.manifests["buddy"]
        copy = manifest["buddy_copy"]
        path = str(VECTORS / "buddy" / copy["main"])
        found = examine(path)
        self.assertEqual(found["files"], [file for file in manifest["files"] if "_BUDDY_" in file["name"]])
        streams = [task["sha256"] for task in found["tasks"]]
        self.assertEqual(streams, [task["sha256"] for task in manifest["tasks"]])
        with Multifile(path) as multifile:
            for physical, description, expected in zip(multifile.files, found["physical"], copy["physical"], strict=True):
                for key in ("file", "filenumber", "ntasks", "mapping_size", "mapping"):
                    self.assertEqual(description[key], expected[key])
                self.assertEqual(list(physical.globalranks), expected["globalranks"])
                self.assertEqual(list(physical.stored_chunks), expected["chunksizes"])
                self.assertEqual(list(physical.block_counts), expected["blockcount"])
                self.assertEqual(description["raw_blocksizes"], expected["blocksizes"])
                self.assertEqual(physical.starts, expected["start"])

    def test_streams_follow_the_content_formula(self) -> None:
        for name, manifest in self.manifests.items():
            if manifest["content"] != "f(rank,k)":
                continue
            with self.subTest(name), Multifile(self.main(name)) as multifile:
                for task in manifest["tasks"]:
                    stream = b"".join(multifile.stream(task["rank"]))
                    self.assertEqual(stream, content(task["rank"], 0, task["length"]))

    def test_records_follow_the_content_formula(self) -> None:
        for name in ("keyval", "keyval2", "be_keyval"):
            with self.subTest(name), Multifile(self.main(name)) as multifile:
                for task in multifile.tasks:
                    for index, record in enumerate(multifile.records(task.rank)):
                        self.assertEqual(b"".join(record.value()), record_value(record.key, index, record.length))

    def test_overrun_files_give_every_other_task_its_data(self) -> None:
        for name, sizes in (("overrun_middle", (300, 512, 300)), ("overrun_last", (300, 300, 512))):
            with self.subTest(name), Multifile(str(VECTORS / name / f"{name}.sion")) as multifile:
                for rank, size in enumerate(sizes):
                    self.assertEqual(b"".join(multifile.stream(rank)), bytes([65 + rank]) * size)

    def test_damaged_files_are_refused(self) -> None:
        names = [name for name in json.loads((VECTORS / "damaged/notes.json").read_text()) if name.endswith(".sion")]
        self.assertGreater(len(names), 15)
        for name in names:
            with self.subTest(name), self.assertRaises(FormatError) as caught:
                examine(str(VECTORS / "damaged" / name))
            if name == "future_version.sion":
                self.assertIn("version 99", caught.exception.finding)
            if name.startswith("neverclosed"):
                self.assertIn("never closed", caught.exception.finding)

    def test_golden_files_are_reproduced_byte_for_byte(self) -> None:
        for name, manifest in self.manifests.items():
            with self.subTest(name):
                self.compare(name, encode(golden_spec(name, manifest)), manifest["main"])

    def test_buddy_copies_are_reproduced_byte_for_byte(self) -> None:
        manifest = self.manifests["buddy"]
        tasks: list[TaskSpec] = []
        for file, group in enumerate([(0, 1), (2, 3)]):
            storing = [(0, 1), (2, 3)][(file - 1) % 2]
            tasks += [TaskSpec(0, -(rank + 1), file=file, listed=False) for rank in storing]
            chunks = collective_chunks([100, 100], 64, collsize=2)
            for rank, chunk in zip(group, chunks):
                tasks.append(TaskSpec(chunk, rank, [content(rank, 0, 70 + rank)], file))
        files = encode(MultifileSpec("buddy.sion", tasks, 64, aligned=True))
        self.compare("buddy", files, manifest["buddy_copy"]["main"])

    def test_cases_for_the_writer_programs_equal_golden_files(self) -> None:
        sizes = [(150,) * 6, tuple(10 * rank for rank in range(6)), (120,) * 6]
        calls = [("collwrite", *size) for size in sizes]
        mode = "bw,collective,collsize=3"
        of_all = {"parallel": True, "byte_order": "little"}  # golden files are of little-endian hosts
        cases = {
            "coll": Case([200] * 6, calls, 256, mode, name="coll.sion", **of_all),
            "cmerge": Case([200] * 6, calls, 256, mode + ",cmerge", name="cmerge.sion", **of_all),
            "buddy": Case([100] * 4, [("collwrite", 70, 71, 72, 73)], 64, "bw,buddy",
                          groups=[0, 0, 1, 1], name="buddy.sion", **of_all),
        }
        for directory, case in cases.items():
            for name, data in case.expected().items():
                with self.subTest(name):
                    golden = (VECTORS / directory / name).read_bytes()
                    self.assertTrue(data == golden, first_difference(data, golden))

    def compare(self, directory: str, files: dict[str, bytes], main: str) -> None:
        for number, data in enumerate(files.values()):
            golden = (VECTORS / directory / physical_name(main, number)).read_bytes()
            self.assertTrue(data == golden, first_difference(data, golden))


REQUESTS = {  # requested chunk sizes, if they are known and differ from the stored ones
    "one": [1000],
    "uneven": [1, 511, 512, 513, 0, 5000],
    "mapped": [100 * (rank + 1) for rank in range(7)],
}
COLLECTIVE = {  # vector -> chunks of its tasks, computed by the rules of collective layouts
    "coll": lambda: collective_chunks([200] * 6, 256, collsize=3),
    "cmerge": lambda: collective_chunks([200] * 6, 256, collsize=3, merge=True),
    "buddy": lambda: collective_chunks([100, 100], 64, collsize=2) * 2,
}


def golden_spec(name: str, manifest: dict[str, Any]) -> MultifileSpec:
    """Returns the request of the program that wrote a golden file. Takes only block sizes and positions from the
    manifest."""
    tasks = manifest["tasks"]
    chunks = COLLECTIVE[name]() if name in COLLECTIVE else REQUESTS.get(name, [task["chunksize"] for task in tasks])
    first = manifest["physical"][0]
    if first["filenumber"] == 1 and manifest["format_version"] > 2:
        kind = Kind.SERIAL
    else:
        kind = Kind.MAPPED if name == "mapped" else Kind.PARALLEL
    main, sub, patch = (int(part) for part in manifest["sionlib_version"].split("."))
    byte_order = manifest["metadata_byte_order"]
    merged = merged_streams(chunks) if name == "cmerge" else None
    specs = []
    for task, chunk in zip(tasks, chunks, strict=True):
        if merged:
            blocks = merged[task["rank"]]
        elif "records" in task:
            records = [(record["key"], record_value(record["key"], index, record["length"]))
                       for index, record in enumerate(task["records"])]
            blocks = fill(encode_records(records, byte_order), chunk)
        else:
            blocks = cut(content(task["rank"], 0, task["length"]), task["blocksizes"])
        specs.append(TaskSpec(chunk, task["globalrank"], blocks, task["file"], task["lrank"]))
    return MultifileSpec(
        manifest["prefix"], specs, manifest["fsblksize"], kind, byte_order, manifest["userdata_byte_order"],
        manifest["flag1"] >> 32, name in COLLECTIVE, manifest["format_version"], 1000 * main + sub, patch)


def merged_streams(chunks: list[int]) -> list[list[bytes]]:
    """Returns the blocks after three merged collective calls of 150, 10*rank and 120 bytes in two groups of
    three."""
    fillers = [ChunkFiller(chunk) for chunk in chunks]
    written = [0] * 6
    for call in range(3):
        for rank in range(6):
            size = (150, 10 * rank, 120)[call]
            fillers[rank - rank % 3].write(content(rank, written[rank], size))
            written[rank] += size
    return [filler.blocks() for filler in fillers]


def first_difference(found: bytes, expected: bytes) -> str:
    if found == expected:
        return "equal"
    offset = next((i for i, (a, b) in enumerate(zip(found, expected)) if a != b), min(len(found), len(expected)))
    return f"lengths {len(found)}, {len(expected)}; first difference at byte {offset}"


if __name__ == "__main__":
    unittest.main()
