"""Reader of unclosed physical files that have a journal (docs/format.md, sections 16 and 18)."""

from __future__ import annotations

import struct
from array import array
from typing import NamedTuple

from .edges import Edges
from .hashing import xxh3
from .layout import align_up, meta1_size
from .physical import PhysicalFile

_EXTENSION = 1012
_EXTENSION_MAGIC = b"\x89Sheaf\r\n"
_JOURNAL = 2
_BEFORE = 4  # flag of a record
_MASK = (1 << 64) - 1


class _Record(NamedTuple):
    size: int
    sequence: int
    flags: int
    before: int


def _decode(half: bytes, seed: int) -> _Record | None:
    if xxh3(half[:24], seed) != struct.unpack_from("<Q", half, 24)[0]:
        return None
    record = _Record(*struct.unpack_from("<qIIQ", half))
    return None if record.size < -1 or record.sequence == 0 else record


def _corrected(half: bytes, seed: int) -> _Record | None:
    """Returns the record that `half` was before one of its bits changed."""
    for bit in range(256):
        tried = bytearray(half)
        tried[bit // 8] ^= 1 << bit % 8
        if record := _decode(bytes(tried), seed):
            return record
    return None


def _is_damaged(half: bytes, other: _Record | None, other_raw: bytes, seed: int) -> bool:
    """Returns whether a half that is not a valid record may have been newer than the record in the other
    half."""
    if other is None and any(other_raw):
        return True
    known = other is None or bool(other.flags & _BEFORE)
    before = other.before if other and known else 0
    if not any(half):
        return False
    return not known or (struct.unpack_from("<Q", half, 24)[0] != before and not (before and xxh3(half[:24], seed) == before))


def _has_whole_header(journal: bytes) -> bool:
    if len(journal) < 64 or journal[:8] != b"SheafJnl" or xxh3(journal[:56]) != struct.unpack_from("<Q", journal, 56)[0]:
        return False
    several = struct.unpack_from("<I", journal, 8)[0] == 2
    return not several or (len(journal) >= 80 and xxh3(journal[:72]) == struct.unpack_from("<Q", journal, 72)[0])


def _is_damaged_header(journal: bytes | None) -> bool:
    return (journal is not None and len(journal) >= 512 and any(journal[:512])
            and not _has_whole_header(journal))


def _is_examined(journal: bytes, identity: bytes) -> bool:
    """Returns whether an invalid record in this journal is damage, rather than a remnant of another
    multifile."""
    if not _has_whole_header(journal):
        return len(journal) >= 512 and any(journal[:512])
    return journal[16:32] == identity and not any(journal[80:84])


class RecoveredFile(PhysicalFile):
    """A physical file that was never closed, with its journal in place of META2. `mapping` is None: the
    global ranks of all files of a set determine the location of each task. `corrected` counts records with
    one wrong bit. Raises FormatError if the file is closed, has no journal, has lost it, or has lost a
    record that may have been the newest of its chunk."""

    corrected = 0

    def _is_marked(self) -> bool:
        """Returns whether META1 says that the file has a journal."""
        closing = self.header.closing_offset
        if self.size >= closing + 12 and any(self._read(closing + 4, 8, "META1")):
            raise self._fail("the file is closed: its journal does not count")
        return self.size >= closing + 4 and self._read(closing, 4, "META1") in (b"\xff" * 4, b"\xfe" * 4)

    def _read_closing(self) -> None:
        marked = self._is_marked()
        extension = self._read(_EXTENSION, 64, "the extension header")
        if extension[:8] != _EXTENSION_MAGIC:
            raise self._fail("no extension header, and so no journal")
        identity = extension[16:32]
        n = self.header.ntasks
        self._seed = xxh3(identity + struct.pack("<ii", n, self.header.filenumber))
        journal = self._contents("")
        if journal is None and (marked or not struct.unpack_from("<H", extension, 10)[0] & _JOURNAL):
            raise self._fail("its journal is lost" if marked else "no journal")
        hosts = self._read_journals(journal, identity)
        self._edges = Edges(self.path, hosts if hosts > 1 else 0, identity, n)
        self.size = max(self.size, self._edges.end)
        if (marked or _is_damaged_header(journal)) and not any(self._record(lrank) for lrank in range(n)):
            raise self._fail("its journal is lost: it has no valid record")
        self.corrected = 0
        self._blocks = [self._blocks_of(lrank) for lrank in range(n)]
        self.maxblocks = max(map(len, self._blocks), default=0)

    def _read_journals(self, journal: bytes | None, identity: bytes) -> int:
        """Reads the journals that `journal` names, or takes it itself; None: no task has written a record
        yet. Returns the number of hosts."""
        hosts = 0 if journal is None else self._checked(journal, identity)
        if hosts > 1:
            found = [self._contents(f".{host}") for host in range(hosts)]
            self._journals = [own for own in found if own is not None and self._checked(own, identity)]
        else:
            self._journals = [] if journal is None else [journal]
        self._examined = [_is_examined(own, identity) for own in self._journals]
        return hosts

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
            data += piece.ljust(length, b"\0")  # bytes that are stored nowhere are zero
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
        """Returns the number of hosts with a journal each; 1 for the journal of a single host or without a
        complete header."""
        head = journal[:80]
        if not _has_whole_header(journal):
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
        """Returns (bytes, flags) of the record with the most bytes. For a task that appends, another host
        may have recorded its beginning."""
        found = [record for journal, examined in zip(self._journals, self._examined)
                 if (record := self._newer(journal[512 + 64 * slot:576 + 64 * slot].ljust(64, b"\0"), slot, examined))]
        return max(found, key=lambda record: (record[0], record[1] & 1), default=None)

    def _newer(self, slot: bytes, number: int, examined: bool) -> tuple[int, int] | None:
        seed = (self._seed + number) & _MASK
        raw = [slot[:32], slot[32:]]
        halves = [_decode(half, seed) for half in raw]
        if examined:
            self._correct(raw, halves, seed)
            for i, half in enumerate(raw):
                if halves[i] is None and _is_damaged(half, halves[1 - i], raw[1 - i], seed):
                    raise self._fail(f"its journal is damaged: of slot {number} a record is lost")
        newest = None
        for record in halves:
            if record and (newest is None or 0 < (record.sequence - newest.sequence) & 0xFFFFFFFF < 1 << 31):
                newest = record
        return newest and (newest.size, newest.flags)

    def _correct(self, raw: list[bytes], halves: list[_Record | None], seed: int) -> None:
        """Corrects the invalid halves of a slot that have one wrong bit."""
        for i, half in enumerate(raw):
            if halves[i] is None and any(half):
                halves[i] = _corrected(half, seed)
                if bin(int.from_bytes(half, "little")).count("1") == 1:
                    raw[i] = bytes(32)
                self.corrected += halves[i] is not None or not any(raw[i])

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
        self.cut = {}
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
