"""Addresses of Python buffers, for calls of the library, and the memory of new ones."""

from __future__ import annotations

import ctypes
import math
import mmap
from typing import TYPE_CHECKING, Any, Tuple

from .errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

_LARGE = 4 << 20  # bytes of an array


class _PyBuffer(ctypes.Structure):
    """Py_buffer, with the layout of all versions of Python."""

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
_C_CONTIGUOUS, _WRITABLE = 0x38, 0x01


class Pinned:
    """The bytes of a buffer in C order, at a fixed address within a ``with`` block. A buffer with elements
    in another order, such as a Fortran-ordered array, is copied for writing and rejected for reading."""

    __slots__ = ("_buffer", "address", "size")

    def __init__(self, data: Any, writable: bool = False) -> None:
        self._buffer = _PyBuffer()
        try:
            self._get(data, writable)
        except (BufferError, ValueError) as error:
            if writable:
                raise InvalidArgumentError(
                    f"{type(data).__name__} cannot be read into: {error} (a numpy array made with "
                    "order='C' can)"
                ) from None
            self._get(_in_c_order(data), writable)
        self.address: int = self._buffer.buf or 0
        self.size: int = self._buffer.len

    def _get(self, data: Any, writable: bool) -> None:
        _get(data, ctypes.byref(self._buffer), _C_CONTIGUOUS | (_WRITABLE if writable else 0))

    def __enter__(self) -> "Pinned":
        return self

    def __exit__(self, *_: object) -> None:
        _release(ctypes.byref(self._buffer))


def _in_c_order(data: Any) -> bytes:
    """Returns a copy of the elements of a buffer in C order."""
    try:
        return memoryview(data).tobytes()
    except (BufferError, NotImplementedError, ValueError) as error:
        raise InvalidArgumentError(
            f"{type(data).__name__} cannot be written: {error} (numpy.array(data, order='C') makes a copy "
            "that can)"
        ) from None


def new_bytes(size: int) -> bytes:
    """Returns ``size`` uninitialized bytes, which a call of the library must fill before other code sees
    them."""
    made: bytes = _new(None, size)
    return made


def new_array(shape: Tuple[int, ...], kind: "numpy.dtype[Any]") -> "NDArray[Any]":
    """Allocates an array. Large ones are not allocated by numpy, which requests huge pages: clearing them
    takes longer than reading the data."""
    import numpy

    size = kind.itemsize * math.prod(shape)
    if size < _LARGE or kind.hasobject:
        return numpy.empty(shape, dtype=kind)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    made: "NDArray[Any]" = numpy.ndarray(shape, dtype=kind, buffer=memory)
    return made
