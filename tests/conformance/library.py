"""Wraps the serial calls of the library for tests that read multifiles task by task."""

from __future__ import annotations

import ctypes
from pathlib import Path

_P = ctypes.POINTER
_CURRENT_BLK, _CURRENT_POS = -102, -103
_PIECE = 1 << 16


class Library:
    """The library. Every failing call raises OSError with the library's message."""

    def __init__(self, path: Path) -> None:
        self.lib = ctypes.CDLL(str(path))
        self.lib.sion_fread.restype = self.lib.sion_fwrite.restype = self.lib.sion_fread_key.restype = ctypes.c_size_t
        self.lib.sion_fread.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
        self.lib.sion_fwrite.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
        self.lib.sion_fread_key.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
        self.lib.sion_seek.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong]
        self.lib.sion_bytes_avail_in_block.restype = ctypes.c_longlong
        self.lib.sheaf_last_error.restype = ctypes.c_char_p
        self.lib.sheaf_print_errors(0)

    def _need(self, success: bool) -> None:
        if not success:
            raise OSError(self.lib.sheaf_last_error().decode())

    def open(self, path: Path, mode: str) -> tuple[int, int]:
        """Opens an existing multifile and returns the handle and the number of tasks. `mode` is `rb` or
        `append` with further words."""
        ntasks, nfiles, block = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        sid = self.lib.sion_open(str(path).encode(), mode.encode(), ctypes.byref(ntasks), ctypes.byref(nfiles), None,
                                 ctypes.byref(block), None, None)
        self._need(sid >= 0)
        return sid, ntasks.value

    def _select(self, sid: int, task: int) -> None:
        """Selects the start of a task. A task without data has no other position."""
        self._need(self.lib.sion_seek(sid, task, 0, 0) == 1)

    def _rest(self, sid: int) -> bytes:
        """Reads the rest of the current task."""
        stream, room = b"", ctypes.create_string_buffer(_PIECE)
        while (end := self.lib.sion_feof(sid)) == 0:
            left = self.lib.sion_bytes_avail_in_block(sid)
            got = self.lib.sion_fread(room, 1, _PIECE, sid)
            self._need(got > 0 or left == 0)
            stream += room.raw[:got]
        self._need(end == 1)
        return stream

    def _close(self, sid: int) -> None:
        self._need(self.lib.sion_close(sid) == 1)

    def streams(self, path: Path) -> list[bytes]:
        """Returns the streams of all tasks, read with sion_open."""
        sid, ntasks = self.open(path, "rb")
        found = []
        for task in range(ntasks):
            self._select(sid, task)
            found.append(self._rest(sid))
        self._close(sid)
        return found

    def stream(self, path: Path, task: int) -> bytes:
        """Returns the stream of one task, read with sion_open_rank."""
        chunk, block = ctypes.c_longlong(), ctypes.c_int()
        sid = self.lib.sion_open_rank(str(path).encode(), b"rb", ctypes.byref(chunk), ctypes.byref(block),
                                      ctypes.byref(ctypes.c_int(task)), None)
        self._need(sid >= 0)
        found = self._rest(sid)
        self._close(sid)
        return found

    def records(self, path: Path) -> list[list[tuple[int, bytes]]]:
        """Returns, for every task, key and value of its records in the order of writing."""
        sid, ntasks = self.open(path, "rb")
        found = []
        key, size = ctypes.c_uint64(), ctypes.c_size_t()
        for task in range(ntasks):
            self._select(sid, task)
            self._need(self.lib.sion_fread_key_iterator_reset(sid) == 1)
            mine = []
            while self.lib.sion_fread_key_iterator_next(sid, ctypes.byref(key), ctypes.byref(size)) == 1:
                value = ctypes.create_string_buffer(size.value + 1)
                if size.value > 0:
                    self._need(self.lib.sion_fread_key(value, key, 1, size, sid) == size.value)
                mine.append((key.value, value.raw[:size.value]))
            found.append(mine)
        self._close(sid)
        return found

    def append(self, path: Path, task: int, data: bytes, words: str = "") -> None:
        """Appends to one task's stream. `words` are further words of the open mode, each preceded by a
        comma."""
        sid, _ = self.open(path, "append" + words)
        self._need(self.lib.sion_seek(sid, task, _CURRENT_BLK, _CURRENT_POS) == 1)
        self._need(self.lib.sion_fwrite(data, 1, len(data), sid) == len(data))
        self._close(sid)
