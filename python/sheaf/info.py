"""The metadata of a multifile, its tasks and their chunks, as plain values."""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Union, overload

from ._library import NAME_VISIT, ChunkStruct, MultifileInfoStruct, TaskInfoStruct, library
from .errors import OutOfRangeError, UnclosedWarning

__all__ = ["Info", "TaskInfo", "Chunk", "StreamName", "Metadata"]


@dataclass(frozen=True)
class Info:
    """A whole multifile. ``rounds``: largest number of chunks of a task; ``bytes``: stored bytes in all
    chunks; ``files``: number of physical files; ``block_size``: in bytes; ``byteorder``: of the user data,
    ``"little"`` or ``"big"``; ``closed``: False if the program that wrote it has died, so that only
    flushed data are present."""

    tasks: int
    rounds: int
    bytes: int
    files: int
    block_size: int
    format_version: int
    library_version: str
    keyval: bool
    closed: bool
    checksums: bool
    compressed: bool
    byteorder: str


@dataclass(frozen=True)
class TaskInfo:
    """One task: its physical file, its rank in that file, the stored global rank, the size of its chunks
    in bytes, their number, and the stored bytes in them. ``bytes`` is the length of the stream; it differs
    from ``stored_bytes`` if the stream is compressed."""

    task: int
    file: int
    local_rank: int
    global_rank: int
    chunk_size: int
    chunks: int
    stored_bytes: int
    bytes: int


@dataclass(frozen=True)
class Chunk:
    """A chunk: the physical file (number and path), its offset there, its size, and the bytes in use; all
    in bytes."""

    file: int
    path: str
    offset: int
    size: int
    bytes: int


@dataclass(frozen=True)
class StreamName:
    """A named stream: its task, and the time of its last write (seconds since 1970)."""

    task: int
    modified: float


