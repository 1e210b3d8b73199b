"""Exceptions: what went wrong, in which file, for which task, where in its stream, and the errno of the
system call.

Every exception of this package that tells of a file is an :class:`Error`, which is an ``OSError``. Its
subclasses are also the exception that Python itself raises in such a case: ``except FileNotFoundError`` works
as for ``open``.

>>> from sheaf.errors import Error, OutOfRangeError
>>> error = OutOfRangeError("'a.sion': has 4 tasks, no task 7", path="a.sion", task=7)
>>> isinstance(error, IndexError), error.path, error.task, error.kind
(True, 'a.sion', 7, 'out_of_range')
"""

from __future__ import annotations

import io
from typing import Any, Dict, Optional, Tuple, Type

__all__ = [
    "Error",
    "InvalidArgumentError",
    "WrongModeError",
    "NotFoundError",
    "PermissionDeniedError",
    "NoSpaceError",
    "NotAMultifileError",
    "UnsupportedError",
    "DamagedError",
    "UnclosedError",
    "OutOfRangeError",
    "NoStreamError",
    "MismatchError",
    "ForeignError",
    "UnclosedWarning",
    "error_of",
]


class Error(OSError):
    """A call on a multifile has failed. ``path``: the multifile; ``task``: its number, or None; ``offset``:
    the place in the stream of the task where the failing transfer began, or None; ``errno``: of the system
    call, or None; ``kind``: one word."""

    kind = "io"

    def __init__(
        self,
        message: str,
        *,
        path: Optional[str] = None,
        task: Optional[int] = None,
        offset: Optional[int] = None,
        errno: Optional[int] = None,
    ) -> None:
        if errno:
            super().__init__(errno, message)
        else:
            super().__init__(message)
        self.message = message
        self.path = path
        self.task = task
        self.offset = offset
        self.filename = path

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> Tuple[Any, ...]:
        facts = {"path": self.path, "task": self.task, "offset": self.offset, "errno": self.errno}
        return _rebuild, (type(self), self.message, facts)


def _rebuild(kind: Type[Error], message: str, facts: Dict[str, Any]) -> Error:
    return kind(message, **facts)


class InvalidArgumentError(Error, ValueError):
    """An argument that no file can satisfy."""

    kind = "invalid_argument"


def require_bits(value: int, bits: int, what: str, path: str, task: int) -> None:
    """Raises for a number that has no place in the file."""
    if not 0 <= value < 1 << bits:
        said = f"'{path}': {what} {value} of task {task} is not in 0 to 2^{bits} - 1"
        raise InvalidArgumentError(said, path=path, task=task)


class WrongModeError(Error, io.UnsupportedOperation):
    """For example a write to a multifile that is open for reading."""

    kind = "wrong_mode"


class NotFoundError(Error, FileNotFoundError):
    """The file does not exist."""

    kind = "not_found"


class PermissionDeniedError(Error, PermissionError):
    """The operating system refuses access."""

    kind = "permission"


class NoSpaceError(Error):
    """The disk or a quota is full."""

    kind = "no_space"


class NotAMultifileError(Error):
    """The file does not begin as a SION file does."""

    kind = "not_a_multifile"


class UnsupportedError(Error):
    """A multifile that this version must refuse, or a codec that is not installed."""

    kind = "unsupported"


class DamagedError(Error):
    """Metadata that contradict each other, or data that do not match their checksum."""

    kind = "damaged"


class UnclosedError(Error):
    """The multifile was never closed, and nothing tells what is in it; see :func:`sheaf.repair`."""

    kind = "unclosed"


class OutOfRangeError(Error, IndexError):
    """A task, block or position that the multifile does not have."""

    kind = "out_of_range"


class NoStreamError(Error, KeyError):
    """A name that no stream of the multifile has."""

    kind = "out_of_range"


class MismatchError(Error):
    """The tasks of one collective call disagree about its arguments."""

    kind = "mismatch"


class ForeignError(Error):
    """What lies where a file of our own should is not ours, or a job that lives is writing it."""

    kind = "foreign"


class UnclosedWarning(UserWarning):
    """A multifile that is read was never closed: what its tasks had flushed, and chunks they had completed,
    is there."""


_KINDS: Dict[str, Type[Error]] = {
    kind.kind: kind
    for kind in (
        Error,
        InvalidArgumentError,
        WrongModeError,
        NotFoundError,
        PermissionDeniedError,
        NoSpaceError,
        NotAMultifileError,
        UnsupportedError,
        DamagedError,
        UnclosedError,
        OutOfRangeError,
        MismatchError,
        ForeignError,
    )
}


# What messages of the library advise, and what a Python program does.
_ADVICE = (
    ("; use --force to replace it", "; use replace=True to replace it"),
    ("; use --decompress,", "; use decompress=True,"),
    (": use --decompress,", ": use decompress=True,"),
    ("'sheaf defrag --decompress'", "sheaf.defrag(..., decompress=True)"),
    ("`sheaf repair`", "`sheaf.repair`"),
)


def error_of(
    kind: str,
    message: str,
    *,
    path: Optional[str] = None,
    task: Optional[int] = None,
    offset: Optional[int] = None,
    errno: Optional[int] = None,
) -> Error:
    """The exception for a kind as the library names them; its message names arguments of Python in the place
    of options of the command line."""
    for option, argument in _ADVICE:
        message = message.replace(option, argument)
    return _KINDS.get(kind, Error)(message, path=path, task=task, offset=offset, errno=errno)
