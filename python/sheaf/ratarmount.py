# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A backend for ratarmount: mounts multifiles, and archives of :mod:`sheaf.archive`, as directories.

``sheaf ratarmount run.sion mnt`` runs ratarmount with support for multifiles. ``register()`` adds this
support to programs that use ``ratarmountcore``.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from typing import IO, Any, Dict, List, Optional, Sequence, Tuple, Union

from ratarmountcore.mountsource import FileInfo, MountSource
from ratarmountcore.mountsource.archives import ARCHIVE_BACKENDS, ArchiveBackendInfo

from .archive import Archive, Entry
from .fsspec import ObjectFile, is_multifile

BACKEND = "sheaf"


class SheafMountSource(MountSource):  # type: ignore[misc]
    """The contents of a multifile: a file per task, ``TASK/KEY`` for key-value records, or the objects of
    an archive."""

    def __init__(self, path: "Union[str, os.PathLike[str]]", **_: Any) -> None:
        self.path = os.fspath(path)
        self._archive = Archive(self.path)
        self._entries = self._archive.entries()
        self._directories = self._archive.directories()
        self._status = os.stat(self.path)

    def is_immutable(self) -> bool:
        return True

    def __enter__(self) -> "SheafMountSource":
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def list(self, path: str) -> Optional[Dict[str, FileInfo]]:
        name = path.strip("/")
        if name and name not in self._directories:
            return None
        found: Dict[str, FileInfo] = {}
        for child in self._archive.children(name):
            info = self.lookup(child)
            if info is not None:
                found[child.rpartition("/")[2]] = info
        return found

    def lookup(self, path: str, fileVersion: int = 0) -> Optional[FileInfo]:  # noqa: N803, the name is ratarmount's
        name = path.strip("/")
        entry = self._entries.get(name)
        if entry is None and name and name not in self._directories:
            return None
        kind = stat.S_IFDIR if entry is None else stat.S_IFREG
        bits = stat.S_IMODE(self._status.st_mode) & ~0o222
        mode = kind | bits | ((bits & 0o444) >> 2 if entry is None else 0)
        modified = self._status.st_mtime if entry is None else entry.modified or self._status.st_mtime
        return FileInfo(
            size=0 if entry is None else entry.size,
            mtime=modified,
            mode=mode,
            linkname="",
            uid=self._status.st_uid,
            gid=self._status.st_gid,
            userdata=[(name, entry)],
        )

    def open(self, fileInfo: FileInfo, buffering: int = -1) -> "IO[bytes]":  # noqa: N803
        name, entry = self._place(fileInfo)
        raw: Any = ObjectFile(self._archive, name, entry)
        return raw if buffering == 0 else io.BufferedReader(raw, 1 << 17 if buffering < 2 else buffering)

    def read(self, fileInfo: FileInfo, size: int, offset: int) -> bytes:  # noqa: N803
        name, _ = self._place(fileInfo)
        return self._archive.read(name, offset, offset + size)

    @staticmethod
    def _place(info: FileInfo) -> Tuple[str, Entry]:
        name, entry = info.userdata[-1]
        if entry is None:
            raise IsADirectoryError(name)
        return name, entry


def _open(file: Any, **options: Any) -> Optional[SheafMountSource]:
    if isinstance(file, (str, os.PathLike)) and is_multifile(os.fspath(file)):
        return SheafMountSource(file, **options)
    return None


def register() -> None:
    """Makes ratarmountcore open multifiles."""
    ARCHIVE_BACKENDS.setdefault(BACKEND, ArchiveBackendInfo(_open, set(), []))


def main(arguments: Sequence[str]) -> int:
    """Runs ``sheaf ratarmount``: the command ratarmount with support for multifiles. It checks the format
    of files before it asks backends, so multifiles are passed to it as fsspec URLs."""
    import fsspec
    from ratarmount.cli import cli

    register()
    fsspec.register_implementation("sheaf", "sheaf.fsspec.SheafFileSystem", clobber=True)
    words: List[str] = [
        "sheaf://" + os.path.abspath(word) if os.path.isfile(word) and is_multifile(word) else word
        for word in arguments
    ]
    status = cli(words)
    return int(status or 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
