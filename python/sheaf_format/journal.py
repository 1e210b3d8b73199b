"""Reader of unclosed physical files that have a journal (docs/format.md, sections 16 and 18)."""

from __future__ import annotations

import struct
from array import array

from .edges import Edges
from .hashing import xxh3
from .layout import align_up, meta1_size
from .physical import PhysicalFile

_EXTENSION = 1012
_EXTENSION_MAGIC = b"\x89Sheaf\r\n"
_JOURNAL = 2
_MASK = (1 << 64) - 1


class RecoveredFile(PhysicalFile):
    """A physical file that was never closed, with what its journal tells in place of META2. `mapping` is None: the global
    ranks of all files of a set tell which task is where. Raises FormatError if the file is closed, keeps no journal or has lost
    it."""

    def _read_closing(self) -> None:
        closing = self.header.closing_offset
        if self.size >= closing + 12 and any(self._read(closing + 4, 8, "META1")):
            raise self._fail("the file is closed: its journal does not count")
        marked = self.size >= closing + 4 and self._read(closing, 4, "META1") in (b"\xff" * 4, b"\xfe" * 4)
        extension = self._read(_EXTENSION, 64, "the extension header")
        if extension[:8] != _EXTENSION_MAGIC:
            raise self._fail("no extension header, and so no journal")
        identity = extension[16:32]
        n = self.header.ntasks
        self._seed = xxh3(identity + struct.pack("<ii", n, self.header.filenumber))
        journal = self._contents("")
        if journal is None and (marked or not struct.unpack_from("<H", extension, 10)[0] & _JOURNAL):
            raise self._fail("its journal is lost" if marked else "no journal")
        # None: no task had anything to tell yet.
        hosts = 0 if journal is None else self._checked(journal, identity)
        if hosts > 1:
            found = [self._contents(f".{host}") for host in range(hosts)]
            self._slots = [own[512:] for own in found if own is not None and self._checked(own, identity)]
        else:
            self._slots = [] if journal is None else [journal[512:]]
        self._edges = Edges(self.path, hosts if hosts > 1 else 0, identity, n)
        self.size = max(self.size, self._edges.end)
        if marked and not any(self._record(lrank) for lrank in range(n)):
            raise self._fail("its journal is lost: it has no valid record")
        self._blocks = [self._blocks_of(lrank) for lrank in range(n)]
        self.maxblocks = max(map(len, self._blocks), default=0)

    def _read(self, offset: int, size: int, what: str) -> bytes:
        if not hasattr(self, "_edges"):  # META1
            return super()._read(offset, size, what)
        data = bytearray()
        for at, length, edge in self._edges.parts(offset, size):
            if edge is None:
                self._file.seek(at)
                piece = self._file.read(length) or b""
            else:
                with open(edge[0], "rb") as file:
                    file.seek(edge[1])
                    piece = file.read(length)
            data += piece.ljust(length, b"\0")  # what is nowhere is zero
        if offset + size > self.size:
            raise self._fail(f"{what} ends at byte {offset + size}, the file at {self.size}")
        return bytes(data)

    def _contents(self, suffix: str) -> bytes | None:
        try:
            with open(f"{self.path}.journal{suffix}", "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def _checked(self, journal: bytes, identity: bytes) -> int:
        """The number of hosts that have a journal each; 1 for one of a single host, or without a whole header."""
        head = journal[:80]
        if len(head) < 64 or head[:8] != b"SheafJnl" or xxh3(head[:56]) != struct.unpack_from("<Q", head, 56)[0]:
            return 1
        version, record_size = struct.unpack_from("<II", head, 8)
        if version not in (1, 2) or record_size != 32:
            raise self._fail("a journal of an unknown version")
        expected = struct.pack("<iiii", self.header.ntasks, self.header.nfiles, self.header.filenumber, self.header.fsblksize)
        if head[16:32] == identity and head[32:48] != expected:
            raise self._fail("the journal contradicts META1")
        if version == 1 or len(head) < 80 or xxh3(head[:72]) != struct.unpack_from("<Q", head, 72)[0]:
            return 1
        return struct.unpack_from("<i", head, 64)[0] if head[16:32] == identity else 1

    def _record(self, slot: int) -> tuple[int, int] | None:
        """(bytes, flags) of the record that tells most: a task that appends may have its beginning recorded by another host."""
        found = [record for slots in self._slots if (record := self._newer(slots, slot))]
        return max(found, key=lambda record: (record[0], record[1] & 1), default=None)

    def _newer(self, slots: bytes, slot: int) -> tuple[int, int] | None:
        newest: tuple[int, int, int] | None = None
        for half in range(2):
            record = slots[64 * slot + 32 * half:64 * slot + 32 * half + 32]
            if len(record) < 32 or xxh3(record[:24], (self._seed + slot) & _MASK) != struct.unpack_from("<Q", record, 24)[0]:
                continue
            size, sequence, flags = struct.unpack_from("<qII", record)
            if size < -1 or sequence == 0:
                continue
            if newest is None or 0 < (sequence - newest[0]) & 0xFFFFFFFF < 1 << 31:
                newest = (sequence, size, flags)
        return newest and newest[1:]

    def _blocks_of(self, lrank: int) -> list[int]:
        sizes: list[int] = []
        while record := self._record(len(sizes) * self.header.ntasks + lrank):
            size, flags = record
            if size < 0:
                break
            sizes.append(size)
            if not flags & 1:
                break
        return sizes or [0]

    def _read_meta2(self) -> None:
        self.meta2_end = self.size
        self.block_counts = array("q", [len(sizes) for sizes in self._blocks])
        self.block_sizes = [array("q", [sizes[k] if k < len(sizes) else 0 for sizes in self._blocks])
                            for k in range(self.maxblocks)]
        for lrank, count in enumerate(self.block_counts):
            for k in range(count):
                self._check_block(lrank, k)

    def _check_layout(self) -> None:
        self.start_of_meta2 = (align_up(meta1_size(self.header.ntasks), self.header.fsblksize)
                               + self.maxblocks * sum(self.stored_chunks))
        super()._check_layout()

    def _read_mapping(self) -> None:  # type: ignore[override]
        return None
