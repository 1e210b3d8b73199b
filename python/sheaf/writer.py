"""Multifiles written by one process: :class:`MultifileWriter`, a result of :func:`sheaf.open`."""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
import weakref
from collections.abc import Sequence
from ctypes import POINTER, c_int, c_longlong
from typing import List, Optional, Union, overload

from ._library import Library, available, library
from .background import Save, closed_in_background
from .errors import InvalidArgumentError, require_bits
from .info import task_number
from .streams import CURRENT_BLOCK, CURRENT_POSITION, OutputStream
from .words import as_mode

SUCCESS = 1


class MultifileWriter(Sequence[OutputStream]):
    """A multifile written by one process: ``f[rank]`` is the stream of a task.

    All streams share one handle, and a lock admits one thread at a time. Closing completes the multifile.
    A ``with`` block that ends with an exception does not complete it: flushed data can be read as after a
    crash, and an ``atomic`` multifile is removed. ``save``: after the close of a multifile that was opened with
    the word ``async``, the save that continues in the background; else None."""

    mode = "w"
    save: Optional[Save] = None
    _when_forgotten = "what was written is in the file, which counts as unclosed"

    def __init__(
        self,
        path: str,
        tasks: int,
        chunk_sizes: Sequence[int],
        global_ranks: Sequence[int],
        block_size: int,
        *,
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
            self.save = closed_in_background(self._library, sid, self.path, lambda: self._close_now(sid))

    def _close_now(self, sid: int) -> None:
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

    def __exit__(self, kind: object, *_: object) -> None:
        self.close() if kind is None else self.abandon()

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
        *,
        words: str,
        append: bool = False,
    ) -> None:
        from . import pure

        pure.check_words(path, "append" if append else words)
        self.path = path
        self._lock = threading.RLock()
        self._chunk_sizes, self._global_ranks = list(chunk_sizes), list(global_ranks)
        self._keyval = "keyval" in words.split(",")
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
                pure.write_multifile(
                    self.path,
                    self._made,
                    self._chunk_sizes,
                    self._global_ranks,
                    self.block_size,
                    self._keyval,
                )

    def abandon(self) -> None:
        self._sid = None


def serial_writer(
    path: str,
    mode: str,
    words: str,
    *,
    tasks: Optional[int] = None,
    chunk_size: Union[int, Sequence[int], None] = None,
    global_ranks: Optional[Sequence[int]] = None,
    block_size: int = -1,
) -> MultifileWriter:
    """Returns the writer for the arguments of :func:`sheaf.open`."""
    kind = MultifileWriter if available() else PureWriter
    if mode == "a":
        if tasks is not None or chunk_size is not None or global_ranks is not None:
            said = "tasks, chunk sizes and global ranks of a multifile that is appended to are those it has"
            raise InvalidArgumentError(f"'{path}': {said}", path=path)
        return kind(path, 0, [], [], block_size, words=words, append=True)
    sizes = chunk_sizes_of(path, tasks, chunk_size)
    ranks = list(range(len(sizes))) if global_ranks is None else list(global_ranks)
    _require_one_each(path, "global ranks", len(ranks), len(sizes))
    for task, size in enumerate(sizes):
        require_bits(size, 63, "chunk size", path, task)
    if mode == "x" and os.path.lexists(path):
        raise FileExistsError(f"'{path}' exists; mode 'w' replaces it")
    return kind(path, len(sizes), sizes, ranks, block_size, words=words)


def chunk_sizes_of(
    path: str, tasks: Optional[int], chunk_size: Union[int, Sequence[int], None]
) -> List[int]:
    """Returns the chunk size of each task, in bytes."""
    one_size = 1 << 20 if chunk_size is None else chunk_size
    sizes = [one_size] if isinstance(one_size, int) else list(one_size)
    count = tasks if tasks is not None else len(sizes) or 1
    if count < 0:
        raise InvalidArgumentError(f"'{path}': {count} tasks", path=path)
    if isinstance(one_size, int):
        return [one_size] * count
    _require_one_each(path, "chunk sizes", len(sizes), count)
    return sizes


def _require_one_each(path: str, name: str, values: int, tasks: int) -> None:
    if values != tasks:
        raise InvalidArgumentError(f"'{path}': {values} {name} for {tasks} tasks", path=path)


__all__ = ["MultifileWriter", "serial_writer"]
