"""Operations on whole multifiles: verify, repair, split, defragment.

``progress`` is called with (bytes done, total bytes) by the calling thread. An exception it raises ends the
operation, which then leaves no output. ``progress=True`` shows a ``tqdm`` bar, if that is installed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

from ._library import FINDING, PROGRESS, library
from .words import words_of

__all__ = ["verify", "repair", "split", "defrag", "VerifyReport", "RepairReport", "Finding", "RepairedFile"]

Path = Union[str, "os.PathLike[str]"]
Progress = Union[None, bool, Callable[[int, int], object]]
_REPLACE, _DRY_RUN, _BY_HOLES, _FORCE, _GLOBAL_RANKS, _IGNORE_CHECKSUMS, _DECOMPRESS = 1, 2, 4, 8, 16, 32, 64


@dataclass(frozen=True)
class Finding:
    """A problem of a physical file: ``state`` is "unclosed", "damaged", "unreadable" or "foreign"."""

    path: str
    state: str
    message: str


@dataclass
class VerifyReport:
    """The result of :func:`verify`. True if there are no problems."""

    ok: bool = False
    files: List[str] = field(default_factory=lambda: [])
    findings: List[Finding] = field(default_factory=lambda: [])
    notes: List[str] = field(default_factory=lambda: [])

    def __bool__(self) -> bool:
        return self.ok


@dataclass
class RepairedFile:
    """A physical file, the source of its repair ("complete", "journal", "nothing", "table", "holes"), and
    the facts that could not be determined."""

    path: str
    source: str
    unknown: List[str] = field(default_factory=lambda: [])


@dataclass
class RepairReport:
    """The result of :func:`repair`."""

    files: List[RepairedFile] = field(default_factory=lambda: [])

    @property
    def was_complete(self) -> bool:
        return all(file.source == "complete" for file in self.files)


class _Told:
    """A progress callback for C: an exception ends the operation and is raised again afterwards."""

    def __init__(self, progress: Progress, what: str) -> None:
        self._problem: Optional[BaseException] = None
        self._bar: Any = None
        if progress is True:
            self._bar = _bar(what)
            progress = self._move if self._bar is not None else None
        self._call: Optional[Callable[[int, int], object]] = progress if callable(progress) else None
        self.callback = PROGRESS(self._guarded)

    def _guarded(self, _: Any, done: int, total: int) -> int:
        try:
            if self._call is not None:
                self._call(done, total)
            return 0
        except BaseException as problem:
            self._problem = problem
            return 1

    def _move(self, done: int, total: int) -> None:
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def finish(self, failed: bool, path: str) -> None:
        """Raises the exception of the callback, or the error of the call."""
        if self._bar is not None:
            self._bar.close()
        if self._problem is not None:
            raise self._problem
        if failed:
            raise library().error(path)


def _bar(what: str) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(desc=what, unit="B", unit_scale=True, unit_divisor=1024)


def _flags(*pairs: Tuple[bool, int]) -> int:
    return sum(flag for on, flag in pairs if on)


def verify(path: Path, *, data: bool = True, progress: Progress = None) -> VerifyReport:
    """Checks all metadata for consistency, and all data against their checksums. ``data`` False: only
    metadata."""
    name, report, told = os.fspath(path), VerifyReport(), _Told(progress, "verify")

    def find(_: Any, file: bytes, state: bytes, message: Optional[bytes]) -> None:
        where, text = os.fsdecode(file), (message or b"").decode("utf-8", "replace")
        if where not in report.files:
            report.files.append(where)
        if state == b"note":
            report.notes.append(text)
        elif message is not None:
            report.findings.append(Finding(where, state.decode(), text))

    result = library("verify").sheaf_verify(os.fsencode(name), int(data), told.callback, FINDING(find), None)
    told.finish(result < 0, name)
    report.ok = result == 1
    return report


def repair(
    path: Path,
    *,
    copy: Optional[Path] = None,
    replace: bool = False,
    dry_run: bool = False,
    by_holes: bool = False,
    force: bool = False,
    progress: Progress = None,
) -> RepairReport:
    """Completes a multifile that was never closed, in place or as the copy ``copy``.

    Waits up to 25 s to find out whether a running job is writing it, and raises an error in that case.
    ``force``: repairs it although a job may be writing it or a part is missing. ``replace``: replaces an
    existing copy. ``dry_run``: only reports. ``by_holes``: ignores the journal."""
    name, report, told = os.fspath(path), RepairReport(), _Told(progress, "repair")

    def find(_: Any, file: bytes, state: bytes, message: Optional[bytes]) -> None:
        if message is None:
            report.files.append(RepairedFile(os.fsdecode(file), state.decode()))
        else:
            report.files[-1].unknown.append(message.decode("utf-8", "replace"))

    flags = _flags((replace, _REPLACE), (dry_run, _DRY_RUN), (by_holes, _BY_HOLES), (force, _FORCE))
    result = library("repair").sheaf_repair(
        os.fsencode(name),
        None if copy is None else os.fsencode(copy),
        flags,
        told.callback,
        FINDING(find),
        None,
    )
    told.finish(result != 1, name)
    return report


def split(
    path: Path,
    prefix: Path,
    *,
    digits: int = 5,
    tasks: Optional[Sequence[int]] = None,
    global_ranks: bool = False,
    replace: bool = False,
    checksums: bool = True,
    progress: Progress = None,
) -> None:
    """Writes the stream of every task to a file named ``prefix`` followed by the task number in ``digits``
    digits. All files appear together at the end, or none.

    ``tasks``: only these tasks. ``global_ranks``: uses the stored global ranks as numbers. ``replace``:
    replaces existing files. ``checksums`` False: does not verify the data."""
    import ctypes

    name, told = os.fspath(path), _Told(progress, "split")
    flags = _flags((replace, _REPLACE), (global_ranks, _GLOBAL_RANKS), (not checksums, _IGNORE_CHECKSUMS))
    count = -1 if tasks is None else len(tasks)
    numbers = (ctypes.c_longlong * max(count, 1))(*(tasks or ()))
    result = library("split").sheaf_split(
        os.fsencode(name), os.fsencode(prefix), digits, numbers, count, flags, told.callback, None
    )
    told.finish(result != 1, name)


def defrag(
    path: Path,
    output: Path,
    *,
    block_size: int = 0,
    files: int = 1,
    compress: Optional[str] = None,
    shuffle: Optional[int] = None,
    decompress: bool = False,
    replace: bool = False,
    checksums: bool = True,
    progress: Progress = None,
) -> None:
    """Copies a multifile to ``files`` physical files with one chunk per task.

    ``block_size``: alignment of the chunks in bytes; 0: that of the input; 1: no gaps. ``compress``,
    ``shuffle``: as in :func:`sheaf.open`. ``decompress``: writes uncompressed streams. ``replace``:
    replaces an existing output. ``checksums`` False: does not verify the data."""
    name, told = os.fspath(path), _Told(progress, "defrag")
    flags = _flags((replace, _REPLACE), (decompress, _DECOMPRESS), (not checksums, _IGNORE_CHECKSUMS))
    number = "" if files == 1 else f"files={files}"
    words = words_of(compress=compress, shuffle=shuffle, words=number).encode() or None
    result = library("defrag").sheaf_defrag(
        os.fsencode(name), os.fsencode(output), block_size, words, flags, told.callback, None
    )
    told.finish(result != 1, name)
