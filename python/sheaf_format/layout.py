"""Locations of tasks and chunks (docs/format.md, sections 5, 7, 11, 12). Pure integer arithmetic, sizes in
bytes."""

from __future__ import annotations

import os
from collections.abc import Sequence

I64_MAX = 2**63 - 1

# Files have at most 32 collectors, and fewer below 512 tasks (docs/format.md, section 11).
_AUTOMATIC_COLLECTORS = ((512, 32), (256, 16), (32, 8), (16, 4))


def align_up(size: int, unit: int) -> int:
    """Returns the smallest multiple of `unit` that is >= size."""
    return -(-size // unit) * unit


def meta1_size(ntasks: int) -> int:
    """Returns the number of bytes from which start[0] is computed, in every format version."""
    return 1088 + 16 * ntasks


def chunk_starts(chunks: Sequence[int], fsblksize: int) -> tuple[list[int], int]:
    """Returns the offset of chunk 0 of each local task, and the globalskip."""
    starts: list[int] = []
    end = first = align_up(meta1_size(len(chunks)), fsblksize)
    for chunk in chunks:
        starts.append(end)
        end += chunk
    return starts, end - first


def physical_name(name: str, number: int) -> str:
    """Returns the name of physical file `number` of the set `name`."""
    return name if number == 0 else f"{name}.{number:06d}"


def buddy_name(name: str, level: int) -> str:
    """Returns the name of buddy copy `level` of the set `name`."""
    return f"{name}_BUDDY_{level:02d}"


def base_name(path: str) -> str:
    """Returns the last component of a path, as shown in descriptions."""
    return os.path.basename(path)


def split_evenly(ntasks: int, nfiles: int) -> list[tuple[int, int]]:
    """Returns (file, local rank) of each rank under the default split of a parallel open."""
    if not 1 <= nfiles <= ntasks:
        raise ValueError(f"{nfiles} physical files for {ntasks} tasks")
    per_file = ntasks // nfiles
    files = [min(rank // per_file, nfiles - 1) for rank in range(ntasks)]
    return [(file, rank - per_file * file) for rank, file in enumerate(files)]


def collective_groups(requests: Sequence[int], fsblksize: int, collsize: int = 0) -> list[range]:
    """Returns the groups of local ranks of one physical file; the first of each group collects. collsize
    <= 0: automatic."""
    total, count = sum(requests), len(requests)
    if total == 0:
        return [range(count)]
    limit = -(-total // fsblksize)
    if collsize > 0:
        collectors = min(-(-count // collsize), limit)
    else:
        most = next((most for least, most in _AUTOMATIC_COLLECTORS if count >= least), count)
        collectors = min(limit, count, most)
    average = align_up(total // collectors, fsblksize)
    groups: list[range] = []
    begin = filled = 0
    for lrank, request in enumerate(requests):
        if lrank > begin and filled + request > average:
            groups.append(range(begin, lrank))
            begin, filled = lrank, 0
        filled += request
    groups.append(range(begin, count))
    return groups


def collective_chunks(requests: Sequence[int], fsblksize: int, collsize: int = 0, merge: bool = False) -> list[int]:
    """Returns the chunk sizes that collective writing stores for the tasks of one physical file."""
    chunks = [align_up(request, fsblksize) for request in requests] if merge else list(requests)
    for group in collective_groups(requests, fsblksize, collsize):
        asked = sum(requests[lrank] for lrank in group)
        if merge:
            chunks[group[0]] = align_up(asked, fsblksize)
        else:
            chunks[group[-1]] += align_up(asked, fsblksize) - asked
    return chunks
