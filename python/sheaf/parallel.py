"""Multifiles that several processes write or read together: every process has one task.

:func:`sheaf.open` with ``comm=`` (mpi4py) or ``group=`` (any :class:`sheaf.group.Group`) returns these
classes. Opening and closing are collective.
"""

from __future__ import annotations

import ctypes
import os
import threading
from ctypes import c_int, c_longlong
from typing import Any, Callable, List, Optional, Sequence, TypeVar

from ._buffers import Pinned
from ._library import Library, library
from .background import Save, closed_in_background
from .errors import Error, InvalidArgumentError
from .group import Group, placement, registry
from .info import Info, Metadata
from .streams import InputStream, OutputStream, _Stream
from .words import as_mode


class Opener:
    """Opens and closes for the processes of one group; sheaf.mpi has another implementation for mpi4py
    communicators."""

    rank: int
    size: int
    closer: str = "sion_generic_parclose"
    closer_mapped: str = "sion_generic_parclose_mapped"
    can_abandon = True

    def __init__(self, group: Group) -> None:
        self._group = group
        self.rank, self.size = group.rank, group.size
        self.library: Library = library("writing and reading in parallel")
        self.number = registry.add(group)

    def call(self, body: Callable[[], int], path: str) -> int:
        """Runs a collective call and raises an exception on every process if it fails."""
        registry.take_problem()
        result = body()
        problem = registry.take_problem()
        if problem is not None and not isinstance(problem, Exception):
            raise problem
        if result < 0:
            raise self.library.error(path, self.rank) from problem
        return result

    def open(self, path: str, mode: str, files: int, chunk_size: Any, block_size: Any) -> int:
        if files < 1 or files > self.size:
            raise InvalidArgumentError(f"'{path}': {files} physical files for {self.size} tasks", path=path)
        file, local_rank, local_size = (c_int(value) for value in placement(self._group, files))
        count = c_int(files)
        by = ctypes.byref
        return self.call(
            lambda: int(
                self.library.sion_generic_paropen(
                    registry.api(self._group),
                    os.fsencode(path),
                    os.fsencode(mode),
                    by(chunk_size),
                    by(block_size),
                    self.number,
                    self.rank,
                    self.size,
                    by(file),
                    by(count),
                    by(local_rank),
                    by(local_size),
                    None,
                    None,
                )
            ),
            path,
        )

    def open_mapped(
        self, path: str, mode: str, files: Any, count: Any, arrays: Sequence[Any], block_size: Any
    ) -> int:
        by = ctypes.byref
        return self.call(
            lambda: int(
                self.library.sion_generic_paropen_mapped(
                    registry.api(self._group),
                    os.fsencode(path),
                    os.fsencode(mode),
                    by(files),
                    self.number,
                    self.rank,
                    self.size,
                    by(count),
                    *arrays,
                    by(block_size),
                    None,
                )
            ),
            path,
        )

    def close(self, sid: int, path: str, mapped: bool = False) -> None:
        call = getattr(self.library, self.closer_mapped if mapped else self.closer)
        registry.take_problem()
        result = call(sid)
        problem = registry.take_problem()
        self.done()
        if result != 1:
            raise self.library.error(path, self.rank) from problem

    def finish(self, sid: int, path: str, mapped: bool = False) -> Optional[Save]:
        """Closes a multifile that was opened for writing. Returns its save if it was opened with ``async``.
        Collective."""
        registry.take_problem()
        try:
            return closed_in_background(
                self.library, sid, path, lambda: self.close(sid, path, mapped), self.rank
            )
        except Error as error:
            problem = registry.take_problem()
            if problem is None:
                raise
            raise error from problem
        finally:
            self.done()

    def done(self) -> None:
        registry.remove(self.number)

    def abandon(self, sid: int) -> None:
        if self.can_abandon:
            self.library.sheaf_abandon(sid)
        self.done()


_Self = TypeVar("_Self")


