"""Saves in the background (docs/async.md). A writer that was opened with the word ``async`` has its
:class:`Save` as ``save`` when it is closed.

    with sheaf.open("restart.sion", "w", tasks=4, words="async") as f:
        ...
    compute()
    f.save.wait()
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
import weakref
from concurrent.futures import Future
from ctypes import c_longlong, c_void_p
from dataclasses import dataclass
from typing import Any, Callable, Generator, List, NamedTuple, Optional, Union

from ._library import SAVE_VISIT, Library, generation_of, library
from .errors import Error, InvalidArgumentError, WrongModeError

__all__ = ["Save", "SaveEntry", "SaveProgress", "save_of", "saves", "latest"]

Path = Union[str, "os.PathLike[str]"]

_STATES = {-1: "failed", 0: "skipped", 1: "captured", 2: "local", 3: "durable"}
_NUMBERS = {name: number for number, name in _STATES.items()}
_DURABLE = 3
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.02  # seconds between two looks at a save
_LONGEST_NAME = 255  # bytes of an entry of a directory


class SaveProgress(NamedTuple):
    """Bytes that this process has captured for a save, and how many of these are written."""

    bytes: int
    written: int


class Save:
    """A save in the background, from the close of its multifile on. Threads may share it. Releasing it neither
    ends nor undoes the save. ``path``: the name that the multifile gets.

    The states are "captured", "local" (only on file systems of one host), "durable"; "failed"; and "skipped"
    for a save that ``pending=skip`` has discarded. ``await save`` waits like :meth:`wait`."""

    def __init__(self, calls: Library, handle: int, path: str) -> None:
        self.path = path
        self._library = calls
        self._handle = c_void_p(handle)
        self._lock = threading.Lock()
        self._future: "Optional[_SaveFuture]" = None
        self._finalizer = weakref.finalize(self, calls.sheaf_save_free, self._handle)
        self._finalizer.atexit = False

    @property
    def state(self) -> str:
        """The state of the save on all tasks, as far as it is recorded. Never waits."""
        return _STATES[self._library.sheaf_save_test(self._handle)]

    @property
    def done(self) -> bool:
        """Whether the state is final: "durable", "failed" or "skipped"."""
        return self.state in ("durable", "failed", "skipped")

    @property
    def error(self) -> Optional[Error]:
        """The error of a failed save. None unless the state is "failed"."""
        return self._failure() if self.state == "failed" else None

    @property
    def progress(self) -> SaveProgress:
        captured, written = c_longlong(), c_longlong()
        self._library.sheaf_save_progress(self._handle, ctypes.byref(captured), ctypes.byref(written))
        return SaveProgress(captured.value, written.value)

    @property
    def generation(self) -> str:
        """32 hexadecimal digits that no other save has. :attr:`InputStream.generation` of a reader tells which save
        it reads."""
        found = generation_of(self._library.sheaf_save_generation, self._handle)
        if not found:
            raise self._library.error(self.path)
        return found

    def wait(self, state: str = "durable", timeout: Optional[float] = None) -> str:
        """Waits until the save has reached ``state`` ("captured", "local", "durable") or a later one.

        Returns the state: at least ``state``, or "skipped". Waiting for "local" waits for "durable" if the save
        has no such state. Raises the error of a failed save, and TimeoutError after ``timeout`` seconds."""
        wanted = _NUMBERS.get(state, 0)
        if wanted <= 0:
            raise InvalidArgumentError(
                f"'{self.path}': a wait is for 'captured', 'local' or 'durable', not {state!r}", path=self.path
            )
        end = None if timeout is None else time.monotonic() + timeout
        pause = _FIRST_PAUSE
        while True:
            found = self.state
            if found == "failed":
                raise self._failure()
            if found == "skipped" or _NUMBERS[found] >= wanted:
                return found
            if end is not None:
                left = end - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"'{self.path}': the save is {found} after {timeout} s, not {state}")
                pause = min(pause, left)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def future(self) -> "Future[str]":
        """Returns a future, the same one in every call: its result is "durable" or "skipped", its exception
        the error of a failed save. It cannot be cancelled. A thread of its own waits for the save."""
        with self._lock:
            if self._future is None:
                self._future = _SaveFuture()
                self._future.set_running_or_notify_cancel()
                threading.Thread(target=self._fulfil, name="sheaf save", args=(self._future,), daemon=True).start()
            return self._future

    def _fulfil(self, future: "_SaveFuture") -> None:
        if self._library.sheaf_save_wait(self._handle, _DURABLE):
            future.set_result("durable")
        elif self.state == "skipped":
            future.set_result("skipped")
        else:
            future.set_exception(self._failure())

    def __await__(self) -> "Generator[Any, None, str]":
        import asyncio

        return asyncio.wrap_future(self.future()).__await__()

    def _failure(self) -> Error:
        """Returns the error of this save, which has failed."""
        self._library.sheaf_save_wait(self._handle, _DURABLE)  # returns at once, with the error
        return self._library.error(self.path)

    def __repr__(self) -> str:
        return f"<sheaf.Save '{self.path}', {self.state}>"


class _SaveFuture(Future[str]):
    """A future that prints its exception if the program never retrieves it. The library does not report the
    failure then, because it was reported to this future."""

    _is_retrieved = False

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        found = super().exception(timeout)
        self._is_retrieved = True
        return found

    def result(self, timeout: Optional[float] = None) -> str:
        self.exception(timeout)
        return super().result()

    def __del__(self) -> None:
        if self._is_retrieved or not self.done():
            return
        error = super().exception()
        if error is not None:
            print(f"sheaf: a save has failed, and its future was not asked: {error}", file=sys.stderr)


def closed_in_background(
    calls: Library, sid: int, path: str, close: Callable[[], None], task: Optional[int] = None
) -> Optional[Save]:
    """Closes a multifile that ``task`` has opened for writing. Returns its save if it was opened with ``async``;
    else calls ``close``, which closes it."""
    handle = calls.sheaf_parclose_async(sid)
    if handle:
        return Save(calls, handle, path)
    error = calls.error(path, task)
    if not isinstance(error, WrongModeError):
        raise error
    close()
    return None


def wait_if_pending(save: Optional[Save]) -> None:
    """Waits until a closed multifile has its name, if its words or the environment requested ``async``."""
    if save is not None:
        save.wait()


def save_of(name: Path) -> Save:
    """Returns the newest save of a multifile: a pending or failed one of this process, or of a job that has left
    records beside the name, or else the complete multifile itself. Raises NotFoundError if there is none."""
    path = os.fspath(name)
    calls = library("saving in the background")
    handle = calls.sheaf_save_of(os.fsencode(path))
    if not handle:
        raise calls.error(path)
    return Save(calls, handle, path)


def latest(pattern: Path) -> Optional[str]:
    """Returns the newest durable multifile whose name matches the pattern; None if there is none. The last
    component may contain ``*``, ``?`` and ``[...]``. Saves that are pending or have failed do not count."""
    given = os.fsencode(pattern)
    calls = library("looking for the latest save")
    found = ctypes.create_string_buffer(len(given) + _LONGEST_NAME + 1)
    length = calls.sheaf_latest(given, found, len(found))
    if length < 0:
        raise calls.error(os.fspath(pattern))
    return os.fsdecode(found.value) if length else None


@dataclass(frozen=True)
class SaveEntry:
    """A save that has records in a directory (`sheaf saves`). ``state``: "writing", "captured", "local", "durable",
    "failed", "lost" (its job has ended and bytes are missing) or "complete" (its job has ended, and `sheaf leftovers
    --finish` commits it). ``age``: seconds since the close. ``rate``: bytes a second since then. ``error``: "" if
    there is none."""

    name: str
    state: str
    age: float
    bytes: int
    written: int
    rate: float
    error: str
    temporary: str
    hosts: int
    tasks: int


def saves(directory: Path = ".") -> List[SaveEntry]:
    """Returns the saves in the background that have records in a directory, of all jobs."""
    path = os.fspath(directory)
    calls = library("saving in the background")
    found: List[SaveEntry] = []

    def visit(_: Any, entry: Any) -> int:
        one = entry.contents
        found.append(
            SaveEntry(
                os.fsdecode(one.name),
                one.state.decode(),
                one.age,
                one.bytes,
                one.written,
                one.rate,
                one.error.decode("utf-8", "replace"),
                os.fsdecode(one.temporary),
                one.hosts,
                one.tasks,
            )
        )
        return 0

    if calls.sheaf_list_saves(os.fsencode(path), SAVE_VISIT(visit), None) < 0:
        raise calls.error(path)
    return found
