"""Extension header and trailer: checksums of a complete physical file (docs/format.md, section 14), read and written."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass

from . import header as meta1
from .errors import FormatError
from .hashing import crc32c, xxh3
from .physical import PhysicalFile

_AT, _SIZE, _FIXED = 1012, 64, 1076
_MAGIC, _END = b"\x89Sheaf\r\n", b"SheafEnd"
_GROUP = 1024
CHECKSUMS, JOURNAL, GUESSED, IN_ORDER, COMPRESSED = 1, 2, 4, 8, 256
_KNOWN = CHECKSUMS | JOURNAL | GUESSED | IN_ORDER | COMPRESSED
GROUPS, SUMS, MAPPING = 1, 2, 3


@dataclass(frozen=True)
class Extension:
    """The contents of the extension header; `piece` in bytes of data per checksum. guessed_ends: chunks
    with an end guessed by a repair, None if the file is not marked."""

    flags: int
    identity: bytes
    piece: int
    guessed_ends: int | None


def read_extension(file: PhysicalFile) -> Extension | None:
    """Returns None for a plain file. Raises FormatError if the header does not match its hash or must be
    rejected."""
    fixed = file.read_bytes(0, _FIXED)
    if fixed[_AT:_AT + 8] != _MAGIC:
        if file.header.encoded:
            raise FormatError(file.path, "encoded, but the extension header that says how is not there")
        return None
    version, flags = struct.unpack_from("<HH", fixed, _AT + 8)
    if xxh3(fixed[:_AT + 56]) != struct.unpack_from("<Q", fixed, _AT + 56)[0]:
        raise FormatError(file.path, "the header does not match its hash")
    if version != 1 or flags & ~_KNOWN >= 256:
        raise FormatError(file.path, f"extensions of version {version} with flags {flags}")
    if file.header.encoded and not flags & COMPRESSED:
        raise FormatError(file.path, "encoded, but its extension header does not say how")
    guessed = struct.unpack_from("<Q", fixed, _AT + 40)[0] if flags & GUESSED else None
    return Extension(flags, fixed[_AT + 16:_AT + 32], struct.unpack_from("<I", fixed, _AT + 32)[0], guessed)


def verify(file: PhysicalFile) -> bool:
    """Verifies a complete file against its checksums. Returns False if it has none; raises FormatError if
    one does not match."""
    extension = read_extension(file)
    if not extension or not extension.flags & CHECKSUMS:
        if extension is None and file.size >= 64 and file.read_bytes(file.size - 8, 8) == _END:
            raise FormatError(file.path, "a trailer without an extension header")
        return False
    mapping = _mapping(file)
    sections, _ = _read_trailer(file, extension, mapping)
    expected = _contents(file, extension.piece, mapping)
    for kind, data in expected.items():
        if data != sections.get(kind, b""):
            raise FormatError(file.path, f"section {kind} of the trailer does not match what is in the file")
    return True


def add(path: str, identity: bytes, piece: int = 65536, flags: int = CHECKSUMS) -> None:
    """Adds checksums to a complete plain file."""
    with open(path, "r+b") as out:
        fixed = bytearray(out.read(_FIXED))
        fixed[_AT:_AT + _SIZE] = _MAGIC + struct.pack("<HHBbBB16sII16x", 1, flags, 0, 0, 0, 0, identity, piece, 0) + bytes(8)
        fixed[_AT + 56:_AT + 64] = struct.pack("<Q", xxh3(bytes(fixed[:_AT + 56])))
        out.seek(0)
        out.write(fixed)
    with PhysicalFile(path) as file:
        end = file.size
        sections = _contents(file, piece, file.read_bytes(file.meta2_end, end - file.meta2_end))
        table, at = b"", _aligned(end)
        data = bytes(at - end)
        for kind, section in sections.items():
            if section or kind == GROUPS:
                table += struct.pack("<IIqqQ", kind, 0, at, len(section), 0)
                data += section.ljust(_aligned(len(section)), b"\0")
                at += _aligned(len(section))
        footer = struct.pack("<qIiq16sq", at, len(table) // 32, file.maxblocks, file.start_of_meta2, identity, end)
        data += table + footer + struct.pack("<Q", xxh3(table + footer)) + _END
    with open(path, "ab") as out:
        out.write(data)


def _aligned(size: int) -> int:
    return -(-size // 8) * 8


def _mapping(file: PhysicalFile) -> bytes:
    """Returns the mapping field as stored: the bytes between META2 and the plain end that the footer
    states."""
    footer = file.read_bytes(file.size - 64, 64) if file.size >= 64 else b""
    (end,) = struct.unpack_from("<q", footer, 40) if footer[56:] == _END else (-1,)
    if not file.meta2_end <= end <= file.size - 64:
        raise FormatError(file.path, "no trailer with checksums")
    field = file.read_bytes(file.meta2_end, end - file.meta2_end)
    if field and len(field) != 4 + 8 * struct.unpack_from(meta1.prefix_of(file.header.byte_order) + "i", field)[0]:
        raise FormatError(file.path, "the mapping field has another size than the trailer says")
    return field


def _read_trailer(file: PhysicalFile, extension: Extension, mapping: bytes) -> tuple[dict[int, bytes], int]:
    footer = file.read_bytes(file.size - 64, 64)
    at, count, maxblocks, start, identity, end, own = struct.unpack_from("<qIiq16sqQ", footer)
    if count > 64 or at != file.size - 64 - 32 * count:
        raise FormatError(file.path, "the table of sections is not in front of the footer")
    table = file.read_bytes(at, 32 * count)
    if xxh3(table + footer[:48]) != own:
        raise FormatError(file.path, "the trailer does not match its hash")
    if (maxblocks, start, identity) != (file.maxblocks, file.start_of_meta2, extension.identity):
        raise FormatError(file.path, "the trailer is that of another file")
    begin = _aligned(end)
    if any(file.read_bytes(end, begin - end)):
        raise FormatError(file.path, "bytes between the file and its trailer are not zero")
    return _read_sections(file, table, begin, at), end


def _read_sections(file: PhysicalFile, table: bytes, begin: int, at: int) -> dict[int, bytes]:
    """Returns the sections that `table` lists. They fill the bytes [begin, at)."""
    sections: dict[int, bytes] = {}
    for kind, zero, offset, length, guard in struct.iter_unpack("<IIqqQ", table):
        if kind in sections or zero or offset != begin or length < 0 or offset + length > at:
            raise FormatError(file.path, f"section {kind} is at an impossible place")
        sections[kind] = file.read_bytes(offset, length)
        if guard and xxh3(sections[kind]) != guard:
            raise FormatError(file.path, f"section {kind} does not match its hash")
        begin = _aligned(offset + length)
        if any(file.read_bytes(offset + length, begin - offset - length)):
            raise FormatError(file.path, f"the gap behind section {kind} is not zero")
    if begin != at:
        raise FormatError(file.path, "there is something between the sections and their table")
    return sections


def section(file: PhysicalFile, kind: int) -> bytes | None:
    """Returns a section of the trailer of a complete file; None if it is absent."""
    extension = read_extension(file)
    if not extension or not extension.flags & CHECKSUMS:
        return None
    return _read_trailer(file, extension, _mapping(file))[0].get(kind)


def _contents(file: PhysicalFile, piece: int, mapping: bytes) -> dict[int, bytes]:
    """Returns the expected contents of the sections."""
    n = file.header.ntasks
    groups, all_sums = b"", b""
    for first in range(0, n, _GROUP):
        count = min(_GROUP, n - first)

        def rows(begin: int) -> bytes:
            return file.read_bytes(begin + 8 * first, 8 * count)  # noqa: B023

        arrays = file.header.arrays_offset
        own_meta1 = rows(arrays) + rows(arrays + 8 * n)
        own_meta2 = b"".join(rows(file.start_of_meta2 + 8 * n * k) for k in range(1 + file.maxblocks))
        sums = b"".join(_sums(file, lrank, piece) for lrank in range(first, first + count))
        groups += struct.pack("<QQqQ", xxh3(own_meta1), xxh3(own_meta2), len(all_sums) // 4, xxh3(sums))
        all_sums += sums
    hashes = b""
    for entry in range(0, (len(mapping) - 4) // 8, _GROUP):
        begin = 4 + 8 * entry if entry else 0
        hashes += struct.pack("<Q", xxh3(mapping[begin:4 + 8 * (entry + _GROUP)]))
    return {GROUPS: groups, SUMS: all_sums, MAPPING: hashes}


def _sums(file: PhysicalFile, lrank: int, piece: int) -> bytes:
    sums = b""
    for offset, size in file.blocks(lrank):
        size = min(size, file.chunks[lrank])
        for at in range(0, size, piece):
            sums += struct.pack("<I", crc32c(file.read_bytes(offset + at, min(piece, size - at))))
    return sums


def new_identity() -> bytes:
    return os.urandom(16)
