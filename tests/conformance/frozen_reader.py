"""Reads the content of complete, unclosed and compressed multifiles with the independent reader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sheaf_format import FormatError, Multifile, PhysicalFile, RecoveredFile, verify
from sheaf_format.frames import is_compressed, plain_blocks
from sheaf_format.layout import physical_name

FROZEN = Path(__file__).resolve().parent / "frozen"


@dataclass(frozen=True)
class FrozenFile:
    """A frozen multifile; `label` is its generation and name."""

    folder: Path
    manifest: dict[str, Any]

    @property
    def label(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}"


def frozen_files(*states: str) -> Iterator[FrozenFile]:
    """Yields the files with one of the given states, of all generations, without the striped file."""
    for path in sorted(FROZEN.glob("*/*/manifest.json")):
        manifest = json.loads(path.read_text())
        if manifest["state"] in states and manifest["name"] != "striped":
            yield FrozenFile(path.parent, manifest)


def independent_streams(path: Path, state: str) -> list[bytes]:
    """Returns the plain streams of all tasks. Raises FormatError on any damage, including checksums that do not
    match."""
    return _complete(path) if state == "complete" else _unclosed(path)


def _complete(path: Path) -> list[bytes]:
    with Multifile(str(path)) as multifile:
        for physical in multifile.files:
            verify(physical)
        multifile.check_records()
        multifile.check_frames()
        return [b"".join(multifile.plain_blocks(task.rank)) for task in multifile.tasks]


def _physical(path: str) -> PhysicalFile:
    try:
        return PhysicalFile(path)
    except FormatError:
        return RecoveredFile(path)


def _unclosed(path: Path) -> list[bytes]:
    """Reads unclosed files with the help of their journals.

    In a set of several files, the global ranks identify the tasks. In a single file, the program may have chosen
    any global ranks, so the order in the file identifies the tasks."""
    found: dict[int, bytes] = {}
    nfiles = number = 0
    while number == 0 or number < nfiles:
        with _physical(physical_name(str(path), number)) as file:
            nfiles = file.header.nfiles
            for lrank, globalrank in enumerate(file.globalranks):
                stored = b"".join(b"".join(file.read_range(*block)) for block in file.blocks(lrank))
                plain = b"".join(plain_blocks(stored, f"task {lrank}")) if is_compressed(file) else stored
                found[globalrank if nfiles > 1 else lrank] = plain
        number += 1
    return [found[rank] for rank in sorted(found)]
