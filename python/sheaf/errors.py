"""Exceptions: what failed, in which file, for which task, at which offset of its stream, and the errno of the
system call.

Every exception of this package that concerns a file is an :class:`Error`, which is an ``OSError``. Its
subclasses also derive from the exception that Python itself raises in such a case: ``except
FileNotFoundError`` works as for ``open``.

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
    """A failed call on a multifile. ``path``: the multifile; ``task``: its number, or None; ``offset``:
    offset in the stream of the task, in bytes, at which the failed transfer started, or None; ``errno``:
    of the system call, or None; ``kind``: one word."""

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
    """An argument that is invalid for any file."""

    kind = "invalid_argument"


def require_bits(value: int, bits: int, what: str, path: str, task: int) -> None:
    """Raises InvalidArgumentError unless ``value`` is an unsigned number of at most ``bits`` bits."""
    if not 0 <= value < 1 << bits:
        said = f"'{path}': {what} {value} of task {task} is not in 0 to 2^{bits} - 1"
        raise InvalidArgumentError(said, path=path, task=task)


class WrongModeError(Error, io.UnsupportedOperation):
    """An operation that the open mode does not allow, for example a write to a multifile opened for
    reading."""

    kind = "wrong_mode"


class NotFoundError(Error, FileNotFoundError):
    """The file does not exist."""

    kind = "not_found"


class PermissionDeniedError(Error, PermissionError):
    """The operating system denies access."""

    kind = "permission"


class NoSpaceError(Error):
    """The disk or a quota is full."""

    kind = "no_space"


class NotAMultifileError(Error):
    """The file has no signature of a SION file."""

    kind = "not_a_multifile"


class UnsupportedError(Error):
    """A multifile that this version must reject, or a codec that is not installed."""

    kind = "unsupported"


class DamagedError(Error):
    """Metadata that contradict each other, or data that do not match their checksum."""

    kind = "damaged"


class UnclosedError(Error):
    """The multifile was never closed, and its contents cannot be determined; see :func:`sheaf.repair`."""

    kind = "unclosed"


class OutOfRangeError(Error, IndexError):
    """A task, block or position outside the multifile."""

    kind = "out_of_range"


class NoStreamError(Error, KeyError):
    """The multifile has no stream of this name."""

    kind = "out_of_range"


class MismatchError(Error):
    """The tasks of one collective call disagree about its arguments."""

    kind = "mismatch"


class ForeignError(Error):
    """The file at the expected name does not belong to Sheaf, or a running job is writing it."""

    kind = "foreign"


class UnclosedWarning(UserWarning):
    """A multifile that is read was never closed. It contains the data that its tasks had flushed, and the
    chunks they had completed."""


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


# Advice in messages of the library, and the equivalent in Python.
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
    """Returns the exception for a kind named by the library. Replaces command line options in the message
    by Python arguments."""
    for option, argument in _ADVICE:
        message = message.replace(option, argument)
    return _KINDS.get(kind, Error)(message, path=path, task=task, offset=offset, errno=errno)
