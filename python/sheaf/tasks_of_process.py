"""Multifiles with more or fewer tasks than processes: each process reads or writes the tasks it selects.

:func:`sheaf.open` with ``mapped=`` returns these classes.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Mapping
from ctypes import POINTER, c_int, c_longlong
from typing import Any, Iterator, List, Optional, Sequence, Tuple

from .background import Save
from .errors import OutOfRangeError
from .info import Info
from .parallel import Opener, metadata_of
from .streams import CURRENT_BLOCK, CURRENT_POSITION, InputStream, OutputStream
from .words import as_mode

__all__ = ["MappedReader", "MappedWriter"]
_DUP_RANK = -202


class MappedReader(Mapping[int, InputStream]):
    """A multifile read by any number of processes: ``f[task]`` is the stream of a task that this process
    has selected. Different threads may use different streams at once."""

    def __init__(self, opener: Opener, path: str, words: str, tasks: Optional[Sequence[int]]) -> None:
        self.path = path
        self._opener = opener
        self._library = opener.library
        count = c_int(-1 if tasks is None else len(tasks))
        files, block = c_int(), c_int()
        given = (c_int * max(count.value, 1))(*(tasks or ()))
        ranks = POINTER(c_int)() if tasks is None else ctypes.cast(given, POINTER(c_int))
        sid = opener.open_mapped(
            path, as_mode("rb", words), files, count, (ctypes.byref(ranks), None, None, None), block
        )
        self._sid: Optional[int] = sid
        self.tasks: Tuple[int, ...] = tuple(ranks[i] for i in range(count.value))
        if tasks is None:
            _free(ranks)
        self._facts = metadata_of(path)
        self._streams: "weakref.WeakSet[InputStream]" = weakref.WeakSet()

    @property
    def info(self) -> Info:
        return self._facts().info

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tasks)

    def __getitem__(self, task: int) -> InputStream:
        if self._sid is None:
            raise ValueError(f"'{self.path}' is closed")
        if task not in self.tasks:
            raise OutOfRangeError(
                f"'{self.path}': task {task} is not among those that this process has asked for",
                path=self.path,
                task=task,
            )
        sid = self._library.sion_dup(self._sid, _DUP_RANK, task, 0)
        if sid < 0:
            raise self._library.error(self.path, task)
        made = InputStream(self.path, task, sid, self._library.sion_dedup, self._facts)
        self._streams.add(made)
        return made

    def close(self) -> None:
        """Closes the multifile. Collective."""
        sid, self._sid = self._sid, None
        if sid is None:
            return
        for stream in list(self._streams):
            stream.close()
        self._opener.close(sid, self.path, mapped=True)

    def __enter__(self) -> "MappedReader":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()


class MappedWriter(Mapping[int, OutputStream]):
    """A multifile in which every process writes several tasks: ``f[task]``. ``close`` is collective. ``save``: as
    that of a :class:`ParallelWriter`."""

    save: Optional[Save] = None

    def __init__(
        self,
        opener: Opener,
        path: str,
        tasks: Sequence[int],
        chunk_sizes: Sequence[int],
        block_size: int,
        words: str,
    ) -> None:
        self.path = path
        self._opener = opener
        self._library = opener.library
        self.tasks = tuple(tasks)
        self._current: Optional[int] = None
        self._lock = threading.RLock()
        files, count, block = c_int(1), c_int(len(tasks)), c_int(block_size)
        room = max(len(tasks), 1)
        ranks, sizes = (c_int * room)(*tasks), (c_longlong * room)(*chunk_sizes)
        zeros = (c_int * room)()
        arrays: List[Any] = [
            ctypes.byref(ctypes.cast(array, POINTER(kind)))
            for array, kind in ((ranks, c_int), (sizes, c_longlong), (zeros, c_int), (ranks, c_int))
        ]
        self._sid: Optional[int] = opener.open_mapped(path, as_mode("wb", words), files, count, arrays, block)
        self.block_size = block.value

    def _select(self, task: int) -> None:
        if self._sid is None:
            raise ValueError(f"'{self.path}' is closed")
        if task != self._current:
            self._current = -1  # no task is selected if the call fails
            if not self._library.sion_seek(self._sid, task, CURRENT_BLOCK, CURRENT_POSITION):
                raise self._library.error(self.path, task)
            self._current = task

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tasks)

    def __getitem__(self, task: int) -> OutputStream:
        if self._sid is None:
            raise ValueError(f"'{self.path}' is closed")
        if task not in self.tasks:
            raise OutOfRangeError(
                f"'{self.path}': task {task} is not one of this process", path=self.path, task=task
            )
        return OutputStream(self.path, task, self._sid, lambda: self._select(task), self._lock)

    def close(self) -> None:
        """Completes and closes the multifile. Collective."""
        sid, self._sid = self._sid, None
        if sid is not None:
            self.save = self._opener.finish(sid, self.path, mapped=True)

    def abandon(self) -> None:
        """Abandons the multifile on this process only."""
        sid, self._sid = self._sid, None
        if sid is not None:
            self._opener.abandon(sid)

    def __enter__(self) -> "MappedWriter":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close() if kind is None else self.abandon()


def _free(pointer: Any) -> None:
    free = ctypes.CDLL(None).free
    free.restype, free.argtypes = None, [ctypes.c_void_p]
    free(ctypes.cast(pointer, ctypes.c_void_p))
