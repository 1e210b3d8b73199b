"""Multifiles read by one process: :class:`MultifileReader`, a result of :func:`sheaf.open`."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from ctypes import c_int, c_longlong
from typing import Iterator, List, Optional, Union, cast, overload

from ._library import available, library
from .errors import Error, NoStreamError
from .info import Info, Metadata, TaskInfo, TaskList, metadata_if_small, task_number
from .streams import InputStream
from .words import as_mode
from .writer import MultifileWriter

LARGE = 4 << 20  # bytes; smaller multifiles have little metadata
KEPT = 256  # streams


class MultifileReader(Sequence[InputStream]):
    """All tasks of a multifile: ``f[rank]`` is the stream of a task, ``len(f)`` the number of tasks. If
    streams have names, as in multifiles of captured programs, ``f["out/a.txt"]`` is the stream of that
    name, ``"out/a.txt" in f`` checks whether it exists, and ``f.names`` lists all names in the order of
    the tasks.

    The streams of a multifile with small metadata share its open files; with large ones, each stream opens
    its own. Each stream has its own handle, so different threads may read different streams at once. Any thread may
    use the reader itself. ``f[rank]`` returns the same stream, at its current position, while it is
    referenced or among the 256 streams used most recently. Closing the reader closes its streams."""

    mode = "r"

    def __init__(self, path: str, words: str = "") -> None:
        self.path = path
        self._pure = not available()
        self._words = os.fsencode(as_mode("rb", words))
        self._checksums = "checksums=off" not in words
        self._lock = threading.RLock()
        self._metadata: Optional[Metadata] = None
        self._streams: "weakref.WeakValueDictionary[int, InputStream]" = weakref.WeakValueDictionary()
        self._all: "weakref.WeakSet[InputStream]" = weakref.WeakSet()
        self._recent: "OrderedDict[int, InputStream]" = OrderedDict()
        self.closed = False
        self._tasks = self._count_quickly()
        if self._tasks is None:
            self._facts()

    def _facts(self) -> Metadata:
        with self._lock:
            if self.closed:
                raise ValueError(f"'{self.path}' is closed")
            if self._metadata is None:
                self._metadata = self._load()
            return self._metadata

    def _count_quickly(self) -> Optional[int]:
        """Returns the number of tasks of a complete multifile with large metadata, which are read on demand;
        None for all others."""
        try:
            small = os.path.getsize(self.path) < LARGE or os.path.exists(self.path + ".journal")
        except OSError:
            return None
        if small or self._pure:
            return None
        try:
            found = metadata_if_small(self.path, self._checksums)
        except Error:  # for example if a file of a set is missing; the streams in the others can be read
            return self._count_with_first()
        if isinstance(found, int):
            return found
        self._metadata = found
        return None

    def _count_with_first(self) -> Optional[int]:
        try:
            with self._open_task(0) as first:
                return first.count_tasks()
        except Error:  # for example without any task; reading the metadata reports it
            return None

    def _load(self) -> Metadata:
        if not self._pure:
            return Metadata(self.path, self._checksums)
        from .pure import PureMetadata

        return cast(Metadata, PureMetadata(self.path, self._checksums))

    @property
    def info(self) -> Info:
        return self._facts().info

    @property
    def metadata(self) -> Metadata:
        return self._facts()

    @property
    def tasks(self) -> "Sequence[TaskInfo]":
        """Metadata of each task."""
        return TaskList(self._facts())

    def __len__(self) -> int:
        if self._tasks is not None and not self.closed:
            return self._tasks
        return self.info.tasks

    @property
    def names(self) -> List[str]:
        """The names of the streams, in the order of the tasks. Empty if the streams have no names."""
        return list(self._facts().names())

    def __contains__(self, value: object) -> bool:
        """Returns whether a stream has this name, or is this object."""
        return value in self._facts().names() if isinstance(value, str) else super().__contains__(value)

    def _task_named(self, name: str) -> int:
        found = self._facts().names().get(name)
        if found is None:
            raise NoStreamError(f"'{self.path}' has no stream '{name}'", path=self.path)
        return found.task

    @overload
    def __getitem__(self, index: Union[int, str]) -> InputStream: ...
    @overload
    def __getitem__(self, index: slice) -> List[InputStream]: ...
    def __getitem__(self, index: Union[int, str, slice]) -> Union[InputStream, List[InputStream]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if isinstance(index, str):
            index = self._task_named(index)
        task = task_number(index, len(self), self.path)
        with self._lock:
            found = self._streams.get(task)
            if found is None or found.closed:
                found = self._made(task)
                self._streams[task] = found
            self._recent[task] = found
            self._recent.move_to_end(task)
            if len(self._recent) > KEPT:
                self._recent.popitem(last=False)
            return found

    def stream(self, task: Union[int, str]) -> InputStream:
        """Returns a new stream of a task, given by number or name, with its own position."""
        task = self._task_named(task) if isinstance(task, str) else task
        number = task_number(task, len(self), self.path)
        with self._lock:
            return self._made(number)

    def _made(self, task: int) -> InputStream:
        """Must be called with the lock held."""
        if self.closed:
            raise ValueError(f"'{self.path}' is closed")
        stream = self._open_task(task)
        self._all.add(stream)
        return stream

    def _open_task(self, task: int) -> InputStream:
        if self._pure:
            from .pure import PureInputStream

            return PureInputStream(self.path, task, self._facts)
        facts = self._metadata
        if facts is not None and facts.info.closed:
            sid = facts.open_stream(task, self._words)
            return InputStream(self.path, task, sid, library().sion_close, self._facts)
        calls = library()
        number, size, block = c_int(task), c_longlong(), c_int()
        sid = calls.sion_open_rank(
            os.fsencode(self.path),
            self._words,
            ctypes.byref(size),
            ctypes.byref(block),
            ctypes.byref(number),
            None,
        )
        if sid < 0:
            raise calls.error(self.path, task)
        return InputStream(self.path, task, sid, calls.sion_close, self._facts)

    def __iter__(self) -> Iterator[InputStream]:
        for task in range(len(self)):
            yield self[task]

    def close(self) -> None:
        with self._lock:
            if self.closed:
                return
            self.closed = True
            self._recent.clear()
            streams, metadata = list(self._all), self._metadata
        for stream in streams:
            stream.close()
        if metadata is not None:
            metadata.close()

    def __enter__(self) -> "MultifileReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<sheaf.MultifileReader '{self.path}'{', closed' if self.closed else f', {len(self)} tasks'}>"


__all__ = ["MultifileReader", "MultifileWriter"]
