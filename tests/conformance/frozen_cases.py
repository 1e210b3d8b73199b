"""Defines the frozen multifiles: the descriptions for the writer programs, and the resulting streams, computed
without the library. `freeze.py` makes the files."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from content import content, record_value
from sheaf_format.keyval import encode as encode_records
from writer_case import Case, Operation

PLAIN = "journal=off,checksums=off"
DIE: Operation = ("die",)
Tool = Callable[..., None]


@dataclass
class Frozen:
    """One frozen multifile.

    The writer runs `cases` one after another; all except the first one append. `flags` has mode words for all
    cases. `writer` is "serial", "mpi" or "mapped".

    freeze.py calls `then` with the folder and a function that runs `sheaf`. `then` turns the files that the
    cases wrote into the files to be frozen. `main` is the file that readers open. `state` is "complete",
    "unclosed", or "refused" if no reader may accept the file. `repairable` means that a repair must give
    exactly the same streams.
    """

    name: str
    about: str
    cases: Sequence[Case]
    flags: str = ""
    writer: str = "serial"
    then: Callable[[Path, Tool], None] | None = None
    main: str = ""
    state: str = "complete"
    repairable: bool = True

    def __post_init__(self) -> None:
        self.main = self.main or self.cases[0].name

    def expected(self, byte_order: str = "little") -> Expected:
        """Returns the data that readers must find: all written data, or the flushed data if the program has died.

        Sets the existing content of the appending cases. `byte_order` is the byte order of the writing host, in
        which the heads of records are stored."""
        found = Expected(self.cases[0].ntasks, byte_order)
        for number, case in enumerate(self.cases):
            if number > 0:
                case.written, case.records = list(found.written), list(found.counts)
            found.run(case)
        return found


class Expected:
    """The streams and records of all tasks, which grow with every operation."""

    def __init__(self, ntasks: int, byte_order: str) -> None:
        self.byte_order = byte_order
        self.streams = [b""] * ntasks
        self.records: list[list[tuple[int, bytes]]] = [[] for _ in range(ntasks)]
        self.written, self.counts = [0] * ntasks, [0] * ntasks
        self._flushed = [(b"", 0)] * ntasks

    def run(self, case: Case) -> None:
        collectors = case.collectors()
        for word, *numbers in case.operations:
            if word == "collwrite":
                for rank, size in enumerate(numbers):
                    self._write(rank, int(size), collectors[rank])
            elif word == "write":
                self._write(int(numbers[0]), int(numbers[1]), int(numbers[0]))
            elif word == "record":
                rank, key, size = (int(number) for number in numbers)
                record = (key, record_value(key, self.counts[rank], size))
                self.records[rank].append(record)
                self.streams[rank] += encode_records([record], self.byte_order)
                self.counts[rank] += 1
            elif word == "flush":
                rank = int(numbers[0])
                self._flushed[rank] = (self.streams[rank], len(self.records[rank]))
            elif word == "die":
                self.streams = [stream for stream, _ in self._flushed]
                self.records = [records[:count] for records, (_, count) in zip(self.records, self._flushed)]
        self._flushed = [(stream, len(records)) for stream, records in zip(self.streams, self.records)]

    def _write(self, rank: int, size: int, target: int) -> None:
        self.streams[target] += content(rank, self.written[rank], size)
        self.written[rank] += size


def turns(ntasks: int, sizes: Sequence[int], flush: bool = False) -> list[Operation]:
    """Returns operations that write these sizes in turn on every task except task 1, which has no data."""
    operations: list[Operation] = []
    for size in sizes:
        for rank in range(ntasks):
            if rank != 1:
                operations.append(("write", rank, size + 7 * rank))
    if flush:
        operations += [("flush", rank) for rank in range(ntasks)]
    return operations


def lost(ntasks: int) -> list[Operation]:
    """Returns operations that write data without a flush and then end the program."""
    return [*(("write", rank, 5) for rank in range(0, ntasks, 2)), DIE]


RECORDS: list[Operation] = [
    ("record", 0, 7, 10), ("record", 0, 2**64 - 16, 10), ("record", 1, 1, 48), ("record", 0, 7, 200), ("record", 0, 9, 0),
    ("record", 0, 8, 3), ("record", 1, 2, 4)]
MORE_RECORDS: list[Operation] = [("record", 1, 1, 30), ("record", 0, 7, 90), ("record", 0, 5, 1)]
FLUSH2: list[Operation] = [("flush", 0), ("flush", 1)]
SIZES = [40, 120, 61, 5, 130]
PLACES = [(2, 1), (0, 0), (1, 0), (0, 1), (2, 0), (1, 1)]
OWNERS = [0, 1, 0, 1, 0, 1]
COLLECTIVE = [("collwrite", *[150] * 6), ("collwrite", *[10 * rank for rank in range(6)]), ("collwrite", *[120] * 6)]
FLUSH6 = [("flush", rank) for rank in range(6)]


def serial(name: str, about: str, operations: Sequence[Operation], chunks: Sequence[int] = (200, 64, 100), fsblksize: int = 64,
           more: Sequence[Sequence[Operation]] = (), **others: Any) -> Frozen:
    own = {key: others.pop(key) for key in ("mode", "via", "globalranks") if key in others}
    first = Case(chunks, operations, fsblksize, name=others.pop("path", f"{name}.sion"), **own)
    return Frozen(name, about, [first, *appending(first, more)], **others)


def parallel(name: str, about: str, operations: Sequence[Operation], chunks: Sequence[int] = (200, 64, 100, 100, 300),
             fsblksize: int = 64, more: Sequence[Sequence[Operation]] = (), **others: Any) -> Frozen:
    own = {key: others.pop(key) for key in ("mode", "via", "numfiles", "groups", "places", "owners") if key in others}
    own.setdefault("mode", "bw")
    first = Case(chunks, operations, fsblksize, parallel=True, name=f"{name}.sion", **own)
    others.setdefault("writer", "mapped" if "places" in own else "mpi")
    return Frozen(name, about, [first, *appending(first, more)], **others)


def appending(first: Case, more: Sequence[Sequence[Operation]]) -> list[Case]:
    return [replace(first, mode="append", operations=operations, via="fwrite") for operations in more]


def complete_files() -> list[Frozen]:
    six = (200,) * 6
    return [
        serial("plain", "as the original writes it", turns(3, SIZES), flags=PLAIN),
        serial("checksums", "with extension header, trailer and the right to a journal", turns(3, SIZES)),
        serial("checksums_only", "without a journal", turns(3, SIZES), flags="journal=off"),
        serial("journal_only", "without checksums", turns(3, SIZES), flags="checksums=off"),
        serial("large_blocks", "more than a piece of data per checksum", [("write", 0, 70000), ("write", 1, 9)], (80000, 10), 512),
        serial("nobody_wrote", "all tasks are empty", [], (10, 0)),
        serial("no_task", "no task at all", [], ()),
        serial("globalranks", "numbers of the program's own", turns(3, SIZES), globalranks=[30, 20, 10]),
        serial("ensured", "blocks that count though they are empty",
               [("write", 0, 100), ("ensure", 0, 190), ("ensure", 0, 200), ("ensure", 1, 64)]),
        serial("fileptr", "written through the FILE*", turns(3, [30, 40, 50]), mode="wb", via="file"),
        serial("descriptor", "written through the descriptor", turns(3, [30, 40, 50]), mode="wb,posix", via="fd"),
        serial("userdata_big", "user data declared big endian", turns(3, SIZES), mode="wb,endianness=big"),
        serial("durable", "with syncs", turns(3, SIZES), mode="wb,durable"),
        serial("keyval", "records", RECORDS, (64, 64), mode="wb,keyval"),
        serial("keyval_plain", "records, as the original writes them", RECORDS, (64, 64), mode="wb,keyval=inline,keyval",
               flags=PLAIN),
        serial("appended", "written on twice", turns(3, [40, 30]), more=[turns(3, [10, 100]), [("write", 1, 70)]]),
        serial("appended_plain", "written on, no extensions", turns(3, [40, 30]), more=[turns(3, [10, 100])], flags=PLAIN),
        serial("keyval_appended", "records written on", RECORDS, (64, 64), mode="wb,keyval", more=[MORE_RECORDS]),
        parallel("parallel", "one file", turns(5, SIZES)),
        parallel("parallel_plain", "one file, as the original writes it", turns(5, SIZES), flags=PLAIN),
        parallel("one_task", "one task in parallel", [("write", 0, 300)], (100,)),
        parallel("set", "two files", turns(5, SIZES), numfiles=2),
        parallel("set_plain", "two files, as the original writes them", turns(5, SIZES), numfiles=2, flags=PLAIN),
        parallel("groups", "a file per group of tasks", turns(5, SIZES), groups=[7, 3, 7, 3, 5]),
        parallel("set_keyval", "records in two files", RECORDS, (64, 64), mode="bw,keyval", numfiles=2),
        parallel("set_appended", "two files written on", turns(5, [40, 30]), numfiles=2, more=[turns(5, [10, 100])]),
        parallel("mapped", "three files, places chosen by the program", turns(6, SIZES), six, numfiles=3, places=PLACES,
                 owners=OWNERS),
        parallel("mapped_one", "one file, written mapped", turns(3, SIZES), (200, 100, 90), places=[(0, 0), (0, 1), (0, 2)],
                 owners=[0, 1, 0]),
        parallel("collective", "groups of three", COLLECTIVE, six, 256, mode="bw,collective,collsize=3"),
        parallel("collective_set", "groups of two in two files", COLLECTIVE, six, 128, mode="bw,collective,collsize=2",
                 numfiles=2),
        parallel("collective_block", "a block size of the library's own choice", COLLECTIVE, six, -1, mode="bw,collective"),
        parallel("merged", "all data with the collectors", COLLECTIVE, six, 256, mode="bw,collective,collsize=3,cmerge"),
        parallel("buddy", "with a copy of each file", COLLECTIVE, six, mode="bw,buddy", groups=[0, 0, 1, 1, 2, 2]),
        parallel("buddy_two", "with two copies of each file", COLLECTIVE, six, mode="bw,buddy=2", groups=[0, 0, 1, 1, 2, 2],
                 flags=PLAIN),
    ]


def encoded_files() -> list[Frozen]:
    six = (200,) * 6
    zstd, lz4 = "compress=zstd:3,shuffle=4,frame=1k", "compress=lz4,shuffle=8,frame=1k"
    large = [("write", 0, 9000), ("write", 2, 300), ("write", 0, 20), ("write", 2, 40)]
    many: list[Operation] = [op for size in (9, 33, 250) for op in (("write", 0, size), ("flush", 0))]
    return [
        serial("zstd", "an index of many frames, several blocks", large, (4000, 64, 500), 128, flags=zstd),
        serial("lz4", "an index of many frames, several blocks", large, (4000, 64, 500), 128, flags=lz4),
        serial("zstd_no_checksums", "without trailer", large, (4000, 64, 500), 128, flags=f"{zstd},{PLAIN}"),
        serial("lz4_short_frames", "ended by flushes, some stored as they are", many, (200, 64), flags="compress=lz4"),
        serial("zstd_not_shuffled", "frames of the ordinary size", large, (4000, 64, 500), 128, flags="compress=zstd"),
        serial("zstd_nobody_wrote", "all tasks are empty", [], (10, 0), flags=zstd),
        serial("zstd_fileptr", "written through the FILE*", turns(3, [30, 40, 50]), mode="wb", via="file", flags=zstd),
        serial("zstd_keyval", "records", RECORDS, (64, 64), mode="wb,keyval", flags=zstd),
        serial("lz4_appended", "written on", large, (4000, 64, 500), 128, flags=lz4, more=[turns(3, [10, 100])]),
        serial("gzip", "an index of many frames, several blocks", large, (4000, 64, 500), 128,
               flags="compress=gzip:6,shuffle=4,frame=1k"),
        serial("gzip_appended", "written on", large, (4000, 64, 500), 128, flags="compress=gzip,frame=1k", more=[turns(3, [10, 100])]),
        parallel("gzip_set_keyval", "records in two files", RECORDS, (64, 64), mode="bw,keyval", numfiles=2, flags="compress=gzip"),
        parallel("lz4_parallel", "one file", turns(5, SIZES), flags=lz4),
        parallel("zstd_set", "two files", turns(5, SIZES), numfiles=2, flags=zstd),
        parallel("zstd_set_keyval", "records in two files", RECORDS, (64, 64), mode="bw,keyval", numfiles=2, flags=zstd),
        parallel("lz4_mapped", "three files, places chosen by the program", turns(6, SIZES), six, numfiles=3, places=PLACES,
                 owners=OWNERS, flags=lz4),
        parallel("zstd_collective", "groups of three", COLLECTIVE, six, 256, mode="bw,collective,collsize=3", flags=zstd),
    ]


def unclosed_files() -> list[Frozen]:
    six = (200,) * 6
    dies = {"state": "unclosed"}
    lz4 = "compress=lz4,frame=1k"
    return [
        serial("unclosed", "several tasks, several chunks", turns(3, SIZES, True) + lost(3), **dies),
        serial("unclosed_unflushed", "nobody had flushed or completed a chunk", turns(3, [9]) + [DIE], repairable=False,
               **dies),
        serial("unclosed_fileptr", "written through the FILE*", turns(3, [30, 40, 50], True) + lost(3), mode="wb", via="file",
               **dies),
        serial("unclosed_durable", "with syncs", turns(3, SIZES, True) + lost(3), mode="wb,durable", **dies),
        serial("unclosed_keyval", "records", RECORDS + FLUSH2 + MORE_RECORDS[2:] + [DIE], (64, 64), mode="wb,keyval", **dies),
        serial("unclosed_zstd", "compressed", turns(3, SIZES, True) + lost(3), flags="compress=zstd,shuffle=4,frame=1k", **dies),
        serial("unclosed_gzip", "compressed", turns(3, SIZES, True) + lost(3), flags="compress=gzip,frame=1k", **dies),
        serial("unclosed_lz4_keyval", "compressed records", RECORDS + FLUSH2 + MORE_RECORDS[2:] + [DIE], (64, 64),
               mode="wb,keyval", flags=lz4, **dies),
        serial("unclosed_appended", "while it was written on, in chunks that had room", turns(3, [40, 30]),
               more=[turns(3, [10], True) + lost(3)], **dies),
        serial("unclosed_appended_round", "while it was written on, in a further round", turns(3, [40, 30]),
               more=[turns(3, [10, 200], True) + lost(3)], **dies),
        serial("unclosed_appended_lz4", "compressed, while it was written on", turns(3, [40, 30]),
               more=[turns(3, [10, 200], True) + lost(3)], flags=lz4, **dies),
        serial("unclosed_appended_untouched", "opened to be written on, before anything was flushed", turns(3, [40, 30]),
               more=[[DIE]]),
        parallel("unclosed_parallel", "one file of several tasks", turns(5, SIZES, True) + lost(5), **dies),
        parallel("unclosed_set", "a journal for each file", turns(5, SIZES, True) + lost(5), numfiles=2, **dies),
        parallel("unclosed_set_zstd", "compressed, a journal for each file", turns(5, SIZES, True) + lost(5), numfiles=2,
                 flags="compress=zstd,frame=1k", **dies),
        parallel("unclosed_mapped", "places chosen by the program", turns(6, SIZES, True) + lost(6), six, numfiles=3,
                 places=PLACES, owners=OWNERS, **dies),
        parallel("unclosed_collective", "recorded by tasks and collectors", COLLECTIVE + FLUSH6 + [DIE], six, 256,
                 mode="bw,collective,collsize=3", **dies),
        parallel("unclosed_merged", "recorded by the collectors", COLLECTIVE + FLUSH6 + [DIE], six, 256,
                 mode="bw,collective,collsize=3,cmerge", **dies),
        parallel("unclosed_buddy", "with a copy of each file", COLLECTIVE + FLUSH6 + [DIE], six, mode="bw,buddy",
                 groups=[0, 0, 1, 1, 2, 2], **dies),
        parallel("unclosed_set_appended", "two files, while they were written on", turns(5, [40, 30]), numfiles=2,
                 more=[turns(5, [10, 200], True) + lost(5)], **dies),
    ]


def left(change: Callable[[Path], None], keep_journal: bool = True) -> Callable[[Path, Tool], None]:
    """Returns a function that repairs the unclosed multifile of a folder in place, restores its journal if it is
    to be kept, and changes the file."""

    def then(folder: Path, tool: Tool) -> None:
        main = next(folder.glob("*.sion"))
        journals = {path: path.read_bytes() for path in folder.glob("*.journal")}
        tool("repair", main)
        if keep_journal:
            for path, data in journals.items():
                path.write_bytes(data)
        change(main)

    return then


def set_pointer(maxblocks: int) -> Callable[[Path], None]:
    """Returns a function that restores the state of a file before its pointer was written."""

    def change(main: Path) -> None:
        data = bytearray(main.read_bytes())
        order = ">" if data[4] else "<"
        (ntasks,) = struct.unpack_from(f"{order}i", data, 24)
        struct.pack_into(f"{order}iq", data, 1076 + 16 * ntasks, maxblocks, 0)
        main.write_bytes(data)

    return change


def replaced_by(*arguments: str) -> Callable[[Path, Tool], None]:
    """Returns a function that replaces the only multifile of a folder by the output of a tool. In the arguments
    of the tool, "IN" stands for the path of the multifile and "OUT" for the path of the output."""

    def then(folder: Path, tool: Tool) -> None:
        source, made = next(folder.glob("*.sion")), folder / "made"
        tool(*({"IN": source, "OUT": made}.get(word, word) for word in arguments))
        for path in folder.glob("*.sion*"):
            path.unlink()
        made.rename(source)

    return then


STRIPED = "n0,/striped.sion;n1,/striped.sion;"


def striped(folder: Path, tool: Tool) -> None:
    """Turns a multifile into a striped file of two subfiles."""
    for host in ("n0", "n1"):
        (folder / host).mkdir()
    tool("stripe", "import", STRIPED, folder / "striped.sion", "--unit", 300, "--root", folder)
    (folder / "striped.sion").unlink()


def removing(pattern: str) -> Callable[[Path, Tool], None]:
    def then(folder: Path, _: Tool) -> None:
        for path in folder.glob(pattern):
            path.unlink()

    return then


TEMPORARY = "sheaf-tmp.0123456789abcdef"


def temporary(folder: Path, _: Tool) -> None:
    """Renames a set and its journals to a temporary name like those that `atomic` chooses."""
    for path in sorted(folder.iterdir()):
        name, _, rest = path.name.partition(".sion")
        rest = re.sub(r"^\.sheaf-tmp\.[0-9a-f]{16}", "", rest)
        path.rename(folder / f"{name}.sion.{TEMPORARY}{rest}")


def other_files() -> list[Frozen]:
    """Returns the multifiles that tools make, and those that a crash leaves at rare moments."""
    dies = turns(3, SIZES, True) + lost(3)
    dies5 = turns(5, SIZES, True) + lost(5)
    return [
        parallel("defragmented", "a set of two, without gaps", turns(5, SIZES), numfiles=2,
                 then=replaced_by("defrag", "-q", "1", "IN", "OUT")),
        parallel("defragmented_zstd", "a set of two, compressed by the tool", turns(5, SIZES), numfiles=2,
                 then=replaced_by("defrag", "--compress", "zstd:3", "IN", "OUT")),
        parallel("repaired", "a set of two that was not closed", dies5, numfiles=2,
                 then=lambda folder, tool: tool("repair", folder / "repaired.sion")),
        serial("repaired_copy_lz4", "the copy of a compressed file that was not closed", dies, flags="compress=lz4,frame=1k",
               then=replaced_by("repair", "--copy", "OUT", "IN")),
        serial("journal_left", "complete, and its journal is still there", dies, then=left(lambda _: None)),
        serial("before_pointer", "all but the pointer is there, and the journal", dies, then=left(set_pointer(-1)),
               state="unclosed"),
        parallel("half_closed", "file 1 of a set of two is complete, file 0 has its journal", dies5, numfiles=2,
                 then=lambda folder, tool: tool("repair", folder / "half_closed.sion.000001"), state="unclosed"),
        serial("table_only", "all but the pointer is there, and no journal", turns(3, SIZES), flags=PLAIN,
               then=lambda folder, _: set_pointer(0)(folder / "table_only.sion"), state="refused"),
        serial("journal_lost", "not closed, and its journal is not there", dies, then=removing("*.journal"), state="refused",
               repairable=False),
        serial("journal_alone", "a journal without its file", dies, then=removing("*.sion"), state="refused", repairable=False),
        parallel("leftover", "under its temporary name, complete", turns(5, SIZES), numfiles=2, then=temporary,
                 main=f"leftover.sion.{TEMPORARY}"),
        serial("unclosed_leftover", "under its temporary name", dies, mode="wb,atomic", then=temporary,
               main=f"unclosed_leftover.sion.{TEMPORARY}", state="unclosed"),
        serial("long_name", "a name that leaves no room for extensions", turns(3, SIZES), path="./" * 480 + "long_name.sion",
               main="long_name.sion"),
        serial("striped", "a multifile in a striped file", turns(3, SIZES), then=striped, main=STRIPED),
    ]


def all_files() -> list[Frozen]:
    return complete_files() + encoded_files() + unclosed_files() + other_files()
