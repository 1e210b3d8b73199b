"""Descriptions of multifiles as JSON-able dictionaries: all metadata, and checksums instead of contents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from .extensions import read_extension
from .header import KEYVAL_NONE, KEYVAL_UNSET, endianness_word
from .layout import base_name
from .multifile import Multifile, Task
from .physical import PhysicalFile


def sha256(pieces: Iterable[bytes]) -> str:
    """Returns the hexadecimal SHA-256 of the concatenated pieces."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def describe(multifile: Multifile) -> dict[str, Any]:
    """Returns everything docs/format.md defines about a multifile; sizes and offsets in bytes. Reads all data
    once or twice.

    `mapping_size` is None if the field is absent and 0 if it is present and empty; `raw_blocksizes[round]`
    are the stored values. `sha256` of a task is that of its stream. Key-value files have `records` per task.
    """
    first = multifile.files[0].header
    description = {
        "main": base_name(multifile.path),
        "files": [_file(physical) for physical in multifile.files],
        "format_version": first.format_version,
        "sionlib_version": f"{first.library_version // 1000}.{first.library_version % 1000}.{first.patch_level}",
        "metadata_byte_order": first.byte_order,
        "userdata_byte_order": first.userdata_order,
        "endianness_word_hex_bytes": endianness_word(first.byte_order, first.userdata_order).hex(),
        "ntasks": len(multifile.tasks),
        "nfiles": len(multifile.files),
        "fsblksize": first.fsblksize,
        "keyvalmode": KEYVAL_NONE if first.keyval_mode == KEYVAL_UNSET else first.keyval_mode,
        "flag1": first.flag1,
        "flag2": first.flag2,
        "prefix": first.prefix.decode("utf-8", "surrogateescape"),
        "physical": [_physical(physical) for physical in multifile.files],
        "tasks": [_task(multifile, task) for task in multifile.tasks],
    }
    guessed = [extension.guessed_ends for physical in multifile.files
               if (extension := read_extension(physical)) and extension.guessed_ends is not None]
    return description | ({"encoded": True} if first.encoded else {}) | ({"guessed": sum(guessed)} if guessed else {})


def _file(physical: PhysicalFile) -> dict[str, Any]:
    whole = physical.read_range(0, physical.size)
    return {"name": base_name(physical.path), "size": physical.size, "sha256": sha256(whole)}


def _physical(physical: PhysicalFile) -> dict[str, Any]:
    mapping = physical.mapping if physical.mapping is not None else physical.unread_mapping()
    return {
        "file": base_name(physical.path),
        "filenumber": physical.header.filenumber,
        "ntasks": physical.header.ntasks,
        "globalskip": physical.globalskip,
        "max_blocks": physical.maxblocks,
        "start_of_meta2": physical.start_of_meta2,
        "mapping_size": None if mapping is None else len(mapping),
        "mapping": None if mapping is None else [list(pair) for pair in mapping],
        "raw_blocksizes": [list(sizes) for sizes in physical.block_sizes],
    }


def _task(multifile: Multifile, task: Task) -> dict[str, Any]:
    physical = multifile.files[task.file]
    blocks = multifile.blocks(task.rank)
    description = {
        "rank": task.rank,
        "globalrank": physical.globalranks[task.lrank],
        "file": task.file,
        "lrank": task.lrank,
        "chunksize": physical.stored_chunks[task.lrank],
        "blockcount": len(blocks),
        "blocksizes": [size for _, size in blocks],
        "block_offsets": [offset for offset, _ in blocks],
        "length": multifile.length(task.rank),
        "sha256": sha256(multifile.stream(task.rank)),
    }
    if physical.header.is_keyval:
        description["records"] = [
            {"key": record.key, "length": record.length, "sha256": sha256(record.value())}
            for record in multifile.records(task.rank)
        ]
    return description
