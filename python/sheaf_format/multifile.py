"""A whole multifile: its physical files and the logical streams of its tasks (docs/format.md, sections 7 and 9)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from .errors import FormatError
from .frames import is_compressed, plain_blocks
from .generation import Generation, open_generation
from .keyval import Record, scan
from .layout import physical_name
from .physical import PhysicalFile


@dataclass(frozen=True)
class Task:
    """Location of one logical task: its rank, and the physical file and local rank of its stream."""

    rank: int
    file: int
    lrank: int


class Multifile:
    """A multifile opened for reading through one of its physical files.

    Opening file 0 of a set opens the set; any other file is opened alone. Owns its open files: use `with`.
    One thread at a time. Raises FormatError for any violated rule, OSError if a file cannot be read.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        open_generation(path, self._open)

    def _open(self, generation: Generation) -> None:
        with ExitStack() as stack:
            first = stack.enter_context(generation.open(0, PhysicalFile))
            generation.require_own(self.path, first.read_bytes(0, 1076) if first.size >= 1076 else b"")
            self.files = [first]
            if first.mapping is not None:
                for number in range(1, first.header.nfiles):
                    self.files.append(stack.enter_context(self._member(generation, number)))
                if not generation.is_current():  # files without identity may belong to two generations
                    raise FormatError(self.path, "was replaced while it was opened")
                self._check_mapping(first.mapping)
                places = first.mapping
            else:
                places = [(0, lrank) for lrank in range(first.header.ntasks)]
            self.tasks = [Task(rank, file, lrank) for rank, (file, lrank) in enumerate(places)]
            self._stack = stack.pop_all()

    def __enter__(self) -> Multifile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._stack.close()

    def _member(self, generation: Generation, number: int) -> PhysicalFile:
        path, nfiles = physical_name(self.path, number), self.files[0].header.nfiles
        try:
            member = generation.open(number, PhysicalFile)
        except FileNotFoundError:
            raise FormatError(path, f"physical file {number} of a set of {nfiles} is missing") from None
        try:
            generation.require_own(path, member.read_bytes(0, 1076))
        except FormatError:
            member.close()
            raise
        if (member.header.nfiles, member.header.filenumber) != (nfiles, number):
            member.close()
            raise FormatError(path, f"is file {member.header.filenumber} of {member.header.nfiles}, "
                                    f"expected {number} of {nfiles}")
        return member

    def _check_mapping(self, mapping: list[tuple[int, int]]) -> None:
        for rank, (file, lrank) in enumerate(mapping):
            if not 0 <= file < len(self.files):
                raise FormatError(self.path, f"the mapping sends task {rank} to physical file {file}")
            if not 0 <= lrank < self.files[file].header.ntasks:
                raise FormatError(self.path, f"the mapping sends task {rank} to local task {lrank} of file {file}")

    def blocks(self, rank: int) -> list[tuple[int, int]]:
        """Returns (offset in the physical file, bytes) of every counted block of a task."""
        task = self.tasks[rank]
        return self.files[task.file].blocks(task.lrank)

    def length(self, rank: int) -> int:
        """Returns the bytes in the stream of a task, as stored."""
        return sum(size for _, size in self.blocks(rank))

    def plain_blocks(self, rank: int) -> list[bytes]:
        """Returns the blocks of a task as its program wrote them; for a compressed file, decompressed and
        verified."""
        file = self.files[self.tasks[rank].file]
        if not is_compressed(file):
            return [b"".join(file.read_range(offset, size)) for offset, size in self.blocks(rank)]
        return plain_blocks(b"".join(self.stream(rank)), f"task {rank} of {file.path}")

    def stream(self, rank: int) -> Iterator[bytes]:
        """Yields the stream of a task as stored, in pieces of at most 1 MiB."""
        file = self.files[self.tasks[rank].file]
        for offset, size in self.blocks(rank):
            yield from file.read_range(offset, size)

    def records(self, rank: int) -> Iterator[Record]:
        """Yields the key-value records of a task in writing order. The file must be a key-value file."""
        task = self.tasks[rank]
        file = self.files[task.file]
        return scan(file, task.lrank, b"".join(self.plain_blocks(rank)) if is_compressed(file) else None)

    def check_records(self) -> None:
        """Scans all records of key-value files; does nothing for other files."""
        for task in self.tasks:
            if self.files[task.file].header.is_keyval:
                for _ in self.records(task.rank):
                    pass

    def check_frames(self) -> None:
        """Decompresses all tasks of compressed files; does nothing for other files."""
        for task in self.tasks:
            if is_compressed(self.files[task.file]):
                self.plain_blocks(task.rank)
