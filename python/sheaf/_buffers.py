"""Addresses of Python objects that hold bytes, for calls of the library: nothing is copied."""

from __future__ import annotations

import ctypes
from typing import Any

from .errors import InvalidArgumentError


class _PyBuffer(ctypes.Structure):
    """Py_buffer, as all versions of Python have it."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


_get = ctypes.pythonapi.PyObject_GetBuffer
_get.argtypes = [ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int]
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes = [ctypes.POINTER(_PyBuffer)]
_release.restype = None
_new = ctypes.pythonapi.PyBytes_FromStringAndSize
_new.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t]
_new.restype = ctypes.py_object
_ANY_CONTIGUOUS, _WRITABLE = 0x98, 0x01


class Pinned:
    """The bytes of a contiguous buffer, C or Fortran order, as they lie in memory; they stay there while this
    is entered."""

    __slots__ = ("_buffer", "address", "size")

    def __init__(self, data: Any, writable: bool = False) -> None:
        self._buffer = _PyBuffer()
        try:
            _get(data, ctypes.byref(self._buffer), _ANY_CONTIGUOUS | (_WRITABLE if writable else 0))
        except (BufferError, ValueError) as error:
            raise InvalidArgumentError(
                f"{type(data).__name__} cannot be {'read into' if writable else 'written'}: {error}"
                " (numpy.ascontiguousarray makes a contiguous copy)"
            ) from None
        self.address: int = self._buffer.buf or 0
        self.size: int = self._buffer.len

    def __enter__(self) -> "Pinned":
        return self

    def __exit__(self, *_: object) -> None:
        _release(ctypes.byref(self._buffer))


def new_bytes(size: int) -> bytes:
    """Bytes with any content, to be filled by a call of the library before anybody else sees them."""
    made: bytes = _new(None, size)
    return made
