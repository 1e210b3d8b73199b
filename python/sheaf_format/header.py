"""META1 and the word that states the byte order (docs/format.md, sections 3, 4, 13): conversion of bytes
and values, without checks."""

from __future__ import annotations

import struct
from dataclasses import dataclass

MAGIC = b"sion"
ENCODED_MAGIC = b"\x89SHF"  # magic of files with encoded streams, for readers that support the extensions
PREFIX_BYTES = 1024
KEYVAL_UNSET, KEYVAL_NONE, KEYVAL_INLINE = 0, 50, 51
BYTE_ORDERS = ("little", "big")

_COMMON = "iiiiii"  # library version, patch level, format version, fsblksize, ntasks, nfiles: offsets 8..31
_NUMBERED = "iqq"  # filenumber, flag1, flag2: offsets 32..51, absent in version 2


@dataclass
class Header:
    """The fixed part of META1. Field names as in docs/format.md; fsblksize in bytes, ntasks of this
    physical file."""

    byte_order: str
    userdata_order: str
    library_version: int
    patch_level: int
    format_version: int
    fsblksize: int
    ntasks: int
    nfiles: int
    filenumber: int = 1
    flag1: int = 0
    flag2: int = 0
    prefix: bytes = b""
    encoded: bool = False

    @property
    def keyval_mode(self) -> int:
        """Key-value mode as stored; versions below 5 have none."""
        return self.flag1 >> 32 if self.format_version >= 5 else KEYVAL_NONE

    @property
    def is_keyval(self) -> bool:
        return self.keyval_mode == KEYVAL_INLINE

    @property
    def arrays_offset(self) -> int:
        """Offset of the globalranks."""
        return fixed_size(self.format_version)

    @property
    def closing_offset(self) -> int:
        """Offset of maxblocks, the first byte written at close."""
        return self.arrays_offset + 16 * self.ntasks

    @property
    def opens_set(self) -> bool:
        """True if this physical file contains the mapping of a set of several files."""
        return self.nfiles > 1 and self.filenumber == 0


def prefix_of(byte_order: str) -> str:
    """Returns the prefix of struct formats for a byte order."""
    return ">" if byte_order == "big" else "<"


def endianness_word(byte_order: str, userdata_order: str) -> bytes:
    meta, user = BYTE_ORDERS.index(byte_order), BYTE_ORDERS.index(userdata_order)
    return bytes((meta, user, user, meta))


def fixed_size(format_version: int) -> int:
    """Returns the bytes of META1 before its arrays."""
    return 1056 if format_version == 2 else 1076


def pack(header: Header) -> bytes:
    """Returns the fixed part of META1."""
    order = prefix_of(header.byte_order)
    numbers = struct.pack(order + _COMMON, header.library_version, header.patch_level, header.format_version,
                          header.fsblksize, header.ntasks, header.nfiles)
    if header.format_version > 2:
        numbers += struct.pack(order + _NUMBERED, header.filenumber, header.flag1, header.flag2)
    word = endianness_word(header.byte_order, header.userdata_order)
    return (ENCODED_MAGIC if header.encoded else MAGIC) + word + numbers + header.prefix.ljust(PREFIX_BYTES, b"\0")


def unpack_start(data: bytes) -> Header:
    """Returns the header from the first 32 bytes of a file with valid magic and byte order."""
    byte_order, userdata_order = BYTE_ORDERS[data[4]], BYTE_ORDERS[data[5]]
    values = struct.unpack_from(prefix_of(byte_order) + _COMMON, data, 8)
    return Header(byte_order, userdata_order, *values, encoded=data[:4] == ENCODED_MAGIC)


def unpack_rest(header: Header, data: bytes) -> None:
    """Completes `header` from the whole fixed part of META1."""
    offset = 32
    if header.format_version > 2:
        numbered = prefix_of(header.byte_order) + _NUMBERED
        header.filenumber, header.flag1, header.flag2 = struct.unpack_from(numbered, data, offset)
        offset += struct.calcsize(numbered)
    header.prefix = data[offset:offset + PREFIX_BYTES - 1].split(b"\0", 1)[0]
