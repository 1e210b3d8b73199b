"""Objects in streams: pickle protocol 5, with the buffers after the pickle instead of in it.

An object consists of ``SheafPkl``, the number of buffers, the length of the pickle, the lengths of the
buffers (64-bit little-endian numbers), the pickle, and the buffers. Each buffer starts at a multiple of 64
bytes from the start of the object.
"""

from __future__ import annotations

import pickle
import struct
from typing import Any, List

from .errors import DamagedError
from .streams import InputStream, OutputStream

_MAGIC = b"SheafPkl"
_ALIGNED = 64


def _padding(size: int) -> int:
    return -size % _ALIGNED


def dump(value: Any, stream: OutputStream) -> None:
    """Appends an object."""
    buffers: List[pickle.PickleBuffer] = []
    body = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    head = _MAGIC + struct.pack(
        f"<{2 + len(views)}q", len(views), len(body), *(view.nbytes for view in views)
    )
    pieces: List[Any] = [head, body]
    at = len(head) + len(body)
    for view in views:
        pieces += [bytes(_padding(at)), view]
        at += _padding(at) + view.nbytes
    stream.writev(pieces)


def load(stream: InputStream) -> Any:
    """Reads the object at the current position of the stream. Its buffers are filled directly and are
    writable."""
    here = stream.tell()
    head = stream.read(24)
    if len(head) < 24 or head[:8] != _MAGIC:
        raise DamagedError(
            f"'{stream.path}': there is no object at offset {here} of task {stream.task}",
            path=stream.path,
            task=stream.task,
            offset=here,
        )
    count, length = struct.unpack("<2q", head[8:])
    if count < 0 or length < 0 or 8 * count + length > stream.size - here:
        raise DamagedError(
            f"'{stream.path}': the object at offset {here} of task {stream.task} claims {count} buffers and "
            f"{length} bytes",
            path=stream.path,
            task=stream.task,
            offset=here,
        )
    sizes = struct.unpack(f"<{count}q", stream.read(8 * count))
    body = stream.read(length)
    at = 24 + 8 * count + length
    buffers: List[Any] = []
    for size in sizes:
        at += _padding(at)
        if not 0 <= size <= stream.size - here - at:
            raise DamagedError(
                f"'{stream.path}': a buffer of {size} bytes is beyond the end of task {stream.task}",
                path=stream.path,
                task=stream.task,
                offset=here + at,
            )
        stream.seek(here + at)
        data = _writable(size)
        stream.readinto(data)
        buffers.append(data)
        at += size
    stream.seek(here + at)
    return pickle.loads(body, buffers=buffers)


def _writable(size: int) -> Any:
    try:
        import numpy
    except ImportError:
        return bytearray(size)
    return numpy.empty(size, numpy.uint8)
