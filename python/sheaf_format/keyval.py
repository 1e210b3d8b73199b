"""Key-value records (docs/format.md, section 10)."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from .errors import FormatError
from .header import prefix_of
from .physical import PhysicalFile

_HEADER = "QQ"  # key, length of the value in bytes
_HEADER_BYTES = 16


@dataclass(frozen=True)
class Record:
    """One record of a task: its key, and offset and length of its value in the task's stream, in bytes."""

    key: int
    position: int
    length: int
    _reader: "_StreamReader | _BytesReader"

    def value(self) -> Iterator[bytes]:
        """Yields the value in pieces of bounded size."""
        return self._reader.read(self.position, self.length)


class _StreamReader:
    """Random access to the stream of one local task."""

    def __init__(self, file: PhysicalFile, lrank: int) -> None:
        self._file = file
        self._blocks = file.blocks(lrank)
        self._begins = [0, *accumulate(size for _, size in self._blocks)]

    @property
    def length(self) -> int:
        return self._begins[-1]

    def read(self, position: int, size: int) -> Iterator[bytes]:
        """Yields stream bytes [position, position+size), which must be inside the stream."""
        k = bisect_right(self._begins, position) - 1
        while size > 0:
            offset, used = self._blocks[k]
            skip = position - self._begins[k]
            part = min(size, used - skip)
            yield from self._file.read_range(offset + skip, part)
            position, size, k = position + part, size - part, k + 1


class _BytesReader:
    """The same for a stream in memory."""

    def __init__(self, stream: bytes) -> None:
        self._stream = stream
        self.length = len(stream)

    def read(self, position: int, size: int) -> Iterator[bytes]:
        yield self._stream[position:position + size]


def scan(file: PhysicalFile, lrank: int, plain: bytes | None = None) -> Iterator[Record]:
    """Yields the records of one local task, reading only their headers. `plain`: the decompressed stream,
    if it is compressed. Raises FormatError if the stream ends early."""
    reader = _StreamReader(file, lrank) if plain is None else _BytesReader(plain)
    form = prefix_of(file.header.byte_order) + _HEADER
    position = 0
    while position < reader.length:
        if position + _HEADER_BYTES > reader.length:
            raise FormatError(file.path, f"local task {lrank} ends inside a record header at stream byte {position}")
        key, length = struct.unpack(form, b"".join(reader.read(position, _HEADER_BYTES)))
        position += _HEADER_BYTES
        if length > reader.length - position:
            raise FormatError(file.path, f"a record of local task {lrank} claims {length} bytes, "
                                         f"the stream has {reader.length - position} left")
        yield Record(key, position, length, reader)
        position += length


def encode(records: Iterable[tuple[int, bytes]], byte_order: str) -> bytes:
    """Returns the stream that contains the given (key, value) records."""
    form = prefix_of(byte_order) + _HEADER
    return b"".join(struct.pack(form, key, len(value)) + value for key, value in records)
