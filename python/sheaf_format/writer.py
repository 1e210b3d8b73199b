"""Writer of multifiles, byte for byte as the open calls produce them (docs/format.md, sections 5 to 8, 10 and
13).

A multifile is described by values (`MultifileSpec`, `TaskSpec`); contents are blocks in memory. `write`
stores the files on disk, `encode` returns their bytes. Chunk fillers convert lists of write requests to
blocks.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import BinaryIO

from . import header as meta1
from .layout import align_up, chunk_starts, physical_name


class Kind(Enum):
    """The open call to imitate: determines file number, mapping field and sizes of unused rounds."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    MAPPED = "mapped"


@dataclass
class TaskSpec:
    """One task. `chunk` is the requested chunk size in bytes, `blocks[k]` the used bytes of chunk k (none:
    one empty block). `listed` is False for the dummy tasks of buddy copies, which the mapping omits."""

    chunk: int
    globalrank: int
    blocks: Sequence[bytes] = ()
    file: int = 0
    lrank: int | None = None
    listed: bool = True


@dataclass
class MultifileSpec:
    """A multifile to be written. `tasks` are in rank order; a task without `lrank` follows the preceding task
    in its file.

    `aligned`: chunk sizes are final (collective layouts) instead of requests to be rounded up. `keyval_mode`
    only sets the flag; use `keyval.encode` and `fill` for the contents.
    """

    name: str
    tasks: Sequence[TaskSpec]
    fsblksize: int
    kind: Kind = Kind.PARALLEL
    byte_order: str = "little"
    userdata_order: str | None = None
    keyval_mode: int = meta1.KEYVAL_NONE
    aligned: bool = False
    format_version: int = 5
    library_version: int = 1007
    patch_level: int = 6
    nfiles: int = field(init=False)

    def __post_init__(self) -> None:
        self.nfiles = 1 + max(task.file for task in self.tasks)
        if self.fsblksize <= 0 or not 2 <= self.format_version <= 5:
            raise ValueError("fsblksize must be > 0 and the format version 2 to 5")
        if len(self.name.encode()) >= meta1.PREFIX_BYTES:
            raise ValueError("names are limited to 1023 bytes")


@dataclass
class _Placed:
    """The tasks of one physical file in local rank order, and (file, local rank) of all tasks if the file
    has to list them."""

    number: int
    tasks: list[TaskSpec]
    mapping: list[tuple[int, int]] | None


def _place(spec: MultifileSpec) -> list[_Placed]:
    files, mapping = _members(spec)
    for number, members in enumerate(files):
        if sorted(members) != list(range(len(members))) or not members:
            raise ValueError(f"physical file {number} has gaps in its local ranks")
    first: list[tuple[int, int]] | None = mapping if spec.nfiles > 1 or spec.kind is Kind.MAPPED else None
    if spec.kind is Kind.SERIAL and spec.nfiles == 1:
        first = []
    return [_Placed(number, [members[lrank] for lrank in range(len(members))], None if number else first)
            for number, members in enumerate(files)]


def _members(spec: MultifileSpec) -> tuple[list[dict[int, TaskSpec]], list[tuple[int, int]]]:
    """Returns the tasks of each physical file by local rank, and (file, local rank) of each listed task."""
    files: list[dict[int, TaskSpec]] = [{} for _ in range(spec.nfiles)]
    mapping: list[tuple[int, int]] = []
    for task in spec.tasks:
        lrank = len(files[task.file]) if task.lrank is None else task.lrank
        if lrank in files[task.file]:
            raise ValueError(f"two tasks have local rank {lrank} in physical file {task.file}")
        files[task.file][lrank] = task
        if task.listed:
            mapping.append((task.file, lrank))
    return files, mapping


def _write_physical(spec: MultifileSpec, placed: _Placed, out: BinaryIO) -> None:
    tasks, n = placed.tasks, len(placed.tasks)
    order = meta1.prefix_of(spec.byte_order)
    aligned = [task.chunk if spec.aligned else align_up(task.chunk, spec.fsblksize) for task in tasks]
    stored = aligned if spec.format_version >= 4 else [task.chunk for task in tasks]
    starts, globalskip = chunk_starts(aligned, spec.fsblksize)
    maxblocks = max(1, *(len(task.blocks) for task in tasks))
    start_of_meta2 = starts[0] + maxblocks * globalskip
    out.write(meta1.pack(_header(spec, placed)))
    out.write(struct.pack(f"{order}{2 * n}q", *(task.globalrank for task in tasks), *stored))
    out.write(struct.pack(order + "iq", maxblocks, start_of_meta2))
    for k in range(maxblocks):
        for start, task in zip(starts, tasks):
            if k < len(task.blocks) and task.blocks[k]:
                _write_block(out, start + k * globalskip, task.blocks[k], start_of_meta2)
    out.seek(start_of_meta2)
    _write_meta2(spec, placed, out)


