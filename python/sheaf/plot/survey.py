"""The data to plot about a multifile: its tasks, the locations of their chunks, and damaged pieces."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from typing import Any, List, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from ..errors import DamagedError, Error, UnclosedWarning
from ..info import Info, TaskInfo
from ..multifile import MultifileReader
from ..streams import InputStream
from ..tools import verify

# Maximum number of tasks with plotted chunks. A larger multifile is represented by evenly spaced tasks.
MOST_TASKS = 4096
_PIECE = 64 << 10  # bytes per checksum
_AT_ONCE = 8 << 20

Longs = NDArray[np.int64]


@dataclass(frozen=True)
class Damage:
    """A piece of the stream of ``task`` that cannot be read. ``offset`` is its offset in the stream,
    ``place`` its offset in physical file number ``file``, and ``message`` the reason."""

    task: int
    offset: int
    file: int
    place: int
    message: str


@dataclass
class Layout:
    """The data to plot. The arrays ``sizes``, ``chunk_sizes``, ``rounds`` and ``task_files`` have one entry
    per task. The arrays ``chunk_task`` to ``chunk_bytes`` have one entry per chunk of the tasks in
    ``shown``."""

    path: str
    info: Info
    files: List[Tuple[str, int]]  # name and bytes of each physical file
    sizes: Longs
    chunk_sizes: Longs
    rounds: Longs
    task_files: Longs
    shown: Longs  # numbers of the selected tasks, ascending
    chunk_task: Longs
    chunk_file: Longs
    chunk_offset: Longs
    chunk_size: Longs
    chunk_bytes: Longs
    damage: "List[Damage]" = field(default_factory=lambda: [])
    checked: bool = False

    @property
    def fill(self) -> float:
        """Fraction of the space in all chunks that is used."""
        space = int((self.chunk_sizes * self.rounds).sum())
        return float(self.sizes.sum()) / space if space else 1.0


def survey(path: "Union[str, os.PathLike[str]]", check: bool = True) -> Layout:
    """Reads the metadata, and with ``check`` all data, so that damaged pieces are located."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnclosedWarning)
        reader = MultifileReader(os.fspath(path))
    with reader:
        found = _layout_of(reader)
        found.checked = check
        if check and not verify(reader.path):
            for task in range(len(found.sizes)):
                found.damage += _damage_of(reader, task)
    return found


def _layout_of(reader: MultifileReader) -> Layout:
    tasks: List[TaskInfo] = reader.metadata.tasks(lengths=False)
    shown = _spread(len(tasks))
    chunks = [(int(task), chunk) for task in shown for chunk in reader.metadata.chunks(int(task))]
    names = [reader.metadata.file_path(file) for file in range(reader.info.files)]
    return Layout(
        reader.path,
        reader.info,
        [(os.path.basename(name), os.path.getsize(name)) for name in names],
        _longs([task.stored_bytes for task in tasks]),
        _longs([task.chunk_size for task in tasks]),
        _longs([task.chunks for task in tasks]),
        _longs([task.file for task in tasks]),
        shown,
        _longs([task for task, _ in chunks]),
        _longs([chunk.file for _, chunk in chunks]),
        _longs([chunk.offset for _, chunk in chunks]),
        _longs([chunk.size for _, chunk in chunks]),
        _longs([chunk.bytes for _, chunk in chunks]),
    )


def _spread(tasks: int) -> Longs:
    """Returns the numbers of at most MOST_TASKS evenly spaced tasks."""
    if tasks == 0:
        return _longs([])
    return np.unique(np.linspace(0, tasks - 1, min(tasks, MOST_TASKS)).astype(np.int64))


def _longs(values: List[int]) -> Longs:
    return np.array(values, dtype=np.int64)


def _damage_of(reader: MultifileReader, task: int) -> List[Damage]:
    found: List[Damage] = []
    try:
        with reader.stream(task) as stream:
            buffer = np.empty(min(_AT_ONCE, max(stream.size, 1)), np.uint8)
            at = 0
            while at < stream.size:
                at = _read_on(reader, stream, at, buffer, found)
    except Error as error:
        found.append(Damage(task, 0, reader.tasks[task].file, 0, str(error)))
    return found


def _read_on(
    reader: MultifileReader, stream: InputStream, at: int, buffer: "NDArray[Any]", found: List[Damage]
) -> int:
    """Reads from ``at`` and returns the offset of the next read, after any damaged piece."""
    try:
        stream.seek(at)
        return at + max(stream.readinto(buffer), 1)
    except DamagedError:
        pass
    end = min(at + len(buffer), stream.size)
    for piece in range(at, end, _PIECE):
        try:
            stream.seek(piece)
            stream.readinto(buffer[: min(_PIECE, end - piece)])
        except DamagedError as error:
            file, place = _place(reader, stream.task, piece)
            found.append(Damage(stream.task, piece, file, place, str(error)))
    return end


def _place(reader: MultifileReader, task: int, offset: int) -> Tuple[int, int]:
    begin = 0
    last = (0, 0)
    for chunk in reader.metadata.chunks(task):
        last = (chunk.file, chunk.offset + offset - begin)
        if offset < begin + chunk.bytes:
            return last
        begin += chunk.bytes
    return last
