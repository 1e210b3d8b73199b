"""Named objects in a multifile, for programs that address data by name: fsspec, zarr and others.

An archive is a key-value multifile with one task, so all tools for multifiles work with archives. Every
object is one record, stored as one range of one physical file. Records with key 0 form the index: each lists
in JSON which names were added and removed, and follows the records of the added objects. If a writer dies,
all earlier changes remain intact. Replaced and deleted data stay in the file until :meth:`Archive.compact`.

Any other multifile can be read as an archive. If its streams have names, as after the capture of a program,
these are the object names. Otherwise an object is named by its task number, or ``TASK/KEY`` for a key-value
record.

>>> import tempfile
>>> archive = Archive(tempfile.mkdtemp() + "/a.sion", create=True)
>>> archive.put("x/y", b"hello")
>>> archive.read("x/y", 1, 3), list(archive.entries())
(b'el', ['x/y'])
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Generator, List, Mapping, Optional, Set, Tuple, Union

from .background import wait_if_pending
from .errors import InvalidArgumentError, NotFoundError, WrongModeError
from .multifile import MultifileReader
from .words import words_of
from .writer import MultifileWriter, serial_writer

INDEX_KEY = 0
_HEADER = 16
_FORMAT = "sheaf archive"
_CHUNK = 1 << 20

Path = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Entry:
    """An object: the task of its stream, its offset there, its size in bytes, and the time it was written
    (0: unknown)."""

    task: int
    offset: int
    size: int
    modified: float


class Archive:
    """The objects of a multifile by name. Thread-safe. Several processes may use the same archive: each
    change locks it, and every call sees all earlier changes."""

    def __init__(self, path: Path, create: bool = False, words: str = "") -> None:
        self.path = os.fspath(path)
        self._lock = threading.RLock()
        self._words = words
        self._seen: Any = None  # state of the file when it was read
        self._entries: Dict[str, Entry] = {}
        self._directories: Set[str] = set()
        self._next_key = 1
        self._writable = False
        self._reader: Optional[MultifileReader] = None
        if create:
            with self._locked():
                if not os.path.exists(self.path):
                    self._create(self.path, words)

    @staticmethod
    def _create(path: str, words: str) -> None:
        said = words_of(keyval=True, atomic=True, words=words)
        with serial_writer(path, "w", said, tasks=1, chunk_size=_CHUNK, block_size=1) as made:
            made[0].records.append(INDEX_KEY, _index([]))
        wait_if_pending(made.save)

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        """Excludes other processes and threads. Locks the directory, because the file may not exist yet."""
        with self._lock:
            directory = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY)
            try:
                fcntl.flock(directory, fcntl.LOCK_EX)
                yield
            finally:
                os.close(directory)

    # --- reading

    def _state(self) -> Any:
        """Returns a value that differs if the file has changed. Timestamps are too coarse for that, so it
        includes the end of the file, which contains block sizes and checksums."""
        with open(self.path, "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            file.seek(max(status.st_size - 4096, 0))
            return status.st_ino, status.st_size, status.st_mtime_ns, file.read(4096)

    def _look(self) -> MultifileReader:
        """Returns a reader. If the file has changed, reopens it and reads its index."""
        try:
            state = self._state()
        except FileNotFoundError:
            raise NotFoundError(
                f"cannot open '{self.path}': No such file or directory", path=self.path, errno=2
            ) from None
        if self._reader is None or state != self._seen:
            if self._reader is not None:
                self._reader.close()
            self._reader = MultifileReader(self.path)
            self._read_index(self._reader)
            self._seen = state
        return self._reader

    def _read_index(self, reader: MultifileReader) -> None:
        self._entries, self._directories, self._next_key, self._writable = {}, set(), 1, False
        places = self._index_places(reader) if reader.info.keyval and len(reader) == 1 else []
        if places:
            self._writable = True
            stream = reader[0]
            self._next_key = max(key for key, _, _ in places) + 1
            for key, offset, size in places:
                if key == INDEX_KEY:
                    self._replay(json.loads(stream.pread(size, offset))["changes"])
        elif reader.info.keyval:
            for stream in reader:
                for key, value in _joined(stream.records.places()).items():
                    self._entries[f"{stream.task}/{key}"] = Entry(stream.task, value[0], value[1], 0)
        else:
            named = {found.task: (name, found.modified) for name, found in reader.metadata.names().items()}
            for task in reader.tasks:
                name, modified = named.get(task.task, (str(task.task), 0.0))
                self._entries[name] = Entry(task.task, 0, task.bytes, modified)
        for name in self._entries:
            self._note_parents(name)

    @staticmethod
    def _index_places(reader: MultifileReader) -> List[Tuple[int, int, int]]:
        """Returns the records of an archive; empty if the file is another kind of multifile."""
        stream = reader[0]
        places = stream.records.places()
        if not places or places[0][0] != INDEX_KEY:
            return []
        try:
            first: Any = json.loads(stream.pread(places[0][2], places[0][1]))
        except ValueError:
            return []
        return places if isinstance(first, dict) and "format" in first and first["format"] == _FORMAT else []

    def _replay(self, changes: Iterable[List[Any]]) -> None:
        for what, name, *facts in changes:
            if what == "put":
                self._entries[name] = Entry(0, *facts)
                self._note_parents(name)
            elif what == "directory":
                self._directories.add(name)
                self._note_parents(name)
            elif what == "delete":
                self._entries.pop(name, None)
                self._directories.discard(name)

    def _note_parents(self, name: str) -> None:
        while "/" in name:
            name = name.rpartition("/")[0]
            if name in self._directories:
                return
            self._directories.add(name)

    def entries(self) -> Dict[str, Entry]:
        """Returns all objects by name."""
        with self._lock:
            self._look()
            return dict(self._entries)

    def get(self, name: str) -> Optional[Entry]:
        """Returns an object; None if it does not exist."""
        with self._lock:
            self._look()
            return self._entries.get(name)

    def directories(self) -> Set[str]:
        """Returns all directories: created ones and parents of objects and directories."""
        with self._lock:
            self._look()
            return set(self._directories)

    def children(self, prefix: str) -> List[str]:
        """Returns the names directly below a directory ("": the archive itself), each with its full path."""
        head = f"{prefix}/" if prefix else ""
        with self._lock:
            self._look()
            found = {
                head + name[len(head) :].partition("/")[0]
                for names in (self._entries, self._directories)
                for name in names
                if name.startswith(head)
            }
        return sorted(found)

    def read(self, name: str, start: int = 0, stop: Optional[int] = None) -> bytes:
        """Returns bytes [start, stop) of an object, verified against checksums; fewer at the end of the
        object."""
        with self._lock:
            reader = self._look()
            entry = self._entries.get(name)
            if entry is None:
                raise NotFoundError(f"'{self.path}' has no object '{name}'", path=self.path, errno=2)
            begin, end, _ = slice(start, stop).indices(entry.size)
            return reader[entry.task].pread(max(end - begin, 0), entry.offset + begin)

    def range_of(self, name: str) -> Optional[Tuple[str, int, int]]:
        """Returns (path, offset, bytes) of an object in the physical file. None if it is not contiguous or
        is compressed."""
        with self._lock:
            reader = self._look()
            entry = self._entries[name]
            if entry.size == 0 or reader.info.compressed:
                return None
            return _joined_range(reader, entry)

    # --- writing

    def put(self, name: str, data: Any) -> None:
        """Writes or replaces an object."""
        self.put_many({name: data})

    def put_many(self, objects: Mapping[str, Any]) -> None:
        """Writes several objects; readers see all objects or none."""
        self.change(objects)

    def put_if_absent(self, name: str, data: Any) -> bool:
        """Writes an object if the name does not exist. Returns whether it was written."""
        with self._locked():
            if os.path.exists(self.path) and self.get(name) is not None:
                return False
            self._change({name: data}, [], [])
            return True

    def delete(self, names: Iterable[str]) -> None:
        """Removes objects and directories from the index. Their data stay in the file until the archive is
        compacted."""
        self.change({}, delete=names)

    def make_directory(self, name: str) -> None:
        """Creates a directory that persists while it is empty."""
        self.change({}, directories=[name])

    def change(
        self, put: Mapping[str, Any], delete: Iterable[str] = (), directories: Iterable[str] = ()
    ) -> None:
        """Applies several changes at once, deletions first. Readers see all changes or none."""
        with self._locked():
            self._change(put, list(delete), list(directories))

    def _change(self, put: Mapping[str, Any], delete: List[str], directories: List[str]) -> None:
        for name in (*put, *directories):
            if not name or name.startswith("/") or name.endswith("/"):
                raise InvalidArgumentError(
                    f"'{self.path}': '{name}' is no name for an object", path=self.path
                )
        if not os.path.exists(self.path):
            self._create(self.path, self._words)
        reader = self._look()
        if not self._writable:
            raise WrongModeError(
                f"'{self.path}' is a multifile of tasks, not an archive; its contents cannot be changed",
                path=self.path,
            )
        reader.close()
        self._reader = None
        changes: List[List[Any]] = [["delete", name] for name in delete] + [
            ["directory", name] for name in directories
        ]
        with serial_writer(self.path, "a", "") as file:
            self._append(file, put, changes)
        self._replay(changes)
        self._seen = self._state()
        self._reader = MultifileReader(self.path)

    def _append(self, file: MultifileWriter, put: Mapping[str, Any], changes: List[List[Any]]) -> None:
        """Writes the objects and adds them to ``changes``, then writes ``changes`` as an index record."""
        stream = file[0]
        at = stream.tell()
        for name, data in put.items():
            size = stream.records.append(self._next_key, data)
            changes.append(["put", name, at + _HEADER, size, time.time()])
            at += _HEADER + size
            self._next_key += 1
        stream.records.append(INDEX_KEY, _index(changes))

    def compact(self) -> None:
        """Rewrites the archive without replaced and deleted data."""
        with self._locked():
            reader = self._look()
            if not self._writable:
                return
            said = words_of(keyval=True, atomic=True, words=self._words)
            with serial_writer(self.path, "w", said, tasks=1, chunk_size=_CHUNK, block_size=1) as made:
                stream, at = made[0], 0
                changes: List[List[Any]] = [["directory", name] for name in sorted(self._directories)]
                head = _index(changes)
                stream.records.append(INDEX_KEY, head)
                at = _HEADER + len(head)
                moved: List[List[Any]] = []
                for key, (name, entry) in enumerate(self._entries.items(), 1):
                    stream.records.append(key, reader[0].pread(entry.size, entry.offset))
                    moved.append(["put", name, at + _HEADER, entry.size, entry.modified])
                    at += _HEADER + entry.size
                stream.records.append(INDEX_KEY, _index(moved))
            wait_if_pending(made.save)
            reader.close()
            self._reader = None

    def close(self) -> None:
        with self._lock:
            if self._reader is not None:
                self._reader.close()
                self._reader = None

    def __getstate__(self) -> Dict[str, Any]:
        return {"path": self.path, "words": self._words}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__init__(state["path"], words=state["words"])  # type: ignore[misc]


def _index(changes: List[List[Any]]) -> bytes:
    return json.dumps({"format": _FORMAT, "version": 1, "changes": changes}, separators=(",", ":")).encode()


def _joined(places: List[Tuple[int, int, int]]) -> Dict[int, Tuple[int, int]]:
    """Returns (offset, bytes) of the keys with a single record."""
    found: Dict[int, Tuple[int, int]] = {}
    several: Set[int] = set()
    for key, offset, size in places:
        if key in found:
            several.add(key)
        found[key] = (offset, size)
    return {key: place for key, place in found.items() if key not in several}


def _joined_range(reader: MultifileReader, entry: Entry) -> Optional[Tuple[str, int, int]]:
    """Returns the range of the physical file if all chunks with parts of the object are adjacent."""
    begin, first, path, end = 0, None, "", 0
    for chunk in reader[entry.task].chunks:
        low, high = max(begin, entry.offset), min(begin + chunk.bytes, entry.offset + entry.size)
        if low < high:
            at = chunk.offset + low - begin
            if first is not None and at != end:
                return None
            first = at if first is None else first
            path, end = chunk.path, at + high - low
        begin += chunk.bytes
    return None if first is None else (path, first, entry.size)
