"""Multifiles in one process: :class:`MultifileReader` and :class:`MultifileWriter`, the results of
:func:`sheaf.open`."""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from ctypes import POINTER, c_int, c_longlong
from types import TracebackType
from typing import Iterator, List, Optional, Type, Union, cast, overload

from ._library import Library, available, library
from .errors import Error, InvalidArgumentError, NoStreamError, require_bits
from .info import Info, Metadata, TaskInfo, TaskList, task_number
from .streams import CURRENT_BLOCK, CURRENT_POSITION, InputStream, OutputStream
from .words import as_mode

SUCCESS = 1
LARGE = 4 << 20  # bytes; smaller multifiles have little metadata
KEPT = 256  # streams; each keeps a file open


class MultifileReader(Sequence[InputStream]):
    """All tasks of a multifile: ``f[rank]`` is the stream of a task, ``len(f)`` the number of tasks. If
    streams have names, as in multifiles of captured programs, ``f["out/a.txt"]`` is the stream of that
    name, ``"out/a.txt" in f`` checks whether it exists, and ``f.names`` lists all names in the order of
    the tasks.

    Each stream has its own handle, so different threads may read different streams at once. Any thread may
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
        """Returns the number of tasks of a large complete multifile, for which the metadata are read on
        demand; None for all others."""
        try:
            small = os.path.getsize(self.path) < LARGE or os.path.exists(self.path + ".journal")
        except OSError:
            return None
        if small or self._pure:
            return None
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

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<sheaf.MultifileReader '{self.path}'{', closed' if self.closed else f', {len(self)} tasks'}>"


class MultifileWriter(Sequence[OutputStream]):
    """A multifile written by one process: ``f[rank]`` is the stream of a task.

    All streams share one handle, and a lock admits one thread at a time. Closing completes the multifile.
    A ``with`` block that ends with an exception does not complete it: flushed data can be read as after a
    crash, and an ``atomic`` multifile is removed."""

    mode = "w"
    _when_forgotten = "what was written is in the file, which counts as unclosed"

    def __init__(
        self,
        path: str,
        tasks: int,
        chunk_sizes: Sequence[int],
        global_ranks: Sequence[int],
        block_size: int,
        words: str,
        append: bool = False,
    ) -> None:
        self.path = path
        self._library = library("writing a multifile")
        self._lock = threading.RLock()
        self._sid: Optional[int] = None
        self._current = 0
        self._streams: List[Optional[OutputStream]] = []
        count, files, block = c_int(tasks), c_int(1), c_int(block_size)
        sizes = (c_longlong * max(tasks, 1))(*chunk_sizes)
        ranks = (c_int * max(tasks, 1))(*global_ranks)
        size_list = POINTER(c_longlong)() if append else ctypes.cast(sizes, POINTER(c_longlong))
        rank_list = POINTER(c_int)() if append else ctypes.cast(ranks, POINTER(c_int))
        sid = self._library.sion_open(
            os.fsencode(path),
            os.fsencode(as_mode("append" if append else "wb", words)),
            ctypes.byref(count),
            ctypes.byref(files),
            None if append else ctypes.byref(size_list),
            ctypes.byref(block),
            None if append else ctypes.byref(rank_list),
            None,
        )
        if sid < 0:
            raise self._library.error(path)
        self._sid = sid
        self._finalizer = weakref.finalize(self, _forget, self._library, sid)
        self._finalizer.atexit = False
        self.block_size = block.value
        self._streams = [None] * count.value

    @property
    def closed(self) -> bool:
        return self._sid is None

    def _handle(self) -> int:
        if self._sid is None:
            raise ValueError(f"'{self.path}' is closed")
        return self._sid

    def _select(self, task: int) -> None:
        """Must be called with the lock held."""
        sid = self._handle()
        if task != self._current:
            self._current = -1  # no task is selected if the call fails
            if not self._library.sion_seek(sid, task, CURRENT_BLOCK, CURRENT_POSITION):
                raise self._library.error(self.path, task)
            self._current = task

    def __len__(self) -> int:
        return len(self._streams)

    @overload
    def __getitem__(self, index: int) -> OutputStream: ...
    @overload
    def __getitem__(self, index: slice) -> List[OutputStream]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[OutputStream, List[OutputStream]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        task = task_number(index, len(self), self.path)
        with self._lock:
            found = self._streams[task]
            if found is None or found.closed:
                found = OutputStream(self.path, task, self._handle(), lambda: self._select(task), self._lock)
                self._streams[task] = found
            return found

    def flush(self) -> None:
        """Makes the data written to all tasks readable even if the program is killed."""
        with self._lock:
            for stream in self._streams:
                if stream is not None and not stream.closed:
                    stream.flush()

    def close(self) -> None:
        """Completes the multifile."""
        with self._lock:
            sid, self._sid = self._sid, None
            if sid is None:
                return
            self._finalizer.detach()
            if self._library.sion_close(sid) != SUCCESS:
                raise self._library.error(self.path)

    def abandon(self) -> None:
        """Closes without completing: the multifile stays unclosed, and an ``atomic`` one is removed."""
        with self._lock:
            sid, self._sid = self._sid, None
            if sid is not None:
                self._finalizer.detach()
                self._library.sheaf_abandon(sid)

    def __enter__(self) -> "MultifileWriter":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def __del__(self) -> None:
        if getattr(self, "_sid", None) is not None:
            warnings.warn(
                f"'{self.path}' was not closed: {self._when_forgotten}", ResourceWarning, source=self
            )

    def __repr__(self) -> str:
        return f"<sheaf.MultifileWriter '{self.path}', {'closed' if self.closed else f'{len(self)} tasks'}>"


def _forget(library: Library, sid: int) -> None:
    """Runs when a writer is garbage-collected: flushes the written data, but does not close the multifile."""
    library.sion_flush(sid)
    library.sheaf_abandon(sid)


class PureWriter(MultifileWriter):
    """A writer that works without the C library and keeps all data in memory until it is closed."""

    _when_forgotten = "what was written is lost"

    def __init__(
        self,
        path: str,
        tasks: int,
        chunk_sizes: Sequence[int],
        global_ranks: Sequence[int],
        block_size: int,
        words: str,
        append: bool = False,
    ) -> None:
        from . import pure

        pure.check_words(path, "append" if append else words)
        self.path = path
        self._lock = threading.RLock()
        self._facts = (list(chunk_sizes), list(global_ranks), "keyval" in words.split(","))
        self.block_size = pure.block_size_of(path, block_size)
        self._sid = 0
        self._made = [
            pure.PureOutputStream(
                path,
                task,
                -(-size // self.block_size) * self.block_size or self.block_size,
                self._check,
                self._lock,
            )
            for task, size in enumerate(chunk_sizes)
        ]
        self._streams = list(self._made)

    def _check(self) -> None:
        self._handle()

    def close(self) -> None:
        from . import pure

        with self._lock:
            sid, self._sid = self._sid, None
            if sid is not None:
                pure.write_multifile(self.path, self._made, *self._facts[:2], self.block_size, self._facts[2])

    def abandon(self) -> None:
        self._sid = None


def serial_writer(
    path: str,
    tasks: Optional[int],
    chunk_size: Union[int, Sequence[int], None],
    global_ranks: Optional[Sequence[int]],
    block_size: int,
    words: str,
    mode: str,
) -> MultifileWriter:
    """Returns the writer for the arguments of :func:`sheaf.open`."""
    if mode == "a":
        if tasks is not None or chunk_size is not None or global_ranks is not None:
            said = "tasks, chunk sizes and global ranks of a multifile that is appended to are those it has"
            raise InvalidArgumentError(f"'{path}': {said}", path=path)
        return (MultifileWriter if available() else PureWriter)(
            path, 0, [], [], block_size, words, append=True
        )
    one_size = 1 << 20 if chunk_size is None else chunk_size
    sizes = [] if isinstance(one_size, int) else list(one_size)
    count = tasks if tasks is not None else len(sizes) or 1
    if count < 0:
        raise InvalidArgumentError(f"'{path}': {count} tasks", path=path)
    if isinstance(one_size, int):
        sizes = [one_size] * count
    ranks = list(range(count)) if global_ranks is None else list(global_ranks)
    for name, values in (("chunk sizes", sizes), ("global ranks", ranks)):
        if len(values) != count:
            raise InvalidArgumentError(f"'{path}': {len(values)} {name} for {count} tasks", path=path)
    for task, size in enumerate(sizes):
        require_bits(size, 63, "chunk size", path, task)
    if mode == "x" and os.path.lexists(path):
        raise FileExistsError(f"'{path}' exists; mode 'w' replaces it")
    kind = MultifileWriter if available() else PureWriter
    return kind(path, count, sizes, ranks, block_size, words)


__all__ = ["MultifileReader", "MultifileWriter", "serial_writer"]
