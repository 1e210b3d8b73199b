"""Finds the files of the generation under a name, even while a commit renames them (docs/format.md,
section 20)."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from .errors import FormatError
from .hashing import xxh3
from .layout import physical_name

_MAGIC = b"\x89ShfCmt\n"
_SIZE, _HASHED = 72, 64
_HEAD = 1076  # bytes of the fixed part of META1
_EXTENSION, _EXTENSION_MAGIC = 1012, b"\x89Sheaf\r\n"
_TRIES = 100

Opened = TypeVar("Opened")


@dataclass(frozen=True)
class CommitRecord:
    """The contents of the record. Zeros in `replaced`: the replaced generation has no identity, or there
    was none."""

    nfiles: int
    identity: bytes
    number: int
    replaced: bytes = bytes(16)
    replaced_files: int = 0

    def pack(self) -> bytes:
        data = _MAGIC + struct.pack("<Ii16sQ16siI", 1, self.nfiles, self.identity, self.number, self.replaced,
                                    self.replaced_files, 0)
        return data + struct.pack("<Q", xxh3(data))


def read_record(path: str) -> CommitRecord | None:
    """Returns None if the file is not a record. Raises FormatError for a damaged record, OSError if
    reading fails."""
    return _parse(_head(path), path)


def temporary_name(path: str, number: int) -> str:
    """Returns the temporary name of physical file 0 of a set with the final name `path`."""
    target = path
    while os.path.islink(target):
        target = os.path.join(os.path.dirname(target), os.readlink(target))
    return f"{target}.sheaf-tmp.{number:016x}"


class Generation:
    """The locations of the physical files of the multifile `path`, valid until a commit changes them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._head = _head(path)
        self._record = _parse(self._head, path)
        self._identity = self._record.identity if self._record else _identity(self._head)

    def candidates(self, number: int) -> list[str]:
        """Returns the possible names of physical file `number`; the first one that exists is used."""
        name = physical_name(self.path, number)
        if self._record is None:
            return [name]
        return [physical_name(temporary_name(self.path, self._record.number), number), name]

    def open(self, number: int, opener: Callable[[str], Opened]) -> Opened:
        """Calls `opener` with the name of physical file `number`. Raises FileNotFoundError, FormatError."""
        names = self.candidates(number)
        for name in names[:-1]:
            try:
                return opener(name)
            except FileNotFoundError:
                continue
        return opener(names[-1])

    def require_own(self, path: str, head: bytes) -> None:
        """Raises FormatError unless a file that starts with `head` may belong to the generation."""
        identity = _identity(head)
        if identity != self._identity and (self._record or (identity and self._identity)):
            raise FormatError(path, f"is of another generation than '{self.path}'")

    def is_current(self) -> bool:
        return _head(self.path) == self._head


def open_generation(path: str, attempt: Callable[[Generation], Opened]) -> Opened:
    """Returns the result of `attempt` for one generation. Retries if it fails because another generation was committed."""
    for _ in range(_TRIES - 1):
        generation = Generation(path)
        try:
            return attempt(generation)
        except (FormatError, FileNotFoundError):
            if generation.is_current():
                raise
    return attempt(Generation(path))


def _head(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(_HEAD)


def _identity(head: bytes) -> bytes | None:
    if len(head) < _HEAD or head[_EXTENSION:_EXTENSION + 8] != _EXTENSION_MAGIC:
        return None
    return head[_EXTENSION + 16:_EXTENSION + 32]


def _parse(head: bytes, path: str) -> CommitRecord | None:
    if head[:8] != _MAGIC:
        return None
    if len(head) < _SIZE or xxh3(head[:_HASHED]) != struct.unpack_from("<Q", head, _HASHED)[0]:
        raise FormatError(path, "the commit record is damaged")
    version, nfiles, identity, number, replaced, replaced_files, _ = struct.unpack_from("<Ii16sQ16siI", head, 8)
    if version != 1 or nfiles < 2:
        raise FormatError(path, f"a commit record of version {version} for {nfiles} files")
    return CommitRecord(nfiles, identity, number, replaced, replaced_files)
