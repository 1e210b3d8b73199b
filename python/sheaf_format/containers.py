"""Containers, and the names of the tasks of a multifile (docs/format.md, sections 19 and 14.5)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import extensions
from .errors import FormatError
from .hashing import crc32c, xxh3
from .physical import PhysicalFile

_MAGIC = b"\x89ShfCtn\n"
_PAGE = 4096
_ENTRIES = 255
NAMES = 5
CREATE, PIECE, SIZE, ATTRIBUTES, RENAME, REMOVE = range(1, 7)
FAILURE = 8


@dataclass
class Stream:
    """What a set holds under a name."""

    data: bytearray = field(default_factory=bytearray)
    mode: int = 0o644
    modified: int = 0
    name: bytes | None = None  # None: it was removed
    missing: dict[tuple[int, int], int] = field(default_factory=dict)  # offsets of failed writes, by container and time


@dataclass(frozen=True)
class _Record:
    time: int
    origin: int  # the container that has it
    kind: int
    flags: int
    stream: tuple[int, int]
    body: bytes
    data: bytes = b""


def _seal(identity: bytes, place: int, data: bytes) -> int:
    return crc32c(identity + struct.pack("<q", place) + data)


def _records(path: str) -> Iterator[_Record]:
    with open(path, "rb") as file:
        content = file.read()
    if content[:8] != _MAGIC or xxh3(content[:104]) != struct.unpack_from("<Q", content, 104)[0]:
        raise FormatError(path, "is not a container")
    identity = content[16:32]
    (own,) = struct.unpack_from("<Q", identity)
    table = _PAGE
    while table:
        following = 0
        for entry in range(_ENTRIES + 1):
            at = table + 16 * entry
            place, size, seal = struct.unpack_from("<qII", content.ljust(at + 16, b"\0"), at)
            if seal != _seal(identity, at, content[at:at + 12]):
                break
            if entry == _ENTRIES:
                following = place
            else:
                yield from _area(content, identity, own, place, place + size)
        table = following


def _area(content: bytes, identity: bytes, own: int, at: int, end: int) -> Iterator[_Record]:
    while at + 32 <= min(end, len(content)):
        seal, size, kind, flags, time, number, origin = struct.unpack_from("<IHBBqQQ", content, at)
        if size < 32 or seal != _seal(identity, at, content[at + 4:at + (48 if kind == PIECE else size)]):
            return
        data = b""
        if kind == PIECE:
            place, word = struct.unpack_from("<qQ", content, at + 40)
            length = word & (1 << 40) - 1
            if _seal(identity, at, struct.pack("<q", length)) >> 8 != word >> 40:
                length = 0
            data = content[place:place + length].ljust(length, b"\0")
        yield _Record(time, own, kind, flags, (number, origin or own), content[at + 32:at + size], data)
        at += size


def read_streams(paths: list[str]) -> dict[bytes, Stream]:
    """The streams of a set of containers, without a multifile below them."""
    keys: dict[tuple[int, int], Stream] = {}
    names: dict[bytes, Stream] = {}
    records = [record for path in paths for record in _records(path)]
    for record in sorted(records, key=lambda r: (r.time, r.origin)):
        if record.kind == CREATE:
            _create(record, keys, names)
        stream = keys.get(record.stream)
        if stream is not None and stream.name is not None:
            _apply(record, stream, names)
    return names


def _name(body: bytes) -> bytes:
    return body[8:8 + struct.unpack_from("<I", body, 4)[0]]


def _create(record: _Record, keys: dict[tuple[int, int], Stream], names: dict[bytes, Stream]) -> None:
    if record.stream in keys:
        stream = keys[record.stream]
        if record.flags & 1 and stream.name is not None:
            _resize(stream, 0)
        return
    name = _name(record.body)
    if name not in names:
        names[name] = Stream(mode=struct.unpack_from("<I", record.body)[0], modified=record.time, name=name)
    elif record.flags & 1:
        _resize(names[name], 0)
    keys[record.stream] = names[name]


def _resize(stream: Stream, size: int) -> None:
    del stream.data[size:]
    stream.data.extend(bytes(size - len(stream.data)))
    stream.missing = {failure: offset for failure, offset in stream.missing.items() if offset < size}


def _apply(record: _Record, stream: Stream, names: dict[bytes, Stream]) -> None:
    if record.kind == PIECE:
        (offset,) = struct.unpack_from("<q", record.body)
        if record.data:
            stream.data.extend(bytes(max(0, offset - len(stream.data))))
            stream.data[offset:offset + len(record.data)] = record.data
        stream.modified = max(stream.modified, struct.unpack_from("<q", record.body, 24)[0] or record.time)
    elif record.kind == SIZE:
        _resize(stream, *struct.unpack_from("<q", record.body))
    elif record.kind == ATTRIBUTES:
        which, mode, modified = struct.unpack_from("<IIq", record.body)
        stream.mode = mode if which & 1 else stream.mode
        stream.modified = modified if which & 2 else stream.modified
    elif record.kind == FAILURE:
        repeated, offset, _ = struct.unpack_from("<qqq", record.body)
        if repeated:
            stream.missing.pop((record.origin, repeated), None)
        else:
            stream.missing[record.origin, record.time] = offset
    elif record.kind in (RENAME, REMOVE):
        assert stream.name is not None
        del names[stream.name]
        stream.name = None
        if record.kind == RENAME:
            stream.name = _name(record.body)
            if stream.name in names:
                names[stream.name].name = None
            names[stream.name] = stream


def write_container(path: str, streams: dict[bytes, bytes], identity: bytes, host: bytes = b"host", time: int = 1) -> None:
    """A container with one piece for each stream."""
    at, records, data = 2 * _PAGE, b"", b""

    def add(kind: int, number: int, body: bytes, words: bytes = b"") -> None:
        nonlocal records
        place = at + len(records)
        size = 32 + len(body) + len(words)
        rest = struct.pack("<HBBqQQ", size, kind, 0, time + number, number, 0) + body
        records += struct.pack("<I", _seal(identity, place, rest)) + rest + words

    areas = sum(-(-(40 + len(name)) // 8) * 8 + 64 for name in streams)
    areas = -(-areas // _PAGE) * _PAGE or _PAGE
    for number, (name, content) in enumerate(streams.items(), 1):
        body = struct.pack("<II", 0o644, len(name)) + name
        add(CREATE, number, body + bytes(-len(body) % 8))
        place = at + len(records)
        word = _seal(identity, place, struct.pack("<q", len(content))) >> 8 << 40 | len(content)
        add(PIECE, number, struct.pack("<qq", 0, at + areas + len(data)), struct.pack("<Qq", word, time + number))
        data += content
    head = _MAGIC + struct.pack("<II", 1, _PAGE) + identity + struct.pack("<q", time) + host.ljust(64, b"\0")
    head += struct.pack("<Q", xxh3(head))
    entry = struct.pack("<qI", at, areas)
    entry += struct.pack("<I", _seal(identity, _PAGE, entry))
    with open(path, "wb") as file:
        file.write(head.ljust(_PAGE, b"\0") + entry.ljust(_PAGE, b"\0") + records.ljust(areas, b"\0") + data)


def task_names(file: PhysicalFile) -> list[tuple[bytes, int, int]] | None:
    """Name, permissions and time of the tasks of a complete file, in their order; None: they have no names."""
    found = extensions.section(file, NAMES)
    if found is None:
        return None
    names, place = [], 32 * file.header.ntasks
    for task in range(file.header.ntasks):
        modified, mode, length, at, _ = struct.unpack_from("<qIIqQ", found, 32 * task)
        name = found[at:at + length]
        if at != place or not 1 <= length <= 4095 or b"\0" in name or (names and names[-1][0] >= name):
            raise FormatError(file.path, f"the name of task {task} is not as it must be")
        names.append((name, mode, modified))
        place += length
    if place != len(found):
        raise FormatError(file.path, "there is more behind the names")
    return names
