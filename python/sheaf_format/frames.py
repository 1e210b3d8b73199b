"""Compressed streams (docs/format.md, section 14.4): frames, and the index that follows them.

zstd and lz4 are called directly in their shared libraries, gzip is Python's zlib: no package is needed."""

from __future__ import annotations

import ctypes
import functools
import struct
from dataclasses import dataclass

from .errors import FormatError
from .journal import xxh3
from .physical import PhysicalFile

_EXTENSION = 1012
_EXTENSION_MAGIC = b"\x89Sheaf\r\n"
_COMPRESSED = 256
_HEAD = struct.Struct("<4sBB2xIIiIqQ")  # magic, codec, shuffle, stored, plain, block, crc, offset, hash
_ENTRY = struct.Struct("<qqiIII")  # stored at, offset, block, used, bytes, 0
_END = struct.Struct("<8sqQQ")  # magic, head at, entries, hash
_INDEX = 255
_LARGEST = 16 << 20


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


@functools.cache
def _library(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(name)


def _zstd(data: bytes, size: int) -> bytes | None:
    plain = ctypes.create_string_buffer(max(size, 1))
    decompress = _library("libzstd.so.1").ZSTD_decompress
    decompress.restype = ctypes.c_size_t
    decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    return plain.raw[:size] if decompress(plain, size, data, len(data)) == size else None


def _lz4(data: bytes, size: int) -> bytes | None:
    plain = ctypes.create_string_buffer(max(size, 1))
    decompress = _library("liblz4.so.1").LZ4_decompress_safe
    decompress.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    return plain.raw[:size] if decompress(data, plain, len(data), size) == size else None


def _gzip(data: bytes, size: int) -> bytes | None:
    import zlib  # some builds of Python do not have it

    member = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        plain = member.decompress(data, size + 1)  # a longer member is not ours
    except zlib.error:
        return None
    return plain if member.eof and not member.unused_data and len(plain) == size else None


def is_compressed(file: PhysicalFile) -> bool:
    """Returns whether streams consist of frames: according to the magic, or in older files to the
    extension header."""
    if file.header.encoded:
        return True
    if file.header.format_version < 5:
        return False
    extension = file._read(_EXTENSION, 64, "the extension header")
    return extension[:8] == _EXTENSION_MAGIC and bool(struct.unpack_from("<H", extension, 10)[0] & _COMPRESSED)


@dataclass
class Frame:
    """A frame, of which the first `used` uncompressed bytes are valid."""

    stored_at: int
    codec: int
    shuffle: int
    stored: bytes
    plain: int
    block: int
    offset: int
    crc: int
    used: int


def _unshuffle(data: bytes, element: int) -> bytes:
    count = len(data) // element
    plain = bytearray(data)
    for byte in range(element):
        plain[byte : count * element : element] = data[byte * count : (byte + 1) * count]
    return bytes(plain)


class _Stream:
    """A stored stream and its frames."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name
        self.frames: list[Frame] = []
        indexes = []
        at = 0
        while at < len(data):
            head = self._head(at)
            if head[1] == _INDEX:
                indexes.append((at, list(self.frames)))
            else:
                self._add(at, head)
            at += _HEAD.size + head[3]
        for where, frames in indexes:
            self._check_index(where, frames)

    def _fail(self, at: int, finding: str) -> FormatError:
        return FormatError(self.name, f"at offset {at} of its stored bytes: {finding}")

    def _head(self, at: int) -> tuple[int, ...]:
        if len(self.data) - at < _HEAD.size:
            raise self._fail(at, "a frame is cut off")
        head = _HEAD.unpack_from(self.data, at)
        if head[0] != b"SFrm" or head[8] != xxh3(self.data[at : at + 32]):
            raise self._fail(at, "there is no frame")
        if len(self.data) - at - _HEAD.size < head[3]:
            raise self._fail(at, "a frame is cut off")
        return head

    def _add(self, at: int, head: tuple[int, ...]) -> None:
        _, codec, shuffle, stored, plain, block, crc, offset, _ = head
        if codec > 3 or plain > _LARGEST or stored > plain or (codec == 0 and stored != plain):
            raise self._fail(at, "the sizes of the frame cannot be")
        begin = at + _HEAD.size
        frames, place = self.frames, (block, offset)
        if place < self._end():  # replaces the data from its start on
            while frames and (frames[-1].block, frames[-1].offset) >= place:
                frames.pop()
            if frames and frames[-1].block == block:
                frames[-1].used = min(frames[-1].used, offset - frames[-1].offset)
        end = self._end()
        if place != end and (not frames or place != (end[0] + 1, 0)):
            raise self._fail(at, "the frame does not follow the one before")
        frames.append(Frame(at, codec, shuffle, self.data[begin : begin + stored], plain, block, offset, crc, plain))

    def _end(self) -> tuple[int, int]:
        return (self.frames[-1].block, self.frames[-1].offset + self.frames[-1].used) if self.frames else (0, 0)

    def _check_index(self, at: int, frames: list[Frame]) -> None:
        _, _, _, stored, count, block, crc, offset, _ = self._head(at)
        payload = self.data[at + _HEAD.size : at + _HEAD.size + stored]
        if stored != count * _ENTRY.size + _END.size or (block, offset) != (0, 0) or crc != crc32c(payload):
            raise self._fail(at, "the index is damaged")
        magic, where, entries, hash_ = _END.unpack_from(payload, count * _ENTRY.size)
        if (magic, where, entries) != (b"SFrmIdx\n", at, count) or hash_ != xxh3(payload[-32:-8]):
            raise self._fail(at, "the end of the index is damaged")
        found = [_ENTRY.unpack_from(payload, i * _ENTRY.size) for i in range(count)]
        if found != [(f.stored_at, f.offset, f.block, f.used, _HEAD.size + len(f.stored), 0) for f in frames]:
            raise self._fail(at, "the index is not that of the frames before it")

    def plain(self, frame: Frame) -> bytes:
        decode = {0: lambda stored, _: stored, 1: _zstd, 2: _lz4, 3: _gzip}[frame.codec]
        data = decode(frame.stored, frame.plain)
        if data is None:
            raise self._fail(frame.stored_at, "the frame cannot be decompressed")
        if frame.shuffle > 1:
            data = _unshuffle(data, frame.shuffle)
        if len(data) != frame.plain or crc32c(data) != frame.crc:
            raise self._fail(frame.stored_at, "the frame does not match its checksum")
        return data[: frame.used]


def plain_blocks(data: bytes, name: str) -> list[bytes]:
    """Returns the uncompressed blocks of a stored stream; `name` identifies it in errors."""
    stream = _Stream(data, name)
    blocks = [bytearray()]
    for frame in stream.frames:
        if frame.block == len(blocks):
            blocks.append(bytearray())
        blocks[frame.block] += stream.plain(frame)
    return [bytes(block) for block in blocks]
