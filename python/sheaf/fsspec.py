# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A file system for fsspec: the contents of a multifile, by name.

``sheaf:///data/run.sion`` is a directory with the tasks of the multifile as files,
``sheaf:///data/run.sion/3`` the stream of task 3, ``sheaf:///data/run.sion/3/7`` its key 7 in a key-value
multifile, and ``sheaf:///data/run.sion/out/a.txt`` the stream of that name if streams have names. Writing to
a name below a path that does not exist creates an archive (:mod:`sheaf.archive`). Files appear in it when
they are closed.

The multifile is the first component of a path that is a file. Otherwise it is the first component that does not exist.
"""

from __future__ import annotations

import io
import mmap
import os
import tempfile
import threading
from datetime import datetime, timezone
from typing import Any, Dict, Iterator, List, Optional, Tuple

from fsspec.spec import AbstractFileSystem

from .archive import Archive, Entry

_IN_MEMORY = 64 << 20
_MAGICS = (b"sion", b"\x89SHF")


class SheafFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Multifiles of the local file systems. ``words``: words of the open mode for archives to be created
    (``"compress=zstd"``)."""

    protocol = "sheaf"
    root_marker = "/"
    cachable = True

    def __init__(self, words: str = "", **options: Any) -> None:
        super().__init__(**options)
        self.words = words
        self._archives: Dict[str, Archive] = {}
        self._guard = threading.Lock()

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(part) for part in path]
        text = os.fspath(path)
        for head in ("sheaf://", "sheaf:"):
            if text.startswith(head):
                text = text[len(head) :]
                break
        return os.path.abspath(text) if text else "/"

    def unstrip_protocol(self, name: str) -> str:
        return "sheaf://" + str(self._strip_protocol(name))

    # --- locations

    def split_path(self, path: str) -> Tuple[str, Optional[str]]:
        """Returns (multifile, name in it), or (directory, None) for a directory of the local file system."""
        whole = str(self._strip_protocol(path))
        parts = whole.strip("/").split("/")
        at = "/"
        for number, part in enumerate(parts):
            at = os.path.join(at, part)
            if not os.path.isdir(at):
                return at, "/".join(parts[number + 1 :])
        return whole, None

    def archive(self, path: str) -> Archive:
        """Returns the archive of a multifile, shared by all users of this file system."""
        with self._guard:
            found = self._archives.get(path)
            if found is None:
                found = self._archives[path] = Archive(path, words=self.words)
            return found

    def _find(self, path: str) -> Tuple[Archive, str, Entry]:
        place, name = self.split_path(path)
        if name and os.path.exists(place):
            archive = self.archive(place)
            entry = archive.get(name)
            if entry is not None:
                return archive, name, entry
            if name in archive.directories():
                raise IsADirectoryError(path)
        elif name == "" and os.path.exists(place) or name is None:
            raise IsADirectoryError(path)
        raise FileNotFoundError(path)

    def _describe(self, place: str, archive: Archive, name: str) -> Dict[str, Any]:
        entry = archive.get(name)
        path = f"{place}/{name}"
        if entry is None:
            return {"name": path, "size": 0, "type": "directory"}
        modified = entry.modified or os.stat(place).st_mtime
        return {"name": path, "size": entry.size, "type": "file", "task": entry.task, "mtime": modified}

    def info(self, path: str, **_: Any) -> Dict[str, Any]:
        place, name = self.split_path(path)
        if name is None or (name == "" and is_multifile(place)):
            return {"name": place, "size": 0, "type": "directory"}
        if name and os.path.exists(place):
            archive = self.archive(place)
            if archive.get(name) is not None or name in archive.directories():
                return self._describe(place, archive, name)
        raise FileNotFoundError(path)

    def ls(self, path: str, detail: bool = True, **_: Any) -> List[Any]:
        place, name = self.split_path(path)
        if name is None:
            found = [
                {"name": os.path.join(place, entry.name), "size": 0, "type": "directory"}
                for entry in sorted(os.scandir(place), key=lambda entry: entry.name)
                if entry.is_dir() or is_multifile(entry.path)
            ]
        elif not os.path.exists(place):
            raise FileNotFoundError(path)
        else:
            archive = self.archive(place)
            if name and archive.get(name) is not None:
                found = [self._describe(place, archive, name)]
            elif name and name not in archive.directories():
                raise FileNotFoundError(path)
            else:
                found = [self._describe(place, archive, child) for child in archive.children(name)]
        return found if detail else [entry["name"] for entry in found]

    def created(self, path: str) -> datetime:
        return self.modified(path)

    def modified(self, path: str) -> datetime:
        facts = self.info(path)
        seconds = facts["mtime"] if "mtime" in facts else os.stat(facts["name"]).st_mtime
        return datetime.fromtimestamp(seconds, tz=timezone.utc)

    # --- reading

    def cat_file(self, path: str, start: Optional[int] = None, end: Optional[int] = None, **_: Any) -> bytes:
        archive, name, _entry = self._find(path)
        return archive.read(name, 0 if start is None else start, end)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: Optional[int] = None,
        autocommit: bool = True,
        cache_options: Any = None,
        **_: Any,
    ) -> Any:
        if mode == "rb":
            archive, name, entry = self._find(path)
            return io.BufferedReader(ObjectFile(archive, name, entry), block_size or 1 << 20)
        place, name_or_none = self.split_path(path)
        if not name_or_none:
            raise IsADirectoryError(path)
        archive = self.archive(place)
        before = b""
        if os.path.exists(place):
            if name_or_none in archive.directories():
                raise IsADirectoryError(path)
            there = archive.get(name_or_none) is not None
            if there and "x" in mode:
                raise FileExistsError(path)
            before = archive.read(name_or_none) if there and "a" in mode else b""
        return _Upload(archive, name_or_none, before)

    # --- changing

    def pipe_file(self, path: str, value: Any, mode: str = "overwrite", **_: Any) -> None:
        place, name = self.split_path(path)
        if not name:
            raise IsADirectoryError(path)
        if mode == "create":
            if not self.archive(place).put_if_absent(name, value):
                raise FileExistsError(path)
        else:
            self.archive(place).put(name, value)

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        place, name = self.split_path(path)
        if name is None or self.exists(path):
            raise FileExistsError(path)
        if name == "":
            Archive(place, create=True, words=self.words)
        else:
            if not create_parents and not self.isdir(self._parent(path)):
                raise FileNotFoundError(self._parent(path))
            self.archive(place).make_directory(name)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        if self.exists(path):
            if not exist_ok:
                raise FileExistsError(path)
            return
        try:
            self.mkdir(path)
        except FileExistsError:  # created by another process in the meantime
            if not exist_ok or not self.isdir(path):
                raise

    def rmdir(self, path: str) -> None:
        place, name = self.split_path(path)
        if name is None:
            raise IsADirectoryError(f"{path} is a directory of another file system")
        if not self.exists(path):
            raise FileNotFoundError(path)
        if self.ls(path, detail=False):
            raise OSError(f"{path} is not empty")
        if name:
            self.archive(place).delete([name])
        else:
            self._remove_multifile(place)

    def _rm(self, path: str) -> None:
        self.rm_file(path)

    def rm_file(self, path: str) -> None:
        archive, name, _ = self._find(path)
        archive.delete([name])

    def rm(self, path: Any, recursive: bool = False, maxdepth: Optional[int] = None) -> None:
        """Removes all given files in one change. A whole archive is removed as a file."""
        by_archive: Dict[str, List[str]] = {}
        for found in self.expand_path(path, recursive=recursive, maxdepth=maxdepth):
            place, name = self.split_path(found)
            if name is None:
                raise IsADirectoryError(f"{found} is a directory of another file system")
            if not recursive and self.isdir(found):
                raise IsADirectoryError(found)
            by_archive.setdefault(place, []).append(name)
        for place, names in by_archive.items():
            if "" in names:
                self._remove_multifile(place)
            else:
                self.archive(place).delete(names)

    def _remove_multifile(self, place: str) -> None:
        with self._guard:
            archive = self._archives.pop(place, None)
        if archive is not None:
            archive.close()
        os.unlink(place)

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        if self.isdir(path1):
            self.makedirs(path2, exist_ok=True)
            return
        self.pipe_file(path2, self.cat_file(path1))

    def mv(
        self, path1: str, path2: str, recursive: bool = False, maxdepth: Optional[int] = None, **options: Any
    ) -> None:
        """Moves or copies a file within an archive in one change."""
        place, name = self.split_path(path1)
        other, target = self.split_path(path2)
        if (
            not recursive
            and name
            and target
            and place == other
            and self.isfile(path1)
            and not self.isdir(path2)
        ):
            archive = self.archive(place)
            if name != target:
                archive.change({target: archive.read(name)}, delete=[name])
            return
        super().mv(path1, path2, recursive=recursive, maxdepth=maxdepth, **options)