class _CollectiveStream(_Stream):
    """The stream of this process in a multifile that all processes of a group open and close together."""

    _sid: int
    _handed_back = True  # the handle was closed or given up; also before the open succeeds

    def _opened_by(self, opener: Opener) -> None:
        self._opener = opener
        self._handed_back = False
        self.rank, self.group_size = opener.rank, opener.size

    def close(self) -> None:
        if self.closed:
            return
        super().close()
        if not self._handed_back:
            self._handed_back = True
            self._hand_back()

    def _hand_back(self) -> None:
        self._opener.close(self._sid, self.path)

    def _forget(self) -> None:
        """Releases the group only, since a process cannot close alone."""
        if not self._handed_back:
            self._handed_back = True
            self._opener.done()

    def __enter__(self: _Self) -> _Self:
        return self

    def __del__(self) -> None:
        self._forget()


class ParallelWriter(_CollectiveStream, OutputStream):
    """The stream of this process in a multifile that all processes write. ``close`` is collective and
    completes the multifile. A ``with`` block that ends with an exception abandons the multifile on this
    process only. The ``close`` of the other processes then fails or waits, so the exception must reach
    them, too. ``save``: after the close of a multifile that was opened with the word ``async``, the save of all
    processes, which continues in the background; else None."""

    save: Optional[Save] = None

    def __init__(
        self, opener: Opener, path: str, chunk_size: int, block_size: int, files: int, words: str
    ) -> None:
        # Invalid sizes are passed on, so that the collective open rejects them on all processes.
        size, block = c_longlong(max(-1, min(chunk_size, (1 << 63) - 1))), c_int(block_size)
        sid = opener.open(path, as_mode("wb", words), files, size, block)
        super().__init__(path, opener.rank, sid, None, threading.RLock())
        self._opened_by(opener)
        self.block_size = block.value

    def write_all(self, data: Any) -> int:
        """Like ``write``, as a collective call of all tasks of a physical file. Small pieces are sent to a
        few collectors if the open words request it (``collective``, docs/api-collective.md)."""
        with Pinned(data) as source, self._lock:
            self._check_open()
            if self._library.sion_coll_fwrite(source.address, 1, source.size, self._sid) != source.size:
                self._fail()
            return source.size

    def _hand_back(self) -> None:
        self.save = self._opener.finish(self._sid, self.path)

    def abandon(self) -> None:
        """Abandons the multifile on this process only. Nothing is completed, and an ``atomic`` multifile
        does not appear."""
        if not self._handed_back:
            self._handed_back = True
            self._opener.abandon(self._sid)
        super().close()

    def __exit__(self, kind: object, *_: object) -> None:
        self.close() if kind is None else self.abandon()


class ParallelReader(_CollectiveStream, InputStream):
    """The stream of this process in a multifile. As many processes must read it as have written it."""

    def __init__(self, opener: Opener, path: str, words: str) -> None:
        size, block = c_longlong(), c_int()
        sid = opener.open(path, as_mode("rb", words), 1, size, block)
        super().__init__(path, opener.rank, sid, _nothing, metadata_of(path))
        self._opened_by(opener)
        self.chunk_size, self.block_size = size.value, block.value

    @property
    def info(self) -> Info:
        return self._metadata().info

    def readinto_all(self, buffer: Any) -> int:
        """Like ``readinto``, as a collective call of all tasks of a physical file
        (docs/api-collective.md)."""
        self._check_open()
        with Pinned(buffer, writable=True) as into:
            done = (
                int(self._library.sion_coll_fread(into.address, 1, into.size, self._sid)) if into.size else 0
            )
            if done < into.size:
                self._look_at_short_read(done)
            return done

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._forget()


def _nothing(_: int) -> None:
    """Does nothing: a parallel handle is closed collectively, not when one process drops it."""


def metadata_of(path: str) -> Callable[[], Metadata]:
    """Returns a function that reads the metadata at its first call."""
    found: List[Metadata] = []

    def facts() -> Metadata:
        if not found:
            found.append(Metadata(path))
        return found[0]

    return facts


__all__ = ["ParallelWriter", "ParallelReader", "Opener"]
