"""The classes of ``sheaf`` without the C library, in plain Python on top of ``sheaf_format``.

Reads complete multifiles, including compressed ones and sets. Keeps compressed streams in memory. Writes
multifiles of one physical file, without checksums and journal, and keeps all data in memory until the close.
Does not support collective access by several processes.
"""

from __future__ import annotations

import ctypes
import errno
import io
import os
import sys
import threading
from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Callable, Dict, Iterator, List, NoReturn, Optional, Sequence, Tuple

import sheaf_format
from sheaf_format import ChunkFiller, FormatError, Kind, MultifileSpec, TaskSpec
from sheaf_format.containers import task_names
from sheaf_format.keyval import encode as encode_records

from ._buffers import Pinned
from .errors import Error, error_of, require_bits
from .info import Chunk, Info, StreamName, TaskInfo
from .streams import InputStream, OutputStream

_ENCODED_WORDS = ("compress=", "atomic", "durable", "append", "files=", "async")


def _error_in(path: str, problem: Exception) -> Error:
    if isinstance(problem, FormatError):
        kind = "unclosed" if "never closed" in problem.finding else "damaged"
        kind = "not_a_multifile" if "magic" in problem.finding else kind
        return error_of(kind, str(problem), path=path)
    number = getattr(problem, "errno", None)
    kind = {errno.ENOENT: "not_found", errno.EACCES: "permission"}.get(number or 0, "io")
    return error_of(
        kind, f"cannot open '{path}': {os.strerror(number or errno.EIO)}", path=path, errno=number
    )


class PureMetadata:
    """The equivalent of :class:`sheaf.info.Metadata` for the pure reader."""

    def __init__(self, path: str, checksums: bool = True) -> None:
        self.path = path
        self.lock = threading.Lock()
        try:
            self.multifile = sheaf_format.Multifile(path)
            self._checksummed = [
                sheaf_format.verify(file) if checksums else False for file in self.multifile.files
            ]
        except (FormatError, OSError) as problem:
            raise _error_in(path, problem) from None
        first = self.multifile.files[0].header
        self._plain: Dict[int, List[bytes]] = {}
        version = f"{first.library_version // 1000}.{first.library_version % 1000}"
        self.info = Info(
            len(self.multifile.tasks),
            max(file.maxblocks for file in self.multifile.files),
            sum(self.multifile.length(task.rank) for task in self.multifile.tasks),
            len(self.multifile.files),
            first.fsblksize,
            first.format_version,
            version,
            first.is_keyval,
            True,
            all(self._checksummed),
            first.encoded,
            first.userdata_order,
        )

    def close(self) -> None:
        self.multifile.close()

    def file_path(self, file: int) -> str:
        return self.multifile.files[file].path

    def names(self) -> Dict[str, StreamName]:
        """Returns the streams by name, in the order of the tasks; empty if the multifile has no names."""
        found = task_names(self.multifile.files[0]) if len(self.multifile.files) == 1 else None
        return {
            os.fsdecode(name): StreamName(task, modified / 1e9)
            for task, (name, _, modified) in enumerate(found or [])
        }

    def blocks(self, task: int) -> List[bytes]:
        """Returns the decompressed blocks of a task of a compressed multifile."""
        if task not in self._plain:
            self._plain[task] = self.multifile.plain_blocks(task)
        return self._plain[task]

    def tasks(self, first: int = 0, count: Optional[int] = None, lengths: bool = True) -> List[TaskInfo]:
        found: List[TaskInfo] = []
        for task in self.multifile.tasks[first : None if count is None else first + count]:
            file = self.multifile.files[task.file]
            stored = self.multifile.length(task.rank)
            size = sum(map(len, self.blocks(task.rank))) if lengths and self.info.compressed else stored
            found.append(
                TaskInfo(
                    task.rank,
                    task.file,
                    task.lrank,
                    file.globalranks[task.lrank],
                    file.chunks[task.lrank],
                    file.block_counts[task.lrank],
                    stored,
                    size,
                )
            )
        return found

    def chunks(self, task: int) -> List[Chunk]:
        place = self.multifile.tasks[task]
        file = self.multifile.files[place.file]
        return [
            Chunk(place.file, file.path, offset, file.chunks[place.lrank], size)
            for offset, size in self.multifile.blocks(task)
        ]


class PureInputStream(InputStream):
    """The stream of a task, read in Python."""

    def __init__(self, path: str, task: int, metadata: Callable[[], Any]) -> None:
        io.RawIOBase.__init__(self)
        self.path, self.task = path, task
        self._metadata = metadata
        self._records = None
        self._at = 0
        facts: PureMetadata = metadata()
        self._blocks = facts.multifile.blocks(task)
        self._data = b"".join(facts.blocks(task)) if facts.info.compressed else None
        sizes = [size for _, size in self._blocks]
        self._begins = [0, *accumulate(sizes)]
        self._size = self._begins[-1] if self._data is None else len(self._data)

    def close(self) -> None:
        io.RawIOBase.close(self)

    def _move(self, where: int, offset: int) -> int:
        self._at = offset
        return offset

    def tell(self) -> int:
        self._check_open()
        return self._at

    def _is_big_endian(self) -> bool:
        return bool(self._metadata().info.byteorder == "big")

    def _read_to(self, address: int, size: int) -> int:
        size = min(size, max((self._size or 0) - self._at, 0))
        begin = self._at
        while self._at < begin + size:
            piece = self._piece(begin + size - self._at)
            ctypes.memmove(address + self._at - begin, piece, len(piece))
            self._at += len(piece)
        return size

    def _piece(self, size: int) -> bytes:
        if self._data is not None:
            return self._data[self._at : self._at + size]
        facts: Any = self._metadata()
        block = bisect_right(self._begins, self._at) - 1
        offset, used = self._blocks[block]
        skip = self._at - self._begins[block]
        with facts.lock:
            file = facts.multifile.files[facts.multifile.tasks[self.task].file]
            data: bytes = file.read_bytes(offset + skip, min(size, used - skip, 1 << 20))
        return data

    @property
    def records(self) -> Any:
        if self._records is None:
            self._records = PureRecords(self)  # type: ignore[assignment]
        return self._records