def is_multifile(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) in _MAGICS
    except OSError:
        return False


class ObjectFile(io.RawIOBase):
    """An object of an archive, opened for reading."""

    def __init__(self, archive: Archive, name: str, entry: Entry) -> None:
        super().__init__()
        self._archive, self._name, self.size = archive, name, entry.size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        if start + offset < 0:
            raise ValueError(f"offset {start + offset} is before the begin")
        self._at = start + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self._archive.read(self._name, self._at, self._at + len(view))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Upload(io.RawIOBase):
    """A file opened for writing. It appears in the archive when it is closed. A ``with`` block that fails
    writes nothing."""

    def __init__(self, archive: Archive, name: str, before: bytes) -> None:
        super().__init__()
        self._archive, self._name = archive, name
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)
        self._file.write(before)
        self._failed = False

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell()

    def write(self, data: Any) -> int:
        return self._file.write(data)

    def close(self) -> None:
        if self.closed:
            return
        try:
            if not self._failed:
                self._archive.put(self._name, self._contents())
        finally:
            self._file.close()
            super().close()

    def discard(self) -> None:
        self._failed = True
        self.close()

    def _contents(self) -> Any:
        size = self._file.tell()
        self._file.seek(0)
        if size <= _IN_MEMORY:
            return self._file.read()
        return mmap.mmap(self._file.fileno(), size, access=mmap.ACCESS_READ)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self._failed = kind is not None
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        raise io.UnsupportedOperation("the file is open for writing")


__all__ = ["SheafFileSystem"]
