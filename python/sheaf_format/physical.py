"""Strict reader of one physical file (docs/format.md, sections 3 to 6, 9 and 13).

Time and memory are bounded by the size of the file: every count is compared with it before use.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator
from typing import BinaryIO

from . import header as meta1
from .errors import FormatError
from .layout import I64_MAX, align_up, chunk_starts, meta1_size

_PIECE = 1 << 20  # bytes read at a time


class PhysicalFile:
    """One validated physical file. The object owns its open file; close() or `with` releases it. One thread
    at a time.

    Lists are indexed by local rank. `block_sizes[k]` contains round k as stored, so entries of unused rounds
    are 0 or -1. `cut[k, lrank]` is the number of valid bytes of a block that exceeds its chunk, if not all
    are valid. `mapping` is None unless the file opens a set. Raises FormatError if a rule is violated,
    OSError if reading fails.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: BinaryIO = open(path, "rb", buffering=0)
        try:
            self.size = self._file.seek(0, 2)
            self.header = self._read_header()
            self._read_arrays()
            self._check_layout()
            self._read_meta2()
            self.mapping = self._read_mapping() if self.header.opens_set else None
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> PhysicalFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    # --- parsing -----------------------------------------------------------------------------------------------

    def _fail(self, finding: str) -> FormatError:
        return FormatError(self.path, finding)

    def _read(self, offset: int, size: int, what: str) -> bytes:
        """Returns exactly `size` bytes at `offset`. Compares with the file size before it allocates."""
        if offset + size > self.size:
            raise self._fail(f"{what} ends at byte {offset + size}, the file at {self.size}")
        data = bytearray()
        self._file.seek(offset)
        while len(data) < size:
            piece = self._file.read(size - len(data))
            if not piece:
                raise self._fail(f"{what} could not be read completely")
            data += piece
        return bytes(data)

    def _read_i64(self, offset: int, count: int, what: str) -> array[int]:
        values = array("q", self._read(offset, 8 * count, what))
        if self.header.byte_order != sys.byteorder:
            values.byteswap()
        return values

    def _read_header(self) -> meta1.Header:
        start = self._read(0, 32, "the fixed part of META1")
        if start[:4] not in (meta1.MAGIC, meta1.ENCODED_MAGIC):
            raise self._fail("the magic is neither 'sion' nor that of encoded files")
        if start[4] > 1 or start[5] > 1:
            raise self._fail(f"the byte order word is {start[4:8].hex()}")
        header = meta1.unpack_start(start)
        if not 2 <= header.format_version <= 5:
            raise self._fail(f"format version {header.format_version} is not one of 2 to 5")
        if header.encoded and header.format_version != 5:
            raise self._fail(f"encoded, and of format version {header.format_version}")
        meta1.unpack_rest(header, self._read(0, header.arrays_offset, "the fixed part of META1"))
        for name, least in (("fsblksize", 1), ("ntasks", 0), ("nfiles", 1)):
            if getattr(header, name) < least:
                raise self._fail(f"{name} is {getattr(header, name)}")
        if header.filenumber < 0 or (header.nfiles > 1 and header.filenumber >= header.nfiles):
            raise self._fail(f"file number {header.filenumber} in a set of {header.nfiles}")
        if header.keyval_mode not in (meta1.KEYVAL_UNSET, meta1.KEYVAL_NONE, meta1.KEYVAL_INLINE):
            raise self._fail(f"unknown key-value mode {header.keyval_mode}")
        return header

    def _read_arrays(self) -> None:
        header, n = self.header, self.header.ntasks
        arrays = self._read_i64(header.arrays_offset, 2 * n, f"META1 of {n} tasks")
        self.globalranks, self.stored_chunks = arrays[:n], arrays[n:]
        self._read_closing()

    def _read_closing(self) -> None:
        header = self.header
        closing = header.closing_offset
        if self.size < closing + 12:
            raise self._fail("the file was never closed: META1 lacks its last 12 bytes")
        closing_bytes = self._read(closing, 12, "META1")
        self.maxblocks, self.start_of_meta2 = struct.unpack(meta1.prefix_of(header.byte_order) + "iq", closing_bytes)
        if self.start_of_meta2 == 0:
            raise self._fail("the file was never closed: start_of_varheader is 0")

    def _check_layout(self) -> None:
        header = self.header
        for lrank, chunk in enumerate(self.stored_chunks):
            if chunk < 0:
                raise self._fail(f"chunk size {chunk} of local task {lrank}")
        # Before version 4, sizes were stored as requested.
        aligned = header.format_version >= 4
        self.chunks = [chunk if aligned else align_up(chunk, header.fsblksize) for chunk in self.stored_chunks]
        self.starts, self.globalskip = chunk_starts(self.chunks, header.fsblksize)
        if self.maxblocks < (1 if header.ntasks else 0) or (header.ntasks == 0 and self.maxblocks > 1):
            raise self._fail(f"maxblocks is {self.maxblocks}")
        first = align_up(meta1_size(header.ntasks), header.fsblksize)
        expected = first + self.maxblocks * self.globalskip
        if expected > I64_MAX:
            raise self._fail("chunk sizes and maxblocks exceed 64-bit offsets")
        if self.start_of_meta2 != expected:
            raise self._fail(f"start_of_varheader is {self.start_of_meta2}, chunks and maxblocks give {expected}")

    def _read_meta2(self) -> None:
        n, begin = self.header.ntasks, self.start_of_meta2
        self.meta2_end = begin + 8 * n * (1 + self.maxblocks)
        if self.meta2_end > self.size:
            raise self._fail(f"META2 of {self.maxblocks} blocks ends at byte {self.meta2_end}, the file at {self.size}")
        self.block_counts = self._read_i64(begin, n, "the block counts")
        for lrank, count in enumerate(self.block_counts):
            if not 1 <= count <= self.maxblocks:
                raise self._fail(f"local task {lrank} has block count {count}, maxblocks is {self.maxblocks}")
        self.block_sizes: list[array[int]] = []
        for k in range(self.maxblocks):
            self.block_sizes.append(self._read_i64(begin + 8 * n * (1 + k), n, f"the block sizes of round {k}"))
            for lrank, count in enumerate(self.block_counts):
                if k < count:
                    self._check_block(lrank, k)
        self.cut = self._cut_overruns()

    def _has_checksums(self) -> bool:
        extension = self._read(1012, 12, "the fixed part of META1")
        return extension[:8] == b"\x89Sheaf\r\n" and bool(extension[10] & 1)

    def _cut_overruns(self) -> dict[tuple[int, int], int]:
        """Returns, for blocks beyond their chunks, the bytes before the first one that may belong to
        something else (section 9)."""
        cut: dict[tuple[int, int], int] = {}
        found = [(self.block_offset(lrank, k), k, lrank, self.block_sizes[k][lrank]) for k in range(self.maxblocks)
                 for lrank, count in enumerate(self.block_counts) if k < count and self.block_sizes[k][lrank] > 0]
        if self._has_checksums() or all(size <= self.chunks[lrank] for _, _, lrank, size in found):
            return cut
        reach = 0  # end of all previous blocks
        for i, (start, k, lrank, size) in enumerate(found):
            border = start + self.chunks[lrank]
            if start + size > border:
                behind = found[i + 1][0] if i + 1 < len(found) else self.start_of_meta2
                own = min(size, (border if reach > border else behind) - start)
                if own < size:
                    cut[k, lrank] = own
            reach = max(reach, start + size)
        return cut

    def _check_block(self, lrank: int, k: int) -> None:
        size = self.block_sizes[k][lrank]
        if size < 0:
            raise self._fail(f"block {k} of local task {lrank} has size {size}")
        if size > self.chunks[lrank]:
            if self.header.is_keyval:
                raise self._fail(f"block {k} of local task {lrank} exceeds its chunk in a key-value file")
            if self.block_offset(lrank, k) + size > (self.start_of_meta2 if self._has_checksums() else self.size):
                raise self._fail(f"block {k} of local task {lrank}, {size} bytes, leaves the data area")
            if size * self.header.ntasks * self.maxblocks > I64_MAX - self.start_of_meta2:
                raise self._fail(f"with blocks of {size} bytes, as block {k} of local task {lrank}, sums may exceed 64 bits")

    def _read_mapping(self) -> list[tuple[int, int]]:
        order = meta1.prefix_of(self.header.byte_order)
        (count,) = struct.unpack(order + "i", self._read(self.meta2_end, 4, "the mapping size"))
        if count < 1:
            raise self._fail(f"mapping size is {count}")
        data = self._read(self.meta2_end + 4, 8 * count, f"the mapping of {count} tasks")
        return list(struct.iter_unpack(order + "ii", data))

    def _plain_end(self) -> int | None:
        """Returns the end of the plain file according to the trailer (section 14.2); None if there is no
        trailer."""
        footer = self._read(self.size - 64, 64, "the footer") if self.size >= self.meta2_end + 64 else b""
        return struct.unpack_from("<q", footer, 40)[0] if footer[56:] == b"SheafEnd" else None

    # --- contents ----------------------------------------------------------------------------------------------

    def block_offset(self, lrank: int, k: int) -> int:
        """Returns the offset in the file of chunk k of a local task."""
        return self.starts[lrank] + k * self.globalskip

    def blocks(self, lrank: int) -> list[tuple[int, int]]:
        """Returns (offset in the file, bytes) of every counted block of a local task."""
        return [(self.block_offset(lrank, k), self.cut.get((k, lrank), self.block_sizes[k][lrank]))
                for k in range(self.block_counts[lrank])]

    def read_range(self, offset: int, size: int) -> Iterator[bytes]:
        """Yields bytes [offset, offset+size) of the file in pieces of bounded size."""
        while size > 0:
            piece = self._read(offset, min(size, _PIECE), "a block")
            yield piece
            offset += len(piece)
            size -= len(piece)

    def read_bytes(self, offset: int, size: int) -> bytes:
        """Returns exactly these bytes of the file."""
        return self._read(offset, size, "what was asked for")

    def unread_mapping(self) -> list[tuple[int, int]] | None:
        """Returns the mapping field of a file that opens no set, which readers ignore: [] if it is present
        and empty, None if it is absent or META2 is followed by something else. For descriptions only."""
        if self.header.nfiles > 1 or self.size < self.meta2_end + 4:
            return None
        if self._plain_end() == self.meta2_end:
            return None
        order = meta1.prefix_of(self.header.byte_order)
        (count,) = struct.unpack(order + "i", self._read(self.meta2_end, 4, "the mapping size"))
        n = self.header.ntasks
        if count == 0:
            return []
        if count != n or self.size < self.meta2_end + 4 + 8 * n:
            return None
        pairs = list(struct.iter_unpack(order + "ii", self._read(self.meta2_end + 4, 8 * n, "the mapping")))
        return pairs if sorted(pairs) == [(0, lrank) for lrank in range(n)] else None