class PureRecords(Mapping[int, bytes]):
    """Key-value records of a task, read in Python; see :class:`sheaf.keyval.InputRecords`."""

    def __init__(self, stream: PureInputStream) -> None:
        facts: Any = stream._metadata()
        if not facts.info.keyval:
            raise error_of(
                "wrong_mode", f"'{stream.path}' has no key-value records", path=stream.path, task=stream.task
            )
        self._stream = stream
        self._places = [(r.key, r.position, r.length) for r in facts.multifile.records(stream.task)]
        self._keys: Dict[int, List[Tuple[int, int]]] = {}
        for key, position, length in self._places:
            self._keys.setdefault(key, []).append((position, length))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[int]:
        return iter(self._keys)

    def __getitem__(self, key: int) -> bytes:
        return b"".join(self.records_of(key))

    def count(self, key: int) -> int:
        return len(self._keys[key])

    def size(self, key: int) -> int:
        return sum(length for _, length in self._keys[key])

    def readinto(self, key: int, buffer: Any) -> int:
        value = self[key]
        with Pinned(buffer, writable=True) as into:
            size = min(len(value), into.size)
            ctypes.memmove(into.address, value, size)
            return size

    def records_of(self, key: int) -> List[bytes]:
        return [self._stream.pread(length, position) for position, length in self._keys[key]]

    def in_order(self) -> Iterator[Tuple[int, bytes]]:
        for key, position, length in self._places:
            yield key, self._stream.pread(length, position)

    def places(self) -> List[Tuple[int, int, int]]:
        return list(self._places)


class PureOutputStream(OutputStream):
    """The stream of a task, held in memory until the multifile is closed."""

    def __init__(
        self, path: str, task: int, chunk: int, select: Callable[[], None], lock: "threading.RLock"
    ) -> None:
        io.RawIOBase.__init__(self)
        self.path, self.task = path, task
        self._select, self._lock = select, lock
        self._records = None
        self._filler = ChunkFiller(chunk)
        self.written = 0

    def tell(self) -> int:
        self._selected()
        return self.written

    def _append(self, source: Pinned) -> None:
        if source.size:
            self._filler.write(ctypes.string_at(source.address, source.size))
            self.written += source.size

    def flush(self) -> None:
        """Does nothing, because all data stay in memory until the close."""

    def ensure_free_space(self, size: int) -> None:
        self._selected()
        self._filler.ensure(size)

    @property
    def records(self) -> Any:
        if self._records is None:
            self._records = PureOutputRecords(self)  # type: ignore[assignment]
        return self._records

    def blocks(self) -> List[bytes]:
        return self._filler.blocks()


class PureOutputRecords:
    """Appends records to a task, in Python."""

    def __init__(self, stream: PureOutputStream) -> None:
        self._stream = stream

    def __setitem__(self, key: int, value: Any) -> None:
        self.append(key, value)

    def append(self, key: int, value: Any) -> int:
        stream = self._stream
        require_bits(key, 64, "key", stream.path, stream.task)
        with Pinned(value) as source, stream._lock:
            stream._selected()
            data = ctypes.string_at(source.address, source.size) if source.size else b""
            record = encode_records([(key, data)], sys.byteorder)
            stream._filler.fill(record)
            stream.written += len(record)
            return source.size


def refuse(path: str, what: str) -> NoReturn:
    raise error_of(
        "unsupported",
        f"'{path}': {what} needs the library libsheaf, which is not here; set SHEAF_LIBRARY to where it is",
        path=path,
    )


def write_multifile(
    path: str,
    streams: Sequence[PureOutputStream],
    chunk_sizes: Sequence[int],
    ranks: Sequence[int],
    block_size: int,
    keyval: bool,
) -> None:
    """Writes the streams to a temporary multifile, then renames it to ``path`` when it is complete."""
    tasks = [
        TaskSpec(chunk=size, globalrank=rank, blocks=stream.blocks())
        for stream, size, rank in zip(streams, chunk_sizes, ranks)
    ]
    mode = sheaf_format.KEYVAL_INLINE if keyval else sheaf_format.KEYVAL_NONE
    spec = MultifileSpec(path, tasks, block_size, kind=Kind.SERIAL, keyval_mode=mode)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        sheaf_format.write(spec, temporary)
        os.replace(temporary, path)
    except OSError as problem:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise _error_in(path, problem) from None


def block_size_of(path: str, wanted: int) -> int:
    """Returns ``wanted`` if it is > 0, otherwise the block size of the file system, in bytes."""
    return wanted if wanted > 0 else max(os.stat(os.path.dirname(os.path.abspath(path))).st_blksize, 512)


def check_words(path: str, words: str) -> None:
    for word in words.split(","):
        if word.startswith(_ENCODED_WORDS):
            refuse(path, f"the word '{word}'")
