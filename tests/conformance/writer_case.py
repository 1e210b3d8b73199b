"""Defines cases for the conformance writers: the description that a program gets, and the bytes that it must
write."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from content import content, record_value
from sheaf_format import KEYVAL_INLINE, KEYVAL_NONE, ChunkFiller, Kind, MultifileSpec, TaskSpec, encode
from sheaf_format.keyval import encode as encode_records
from sheaf_format.layout import align_up, buddy_name, collective_chunks, collective_groups, split_evenly

Operation = tuple[str | int, ...]


@dataclass
class Case:
    """One multifile to be written. The fields are the statements of sion_conformance_script.h, with sizes in
    bytes.

    Without `parallel` the program opens the multifile by sion_open, otherwise by sion_paropen_mpi. `groups` (a color
    per task) makes one file per group. With `places` (file and local rank per task) the program opens the multifile
    by sion_paropen_mapped_mpi. `owners` then has, for each task, the rank of the process that writes its stream.
    """

    chunks: Sequence[int]
    operations: Sequence[Operation] = ()
    fsblksize: int = 64
    mode: str = "wb"
    via: str = "fwrite"
    parallel: bool = False
    numfiles: int = 1
    globalranks: Sequence[int] | None = None
    groups: Sequence[int] | None = None
    places: Sequence[tuple[int, int]] | None = None
    owners: Sequence[int] | None = None
    written: Sequence[int] | None = None
    records: Sequence[int] | None = None
    name: str = "case.sion"
    byte_order: str = sys.byteorder  # byte order of the writing host
    words: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.words = self.mode.split(",")

    @property
    def ntasks(self) -> int:
        return len(self.chunks)

    def script(self) -> str:
        """Returns the description for the writer programs."""
        lines: list[Operation] = [
            ("name", self.name), ("mode", self.mode), ("tasks", self.ntasks), ("fsblksize", self.fsblksize),
            ("numfiles", -1 if self.groups else self.numfiles), ("chunks", *self.chunks), ("via", self.via),
        ]
        if self.globalranks is not None:
            lines.append(("globalranks", *self.globalranks))
        if self.groups is not None:
            lines.append(("groups", *self.groups))
        if self.places is not None and self.owners is not None:
            lines.append(("files", *(file for file, _ in self.places)))
            lines.append(("lranks", *(lrank for _, lrank in self.places)))
            lines.append(("owners", *self.owners))
        if self.written is not None and self.records is not None:
            lines.append(("written", *self.written))
            lines.append(("records", *self.records))
        return "".join(" ".join(map(str, line)) + "\n" for line in [*lines, *self.operations])

    def _places(self) -> list[tuple[int, int]]:
        """Returns file and local rank of each task."""
        if self.places is not None:
            return list(self.places)
        if self.groups is None:
            return split_evenly(self.ntasks, self.numfiles)
        seen: dict[int, int] = {}  # files are ordered by the lowest rank of each group
        members: dict[int, int] = {}
        places = []
        for color in self.groups:
            file = seen.setdefault(color, len(seen))
            places.append((file, members.get(file, 0)))
            members[file] = members.get(file, 0) + 1
        return places

    def _collsize(self) -> int:
        """Returns the number of tasks per collector from the mode word `collsize`, or 0 without that word. Without
        `collsize`, the mode word `buddy` makes one group per file; without both, the library chooses the groups."""
        sizes = [int(word.removeprefix("collsize=")) for word in self.words if word.startswith("collsize=")]
        return sizes[0] if sizes else 0

    @property
    def in_order(self) -> bool:
        """Returns whether the extension header must have the flag `in order`: the tasks of the set are numbered by file
        and local rank, not by their global ranks."""
        return self.numfiles > 1 and self.globalranks is not None and list(self.globalranks) != list(range(self.ntasks))

    @property
    def _collective(self) -> bool:
        return "collective" in self.words or "buddy" in self.words

    def _layout(self, places: list[tuple[int, int]], fsblksize: int) -> tuple[list[int], list[int]]:
        """Returns two lists: the final chunk size of each task, and the rank of its collector in merge mode."""
        final = [align_up(chunk, fsblksize) for chunk in self.chunks]
        collectors = list(range(self.ntasks))
        if not self._collective:
            return final, collectors
        merge = "cmerge" in self.words
        for number in range(1 + max(file for file, _ in places)):
            ranks = [rank for rank, (file, _) in enumerate(places) if file == number]
            requests = [self.chunks[rank] for rank in ranks]
            collsize = self._collsize() or (len(ranks) if "buddy" in self.words else 0)
            for rank, chunk in zip(ranks, collective_chunks(requests, fsblksize, collsize, merge)):
                final[rank] = chunk
            for group in collective_groups(requests, fsblksize, collsize):
                for lrank in group:
                    collectors[ranks[lrank]] = ranks[group[0]] if merge else ranks[lrank]
        return final, collectors

    def collectors(self) -> list[int]:
        """Returns, for each task, the rank of the task in whose stream the data of its collective writes are stored."""
        return self._layout(self._places(), self.fsblksize)[1] if "cmerge" in self.words else list(range(self.ntasks))

    def expected(self, fsblksize: int | None = None) -> dict[str, bytes]:
        """Returns name and bytes of every expected file. `fsblksize` replaces an automatic block size."""
        fsblksize = fsblksize or self.fsblksize
        places = self._places()
        final, collectors = self._layout(places, fsblksize)
        blocks = self._run(final, collectors)
        ranks = self.globalranks if self.globalranks is not None else range(self.ntasks)
        tasks = [TaskSpec(final[rank], ranks[rank], blocks[rank], *places[rank]) for rank in range(self.ntasks)]
        files = encode(self._spec(tasks, fsblksize))
        if "buddy" in self.words:
            copy = encode(self._spec(self._buddy_tasks(tasks), fsblksize))
            files |= {name.replace(self.name, buddy_name(self.name, 0), 1): data for name, data in copy.items()}
        return files

    def _spec(self, tasks: list[TaskSpec], fsblksize: int) -> MultifileSpec:
        return MultifileSpec(
            self.name, tasks, fsblksize,
            Kind.MAPPED if self.places is not None else Kind.PARALLEL if self.parallel else Kind.SERIAL,
            byte_order=self.byte_order, userdata_order=self._userdata_order(),
            keyval_mode=KEYVAL_INLINE if "keyval" in self.words else KEYVAL_NONE, aligned=True)

    def _userdata_order(self) -> str:
        """Returns the byte order of the mode, or that of the host by default."""
        orders = [word.removeprefix("endianness=") for word in self.words if word.startswith("endianness=")]
        return orders[0] if orders else self.byte_order

    @staticmethod
    def _buddy_tasks(tasks: list[TaskSpec]) -> list[TaskSpec]:
        """Returns the tasks of copy 0. A file of the copy is written by the tasks of another group. It first has one
        dummy task for each of these tasks, then the tasks with the copied data (docs/format.md, section 12)."""
        nfiles = 1 + max(task.file for task in tasks)
        copy = []
        for number in range(nfiles):
            storing = (number - 1) % nfiles
            copy += [TaskSpec(0, -(task.globalrank + 1), file=number, listed=False)
                     for task in tasks if task.file == storing]
            copy += [TaskSpec(task.chunk, task.globalrank, task.blocks, number) for task in tasks if task.file == number]
        return copy

    def _run(self, final: list[int], collectors: list[int]) -> list[list[bytes]]:
        """Returns the blocks of every task after all operations."""
        fillers = [ChunkFiller(chunk) for chunk in final]
        written, records = [0] * self.ntasks, [0] * self.ntasks

        def append(rank: int, size: int, target: int) -> None:
            fillers[target].write(content(rank, written[rank], size))
            written[rank] += size

        for word, *numbers in self.operations:
            if word == "collwrite":
                for rank, size in enumerate(numbers):
                    append(rank, int(size), collectors[rank])
                continue
            rank, size = int(numbers[0]), int(numbers[-1])
            if word == "write":
                append(rank, size, rank)
            elif word == "ensure":
                fillers[rank].ensure(size)
            elif word == "record":
                key = int(numbers[1])
                fillers[rank].fill(encode_records([(key, record_value(key, records[rank], size))], self.byte_order))
                records[rank] += 1
        return [filler.blocks() for filler in fillers]


def random_mapped_case(rng: random.Random, ntasks: int, processes: int) -> Case:
    """Returns a random case with random positions and owners of the tasks."""
    case = random_case(rng, parallel=True, ntasks=ntasks)
    order = list(range(ntasks))
    rng.shuffle(order)
    places, filled = [(0, 0)] * ntasks, [0] * case.numfiles
    for i, task in enumerate(order):
        file = i if i < case.numfiles else rng.randrange(case.numfiles)
        places[task] = (file, filled[file])
        filled[file] += 1
    case.places, case.owners = places, [rng.randrange(processes) for _ in range(ntasks)]
    return case


def random_case(rng: random.Random, parallel: bool, ntasks: int) -> Case:
    """Returns a random sequence of writes and ensures, or of key-value records."""
    fsblksize = rng.choice([1, 10, 64, 100, 512])
    chunks = [rng.choice([0, 1, 64, 130, rng.randint(1, 700)]) for _ in range(ntasks)]
    keyval = rng.random() < 0.25
    io = rng.choice(["", ",posix", ",ansi"])
    via = "fwrite" if keyval else rng.choice(["fwrite", "fwrite", "fd" if io == ",posix" else "file"])
    operations: list[Operation] = []
    for _ in range(rng.randint(0, 12)):
        rank = rng.randrange(ntasks)
        chunk = align_up(chunks[rank], fsblksize)
        if chunk == 0:
            operations.append(("refuse", rank, rng.randint(1, 100)))
        elif keyval:
            operations.append(("record", rank, rng.choice([1, 7, rng.getrandbits(64)]), rng.randint(0, 3 * chunk)))
        elif rng.random() < 0.2:
            operations.append(("ensure", rank, rng.randint(1, chunk)))
        else:
            most = chunk if via != "fwrite" else rng.choice([chunk, 4 * chunk])
            operations.append(("write", rank, rng.randint(1, most)))
    mode = ("bw" if parallel else "wb") + io + (",keyval" if keyval else "") + rng.choice(["", ",endianness=big"])
    return Case(chunks, operations, fsblksize, mode, via, parallel, rng.randint(1, ntasks))
