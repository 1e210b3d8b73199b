"""Containers, and the names of the tasks of a multifile (docs/format.md, sections 19 and 14.5)."""

from __future__ import annotations

import bisect
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
SUMS = 9
BLOCK = 65536  # bytes per checksum
_SET = 1 << 63


@dataclass
class Stream:
    """A stream of a set, with its name."""

    data: bytearray = field(default_factory=bytearray)
    mode: int = 0o644
    modified: int = 0
    name: bytes | None = None  # None: the stream was removed
    missing: dict[tuple[int, int], int] = field(default_factory=dict)  # offsets of failed writes, by container and time


@dataclass(frozen=True)
class _Record:
    time: int
    origin: int  # container of the data
    kind: int
    flags: int
    stream: tuple[int, int]
    body: bytes
    data: bytes = b""
    place: int = 0  # offset of `data` in the container


class _Rooms:
    """The checksum words of a container of version 2."""

    def __init__(self, path: str, content: bytes) -> None:
        self._path, self._content = path, content
        self._ends: dict[int, int] = {}  # offset of the end word, by room
        self._slots: dict[tuple[int, int], int] = {}  # offset of a slot, by room and block
        self._sound: set[int] = set()  # offsets of verified blocks

    def add(self, kind: int, flags: int, at: int, size: int) -> None:
        if kind == PIECE and flags & 1:
            (room,) = struct.unpack_from("<q", self._content, at + 40)
            self._ends[room] = at + 64
            if room != at + 72:
                self._add_slots(room, 0, at + 72, at + size)
        elif kind == SUMS:
            self._add_slots(*struct.unpack_from("<qq", self._content, at + 32), at + 48, at + size)

    def _add_slots(self, room: int, first: int, at: int, end: int) -> None:
        for place in range(at, end, 8):
            self._slots[room, first + (place - at) // 8] = place

    def _word(self, place: int | None, block: int) -> tuple[int, int] | None:
        """Returns the checksum and the number of bytes it covers; None if the word does not belong to the
        block."""
        (word,) = struct.unpack_from("<Q", self._content, place) if place else (0,)
        if not word & _SET or word >> 49 & 0x3FFF != block & 0x3FFF or word >> 32 & 0x1FFFF > BLOCK:
            return None
        return word & 0xFFFFFFFF, word >> 32 & 0x1FFFF

    def check(self, place: int, length: int) -> None:
        """Verifies the blocks that contain these bytes of streams."""
        rooms = sorted(self._ends)
        at = place
        while at < place + length:
            known = bisect.bisect_right(rooms, at)
            if not known:
                return
            room = rooms[known - 1]
            block = (at - room) // BLOCK
            begin = room + block * BLOCK
            at = min([begin + BLOCK, *rooms[known:known + 1]])
            if begin in self._sound:
                continue
            found = self._word(self._slots.get((room, block)), block) or self._word(self._ends[room], block)
            if found and crc32c(self._content[begin:begin + found[1]].ljust(found[1], b"\0")) != found[0]:
                raise FormatError(self._path, f"the {found[1]} bytes at byte {begin} do not match their checksum")
            self._sound.add(begin)


def sum_word(data: bytes, block: int) -> int:
    """Returns the word of a block that starts with these bytes."""
    return _SET | (block & 0x3FFF) << 49 | len(data) << 32 | crc32c(data)


def _seal(identity: bytes, place: int, data: bytes) -> int:
    return crc32c(identity + struct.pack("<q", place) + data)


def _records(path: str, checked: bool) -> list[_Record]:
    with open(path, "rb") as file:
        content = file.read()
    if content[:8] != _MAGIC or xxh3(content[:104]) != struct.unpack_from("<Q", content, 104)[0]:
        raise FormatError(path, "is not a container")
    (version,) = struct.unpack_from("<I", content, 8)
    if version not in (1, 2):
        raise FormatError(path, f"is a container of version {version}")
    rooms = _Rooms(path, content)
    records = list(_found(content, rooms))
    if version == 2 and checked:
        for record in records:
            rooms.check(record.place, len(record.data))
    return [record for record in records if record.kind != SUMS]


def _found(content: bytes, rooms: _Rooms) -> Iterator[_Record]:
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
                yield from _area(content, rooms, own, place, place + size)
        table = following


def _area(content: bytes, rooms: _Rooms, own: int, at: int, end: int) -> Iterator[_Record]:
    identity = content[16:32]
    while at + 32 <= min(end, len(content)):
        seal, size, kind, flags, time, number, origin = struct.unpack_from("<IHBBqQQ", content, at)
        if size < 32 or seal != _seal(identity, at, content[at + 4:at + (48 if kind in (PIECE, SUMS) else size)]):
            return
        rooms.add(kind, flags, at, size)
        data, place = b"", 0
        if kind == PIECE:
            place, word = struct.unpack_from("<qQ", content, at + 40)
            length = word & (1 << 40) - 1
            if _seal(identity, at, struct.pack("<q", length)) >> 8 != word >> 40:
                length = 0
            data = content[place:place + length].ljust(length, b"\0")
        yield _Record(time, own, kind, flags, (number, origin or own), content[at + 32:at + size], data, place)
        at += size


def read_streams(paths: list[str], checked: bool = True) -> dict[bytes, Stream]:
    """Returns the streams of a set of containers that has no multifile below. Verifies blocks with
    checksums if `checked`."""
    keys: dict[tuple[int, int], Stream] = {}
    names: dict[bytes, Stream] = {}
    records = [record for path in paths for record in _records(path, checked)]
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


def write_container(path: str, streams: dict[bytes, bytes], identity: bytes, host: bytes = b"host", time: int = 1, version: int = 1) -> None:
    """Writes a container with one piece per nonempty stream. In version 2 each starts a room, with slots
    for its complete blocks."""
    at, records, data = 2 * _PAGE, b"", b""

    def add(kind: int, number: int, body: bytes, words: bytes = b"") -> None:
        nonlocal records
        place = at + len(records)
        size = 32 + len(body) + len(words)
        flags = 1 if kind == PIECE and version == 2 else 0
        rest = struct.pack("<HBBqQQ", size, kind, flags, time + number, number, 0) + body
        records += struct.pack("<I", _seal(identity, place, rest)) + rest + words

    def sums(content: bytes) -> bytes:
        if version == 1:
            return b""
        blocks = [sum_word(content[k:k + BLOCK], k // BLOCK) for k in range(0, len(content) + 1, BLOCK)]
        return struct.pack(f"<{len(blocks)}Q", blocks[-1], *blocks[:-1])

    areas = sum(-(-(40 + len(name)) // 8) * 8 + 64 + len(sums(content)) for name, content in streams.items())
    areas = -(-areas // _PAGE) * _PAGE or _PAGE
    for number, (name, content) in enumerate(streams.items(), 1):
        body = struct.pack("<II", 0o644, len(name)) + name
        add(CREATE, number, body + bytes(-len(body) % 8))
        if not content:
            continue
        place = at + len(records)
        word = _seal(identity, place, struct.pack("<q", len(content))) >> 8 << 40 | len(content)
        add(PIECE, number, struct.pack("<qq", 0, at + areas + len(data)), struct.pack("<Qq", word, time + number) + sums(content))
        data += content
    head = _MAGIC + struct.pack("<II", version, _PAGE) + identity + struct.pack("<q", time) + host.ljust(64, b"\0")
    head += struct.pack("<Q", xxh3(head))
    entry = struct.pack("<qI", at, areas)
    entry += struct.pack("<I", _seal(identity, _PAGE, entry))
    with open(path, "wb") as file:
        file.write(head.ljust(_PAGE, b"\0") + entry.ljust(_PAGE, b"\0") + records.ljust(areas, b"\0") + data)


def task_names(file: PhysicalFile) -> list[tuple[bytes, int, int]] | None:
    """Returns name, permissions and time of each task of a complete file, in task order; None if tasks
    have no names."""
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
