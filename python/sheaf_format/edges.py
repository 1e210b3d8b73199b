"""The boundary files that hosts keep beside a physical file that was never closed (docs/format.md, section
18)."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator

from .errors import FormatError
from .hashing import xxh3
from .layout import align_up

_MASK = (1 << 64) - 1


class Edges:
    """The files NAME.edges.h of `hosts` hosts. Ignores files with another identity or number of tasks, and
    rows with another hash. Raises FormatError for an unknown version."""

    def __init__(self, path: str, hosts: int, identity: bytes, ntasks: int) -> None:
        self.end = 0  # end of the physical file according to these files
        self._runs: dict[int, tuple[int, int, str, int]] = {}  # by begin: end, first round, file, shift
        for host in range(hosts):
            self._read_file(f"{path}.edges.{host}", host, identity, ntasks)
        self._begins = sorted(self._runs)

    def _read_file(self, name: str, host: int, identity: bytes, ntasks: int) -> None:
        try:
            with open(name, "rb") as file:
                head = file.read(128)
                rows = file.read(32 * ntasks)
                size = file.seek(0, 2)
        except FileNotFoundError:
            return
        if len(head) < 72 or head[:8] != b"SheafEdg" or xxh3(head[:64]) != struct.unpack_from("<Q", head, 64)[0]:
            return
        version, tasks, found, number, row_size, unit, start, skip = struct.unpack_from("<Ii16siIqqq", head, 8)
        if version != 1 or row_size != 32:
            raise FormatError(name, "edges of an unknown version")
        if found != identity or tasks != ntasks or number != host:
            return
        self._unit, self._start, self._skip = unit, start, skip
        shift = align_up(128 + 32 * ntasks, max(unit, 65536))
        self.end = max(self.end, size - shift)
        seed = xxh3(identity)
        for task in range(ntasks):
            row = rows[32 * task:32 * task + 32]
            if len(row) < 32 or xxh3(row[:24], (seed + task) & _MASK) != struct.unpack_from("<Q", row, 24)[0]:
                continue
            begin, end, first = struct.unpack_from("<qqq", row)
            self._runs[begin] = (end, first, name, shift)

    def parts(self, offset: int, size: int) -> Iterator[tuple[int, int, tuple[str, int] | None]]:
        """Yields (offset, bytes, location) for [offset, offset + size), in order. location: None, or the
        boundary file and the offset in it."""
        last = offset + size
        while offset < last:
            end, place = self._part(offset)
            end = min(end, last)
            yield offset, end - offset, place and (place[0], offset + place[1])
            offset = end

    def _part(self, offset: int) -> tuple[int, tuple[str, int] | None]:
        if not self._begins:
            return 1 << 63, None
        if offset < self._start:
            return self._start, None
        number = (offset - self._start) // self._skip
        round_begin = number * self._skip
        at = bisect_right(self._begins, offset - round_begin)
        following = self._begins[at] if at < len(self._begins) else self._begins[0] + self._skip
        if at == 0:
            return round_begin + following, None
        begin = self._begins[at - 1]
        end, first, name, shift = self._runs[begin]
        if offset - round_begin >= end:
            return round_begin + following, None
        begin, end = begin + round_begin, end + round_begin
        if number < first:
            return end, None
        whole_begin, whole_end = align_up(begin, self._unit), end // self._unit * self._unit
        if whole_begin >= whole_end or offset >= whole_end:
            return end, (name, shift)
        if offset < whole_begin:
            return whole_begin, (name, shift)
        return whole_end, None
