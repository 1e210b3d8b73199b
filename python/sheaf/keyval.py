"""Key-value records of a task as mappings: 64-bit keys, values of any length.

A key may have several records. As a mapping, its value is their concatenation, as written by ``sheaf split``.
:meth:`InputRecords.records_of` returns the records of a key one by one, :meth:`InputRecords.in_order` all
records of a task in writing order.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from ctypes import c_longlong, c_size_t, c_uint64
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Tuple

from ._buffers import Pinned, new_bytes
from .errors import WrongModeError, require_bits

if TYPE_CHECKING:
    from .streams import InputStream, OutputStream

_KEYVAL_INLINE = 51
_CURRENT_BLOCK, _ABSOLUTE, _CURRENT_POSITION = -102, -104, -103
_HEADER = 16


class _Statistics(ctypes.Structure):
    """The C structure sion_key_stat_t."""

    _fields_ = [("key", c_uint64), ("records", c_longlong), ("bytes", c_longlong)]


class InputRecords(Mapping[int, bytes]):
    """The records of a task. It uses the stream it was created from, so only one thread may use both at a
    time."""

    def __init__(self, stream: "InputStream") -> None:
        self._stream = stream
        self._library = stream._library
        if self._library.sion_get_keyval_mode(stream._sid) != _KEYVAL_INLINE:
            raise WrongModeError(
                f"'{stream.path}' has no key-value records", path=stream.path, task=stream.task
            )
        self._known: Dict[int, Tuple[int, int]] = {}  # number of records and bytes, by key
        self._scanned = False

    def _scan(self) -> Dict[int, Tuple[int, int]]:
        if self._scanned:
            return self._known
        sid, calls = self._sid(), self._library
        calls.sion_seek(sid, self._stream.task, _CURRENT_BLOCK, _CURRENT_POSITION)
        if not calls.sion_key_full_scan(sid):
            self._stream._fail()
        calls.sion_key_list_iterator_reset(sid)
        key, found = c_uint64(), _Statistics()
        while calls.sion_key_list_iterator_next(sid, ctypes.byref(key)):
            if not calls.sion_key_get_stat(sid, key, ctypes.byref(found)):
                self._stream._fail()
            self._known[key.value] = (found.records, found.bytes)
        self._scanned = True
        return self._known

    def _sid(self) -> int:
        self._stream._check_open()
        return self._stream._sid

    def __len__(self) -> int:
        return len(self._scan())

    def __iter__(self) -> Iterator[int]:
        return iter(self._scan())

    def __contains__(self, key: object) -> bool:
        return key in self._scan()

    def count(self, key: int) -> int:
        """Returns the number of records of a key."""
        return self._scan()[key][0]

    def size(self, key: int) -> int:
        """Returns the total bytes of the values of a key."""
        return self._scan()[key][1]

    def __getitem__(self, key: int) -> bytes:
        data = new_bytes(self.size(key))
        if data:
            with Pinned(data) as into:
                self._read_to(key, into)
        return data

    def readinto(self, key: int, buffer: Any) -> int:
        """Reads the concatenated values of a key into a buffer, as far as they fit. Returns the number of
        bytes."""
        with Pinned(buffer, writable=True) as into:
            return self._read_to(key, into)

    def _read_to(self, key: int, into: Pinned) -> int:
        sid, calls = self._sid(), self._library
        size = min(self.size(key), into.size)
        if size == 0:
            return 0
        if not calls.sion_seek_key(sid, key, _ABSOLUTE, 0):
            self._stream._fail()
        done = 0
        while done < size:
            moved = calls.sion_fread_key(into.address + done, key, 1, size - done, sid)
            if moved == 0:
                self._stream._fail()
            done += moved
        return done

    def records_of(self, key: int) -> List[bytes]:
        """Returns the values of a key, one per record."""
        return (
            [value for found, value in self.in_order() if found == key]
            if self.count(key) > 1
            else [self[key]]
        )

    def in_order(self) -> Iterator[Tuple[int, bytes]]:
        """Yields (key, value) of every record, in writing order."""
        for key, offset, size in self.places():
            yield key, self._stream.pread(size, offset)

    def places(self) -> List[Tuple[int, int, int]]:
        """Returns (key, offset of the value in the stream, bytes of the value) of every record, in writing order."""
        sid, calls = self._sid(), self._library
        calls.sion_fread_key_iterator_reset(sid)
        key, size = c_uint64(), c_size_t()
        found: List[Tuple[int, int, int]] = []
        at = 0
        while calls.sion_fread_key_iterator_next(sid, ctypes.byref(key), ctypes.byref(size)):
            found.append((key.value, at + _HEADER, size.value))
            at += _HEADER + size.value
        if at != self._stream.size:
            self._stream._fail(at)
        return found


class OutputRecords:
    """Appends records to a task."""

    def __init__(self, stream: "OutputStream") -> None:
        self._stream = stream

    def __setitem__(self, key: int, value: Any) -> None:
        self.append(key, value)

    def append(self, key: int, value: Any) -> int:
        """Appends one record and returns the bytes of its value. A key may have several records."""
        stream = self._stream
        require_bits(key, 64, "key", stream.path, stream.task)
        with Pinned(value) as source, stream._lock:
            stream._selected()
            done = stream._library.sion_fwrite_key(source.address, key, 1, source.size, stream._sid)
            if done != source.size:
                stream._fail(int(stream._library.sion_get_bytes_written(stream._sid)))
            return source.size