class Metadata:
    """The metadata of a multifile as of its opening. Any thread may use it. ``handle``: open metadata, which
    the object then owns; None opens those of ``path``."""

    def __init__(self, path: str, checksums: bool = True, handle: Optional[int] = None) -> None:
        self._library = library("reading the metadata of a multifile")
        self.path = path
        if handle is None:
            handle = self._library.sheaf_metadata_open(os.fsencode(path), int(checksums))
        if not handle:
            raise self._library.error(path)
        self._handle: Optional[int] = handle
        self._finalizer = weakref.finalize(self, self._library.sheaf_metadata_close, handle)
        self._paths: List[str] = []
        self._names: Optional[Dict[str, StreamName]] = None
        self._lock = threading.Lock()
        self.info = self._read_info()
        if not self.info.closed:
            warnings.warn(
                f"'{path}' was not closed: what its tasks had flushed, and chunks they had completed, is here",
                UnclosedWarning,
                stacklevel=3,
            )

    def _read_info(self) -> Info:
        raw = MultifileInfoStruct()
        if not self._library.sheaf_metadata_info(self._handle, ctypes.byref(raw)):
            raise self._library.error(self.path)
        version = f"{raw.library_version // 1000}.{raw.library_version % 1000}"
        return Info(
            raw.tasks,
            raw.rounds,
            raw.bytes,
            raw.files,
            raw.block_size,
            raw.format_version,
            version,
            bool(raw.key_value),
            bool(raw.closed),
            bool(raw.checksums),
            bool(raw.compressed),
            "big" if raw.big_endian else "little",
        )

    def close(self) -> None:
        self._finalizer()
        self._handle = None

    def file_path(self, file: int) -> str:
        """Returns the path of a physical file, given by number."""
        with self._lock:
            while len(self._paths) <= file:
                raw = self._library.sheaf_metadata_path(self._open(), len(self._paths))
                if raw is None:
                    raise self._library.error(self.path)
                self._paths.append(os.fsdecode(raw))
            return self._paths[file]

    def tasks(self, first: int = 0, count: Optional[int] = None, lengths: bool = True) -> List[TaskInfo]:
        """Returns consecutive tasks. With ``lengths`` False, ``bytes`` of compressed tasks is -1, which
        avoids reading frame headers."""
        count = self.info.tasks - first if count is None else count
        raw = (TaskInfoStruct * max(count, 1))()
        wanted = int(lengths or not self.info.compressed)
        found = self._library.sheaf_metadata_tasks(self._open(), first, count, wanted, raw)
        if found < 0:
            raise self._library.error(self.path, first)
        return [
            TaskInfo(
                first + i,
                t.file,
                t.local_rank,
                t.global_rank,
                t.chunk_size,
                t.chunks,
                t.stored_bytes,
                t.bytes,
            )
            for i, t in enumerate(raw[:found])
        ]

    def chunks(self, task: int) -> List[Chunk]:
        """Returns the chunks of a task, in order."""
        row = self.tasks(task, 1, lengths=False)[0]
        path = self.file_path(row.file)
        raw = (ChunkStruct * max(row.chunks, 1))()
        found = self._library.sheaf_metadata_chunks(self._open(), task, 0, row.chunks, raw)
        if found < 0:
            raise self._library.error(self.path, task)
        return [Chunk(row.file, path, c.offset, c.size, c.bytes) for c in raw[:found]]

    def names(self) -> Dict[str, StreamName]:
        """Returns the named streams, in the order of the tasks. Empty if the streams have no names."""
        with self._lock:
            if self._names is None:
                found: Dict[str, StreamName] = {}

                def visit(_: Any, task: int, name: bytes, modified: int) -> int:
                    found[os.fsdecode(name)] = StreamName(task, modified / 1e9)
                    return 0

                if self._library.sheaf_metadata_names(self._open(), NAME_VISIT(visit), None) < 0:
                    raise self._library.error(self.path)
                self._names = found
            return self._names

    def open_stream(self, task: int, words: bytes) -> int:
        """Opens the stream of a task in the files that are open here. Returns the handle, for sion_close."""
        sid = int(self._library.sheaf_metadata_stream(self._open(), task, words))
        if sid < 0:
            raise self._library.error(self.path, task)
        return sid

    def _open(self) -> int:
        if self._handle is None:
            raise ValueError(f"'{self.path}' is closed")
        return self._handle


def metadata_if_small(path: str, checksums: bool) -> Union[Metadata, int]:
    """Returns the metadata of a multifile if they are small, otherwise the number of tasks."""
    calls = library("reading the metadata of a multifile")
    tasks = ctypes.c_longlong()
    handle = calls.sheaf_metadata_open_small(os.fsencode(path), int(checksums), ctypes.byref(tasks))
    if handle:
        return Metadata(path, checksums, handle)
    if tasks.value < 0:
        raise calls.error(path)
    return tasks.value


class TaskList(Sequence[TaskInfo]):
    """All tasks of a multifile, looked up on access."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata

    def __len__(self) -> int:
        return self._metadata.info.tasks

    @overload
    def __getitem__(self, index: int) -> TaskInfo: ...
    @overload
    def __getitem__(self, index: slice) -> List[TaskInfo]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[TaskInfo, List[TaskInfo]]:
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if step == 1:
                return self._metadata.tasks(first, max(last - first, 0))
            return [self[i] for i in range(first, last, step)]
        task = task_number(index, len(self), self._metadata.path)
        return self._metadata.tasks(task, 1)[0]

    def __iter__(self) -> Iterator[TaskInfo]:
        at_once = 4096
        for first in range(0, len(self), at_once):
            yield from self._metadata.tasks(first, min(at_once, len(self) - first))


def task_number(index: int, tasks: int, path: str) -> int:
    """Converts a Python index, which may be negative, to a task number. Raises OutOfRangeError if there is
    no such task."""
    task = index + tasks if index < 0 else index
    if not 0 <= task < tasks:
        raise OutOfRangeError(f"'{path}' has {tasks} tasks, no task {index}", path=path, task=index)
    return task