def _header(spec: MultifileSpec, placed: _Placed) -> meta1.Header:
    return meta1.Header(
        spec.byte_order, spec.userdata_order or spec.byte_order, spec.library_version, spec.patch_level,
        spec.format_version, spec.fsblksize, len(placed.tasks), spec.nfiles,
        placed.number if spec.kind is not Kind.SERIAL or spec.nfiles > 1 else 1,
        (spec.keyval_mode if spec.format_version == 5 else 0) << 32, 0, spec.name.encode())


def _write_meta2(spec: MultifileSpec, placed: _Placed, out: BinaryIO) -> None:
    """Writes META2 and the mapping at the current position."""
    order = meta1.prefix_of(spec.byte_order)
    counts = [max(1, len(task.blocks)) for task in placed.tasks]
    out.write(struct.pack(f"{order}{len(counts)}q", *counts))
    unused = -1 if spec.kind is Kind.MAPPED else 0
    for k in range(max(counts)):
        sizes = [_block_size(task, k, unused) for task in placed.tasks]
        out.write(struct.pack(f"{order}{len(counts)}q", *sizes))
    if placed.mapping is not None:
        flat = [number for pair in placed.mapping for number in pair]
        out.write(struct.pack(f"{order}{1 + len(flat)}i", len(placed.mapping), *flat))


def _write_block(out: BinaryIO, offset: int, block: bytes, end: int) -> None:
    if offset + len(block) > end:
        raise ValueError("a block leaves the data area")
    out.seek(offset)
    out.write(block)


def _block_size(task: TaskSpec, k: int, unused: int) -> int:
    if k < len(task.blocks):
        return len(task.blocks[k])
    return 0 if k == 0 else unused


def encode(spec: MultifileSpec) -> dict[str, bytes]:
    """Returns name and bytes of every physical file. Raises ValueError if the description is impossible."""
    result: dict[str, bytes] = {}
    for placed in _place(spec):
        buffer = io.BytesIO()
        _write_physical(spec, placed, buffer)
        result[physical_name(spec.name, placed.number)] = buffer.getvalue()
    return result


def write(spec: MultifileSpec, path: str | None = None) -> list[str]:
    """Writes the set under `path` (default: the name it stores) and returns the paths of its physical
    files. Replaces existing files; unused parts become holes. A failure leaves incomplete files."""
    paths: list[str] = []
    for placed in _place(spec):
        paths.append(physical_name(path or spec.name, placed.number))
        with open(paths[-1], "wb") as out:
            _write_physical(spec, placed, out)
    return paths


class ChunkFiller:
    """Converts the write requests of one task to blocks, as Sheaf's sion_fwrite and sion_ensure_free_space
    do (docs/format.md, section 5.3). `chunk` is the final chunk size in bytes. A ValueError leaves the
    state unchanged."""

    def __init__(self, chunk: int) -> None:
        self._chunk = chunk
        self._blocks = [bytearray()]

    def _room(self) -> int:
        return self._chunk - len(self._blocks[-1])

    def ensure(self, size: int) -> None:
        """Starts a new chunk if fewer than `size` bytes are free in the current one."""
        if size > self._chunk:
            raise ValueError(f"{size} bytes do not fit in a chunk of {self._chunk}")
        if size > self._room():
            self._blocks.append(bytearray())

    def write(self, data: bytes) -> None:
        """Writes all of `data` to one chunk if it fits, otherwise to as many chunks as needed."""
        if len(data) <= self._chunk:
            self.ensure(len(data))
            self._blocks[-1] += data
        else:
            self.fill(data)

    def fill(self, data: bytes) -> None:
        """Splits `data` at chunk boundaries without gaps, as key-value records are stored."""
        if data and self._chunk == 0:
            raise ValueError("a chunk of size 0 takes no data")
        done = 0
        while done < len(data):
            if self._room() == 0:
                self._blocks.append(bytearray())
            part = data[done:done + self._room()]
            self._blocks[-1] += part
            done += len(part)

    def blocks(self) -> list[bytes]:
        """Returns the blocks so far."""
        return [bytes(block) for block in self._blocks]


def fill(stream: bytes, chunk: int) -> list[bytes]:
    """Returns the blocks of a stream that fills chunks of `chunk` bytes without gaps."""
    filler = ChunkFiller(chunk)
    filler.fill(stream)
    return filler.blocks()


def cut(stream: bytes, sizes: Iterable[int]) -> list[bytes]:
    """Returns the blocks of a stream with known block sizes."""
    blocks, done = [], 0
    for size in sizes:
        blocks.append(stream[done:done + size])
        done += size
    if done != len(stream):
        raise ValueError(f"block sizes give {done} bytes, the stream has {len(stream)}")
    return blocks
