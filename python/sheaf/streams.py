"""The stream of one task: a raw binary file as Python has them.

A stream is used by one thread at a time; different streams, also of one multifile, are used by different
threads at once, and every transfer lets other Python threads run.
"""

from __future__ import annotations

import ctypes
import io
import math
import mmap
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable, Iterable, List, NoReturn, Optional, Sequence, Tuple, Union

from ._buffers import Pinned, new_bytes
from ._library import Library, library
from .errors import DamagedError, Error, InvalidArgumentError, UnsupportedError, WrongModeError
from .info import Chunk, Metadata

if TYPE_CHECKING:
    import numpy
    from numpy.typing import DTypeLike, NDArray

    from .keyval import InputRecords, OutputRecords

CURRENT_RANK, CURRENT_BLOCK, CURRENT_POSITION = -101, -102, -103
ABSOLUTE, END = -104, -105
_LARGE = 4 << 20  # bytes of an array


class _Stream(io.RawIOBase):
    """What both directions share: the multifile, the task, and the handle with the call that closes it."""

    def __init__(self, path: str, task: int) -> None:
        super().__init__()
        self._library: Library = library("reading and writing")
        self.path = path
        self.task = task

    @property
    def name(self) -> str:
        return f"{self.path}[{self.task}]"

    def fileno(self) -> int:
        raise io.UnsupportedOperation("the stream of a task is no file of the operating system")

    def isatty(self) -> bool:
        return False

    def _fail(self, offset: Optional[int] = None) -> NoReturn:
        raise self._library.error(self.path, self.task, offset)

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError(f"the stream of task {self.task} of '{self.path}' is closed")


class InputStream(_Stream):
    """The stream of a task, to be read. ``size``: its length in bytes; ``chunks``: where it lies."""

    def __init__(
        self, path: str, task: int, sid: int, closer: Callable[[int], Any], metadata: Callable[[], Metadata]
    ) -> None:
        super().__init__(path, task)
        self._sid = sid
        self._metadata = metadata
        self._size: Optional[int] = None
        self._finalizer = weakref.finalize(self, closer, sid)
        self._records: Optional["InputRecords"] = None

    def close(self) -> None:
        if not self.closed:
            super().close()
            if hasattr(self, "_finalizer"):
                self._finalizer()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    @property
    def size(self) -> int:
        if self._size is None:
            self._check_open()
            here = self.tell()
            self._size = self._move(END, 0)
            self._move(ABSOLUTE, here)
        return self._size

    @property
    def chunks(self) -> List[Chunk]:
        return self._metadata().chunks(self.task)

    def _move(self, where: int, offset: int) -> int:
        if not self._library.sion_seek(self._sid, self.task, where, offset):
            self._fail(offset)
        return int(self._library.sion_get_bytes_read(self._sid))

    def tell(self) -> int:
        self._check_open()
        return int(self._library.sion_get_bytes_read(self._sid))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._check_open()
        if whence == io.SEEK_CUR:
            offset += self.tell()
        elif whence == io.SEEK_END:
            offset += self.size
        elif whence != io.SEEK_SET:
            raise InvalidArgumentError(f"whence is 0, 1 or 2, not {whence}", path=self.path, task=self.task)
        if offset < 0:
            raise InvalidArgumentError(
                f"'{self.path}': offset {offset} is before the begin of task {self.task}",
                path=self.path,
                task=self.task,
                offset=offset,
            )
        return self._move(ABSOLUTE, min(offset, self.size))

    def readinto(self, buffer: Any) -> int:
        """Fills the buffer, over chunks; less only at the end of the stream. Any C-contiguous buffer, numpy
        arrays included."""
        self._check_open()
        with Pinned(buffer, writable=True) as into:
            return self._read_to(into.address, into.size)

    def _read_to(self, address: int, size: int) -> int:
        if size == 0:
            return 0
        done = int(self._library.sion_fread(address, 1, size, self._sid))
        if done < size:
            self._look_at_short_read(done)
        return done

    def _look_at_short_read(self, done: int) -> None:
        """Less than was asked for is the end of the stream, or an error, which the next read would meet
        again."""
        at_end = self._library.sion_feof(self._sid)
        if at_end == 1:
            return
        here = self.tell()
        if at_end < 0 or here < self.size:
            self._fail(here)

    def read(self, size: Optional[int] = -1) -> bytes:
        """That many bytes, or all that are left; fewer only at the end."""
        self._check_open()
        left = max(self.size - self.tell(), 0)
        size = left if size is None or size < 0 else min(size, left)
        data = new_bytes(size)
        with Pinned(data) as into:
            done = self._read_to(into.address, into.size)
        return data if done == size else data[:done]

    def readall(self) -> bytes:
        return self.read(-1)

    def write(self, data: Any) -> int:
        raise WrongModeError(f"'{self.path}' is open for reading", path=self.path, task=self.task)

    def pread(self, size: int, offset: int) -> bytes:
        """Bytes at a place, which becomes the position."""
        self.seek(offset)
        return self.read(size)

    def plain_range(self, offset: int, size: int) -> Optional[Tuple[str, int]]:
        """(path, offset) of the physical file where these bytes of the stream lie as they are, if they lie in
        one chunk of a file that is not compressed; else None. What is read there is compared with no
        checksum."""
        metadata = self._metadata()
        if metadata.info.compressed or not metadata.info.closed:
            return None
        begin = 0
        for chunk in self.chunks:
            if begin <= offset and offset + size <= begin + chunk.bytes:
                return chunk.path, chunk.offset + offset - begin
            begin += chunk.bytes
        return None

    def array(
        self,
        dtype: "DTypeLike",
        shape: Union[int, Sequence[int], None] = None,
        *,
        offset: int = 0,
        copy: Optional[bool] = None,
    ) -> "NDArray[Any]":
        """The stream, or a part of it, as a numpy array. ``shape`` None: one dimension, to the end of the
        stream.

        ``copy`` None: a read-only memory map, without any copy, where the bytes lie in one plain chunk; else
        one copy, checked against the checksums. True: always that copy. False: an error where there is no
        map. Multi-byte types without an order of their own are of the byte order of the file. The position of
        the stream stays where it is."""
        import numpy

        kind = self._in_file_order(numpy.dtype(dtype))
        dimensions = self._shape(kind.itemsize, shape, offset)
        size = kind.itemsize
        for extent in dimensions:
            size *= extent
        if offset + size > self.size:
            raise InvalidArgumentError(
                f"'{self.path}': task {self.task} has {self.size} bytes, not {offset + size}",
                path=self.path,
                task=self.task,
                offset=offset,
            )
        place = None if copy or size == 0 else self.plain_range(offset, size)
        if place is not None:
            return numpy.memmap(place[0], dtype=kind, mode="r", offset=place[1], shape=dimensions)
        if copy is False and size > 0:
            raise UnsupportedError(
                f"'{self.path}': bytes {offset} to {offset + size} of task {self.task} do not lie in one "
                "plain chunk, and cannot be had without a copy",
                path=self.path,
                task=self.task,
            )
        return self._read_array(_new_array(dimensions, kind), offset)

    def _in_file_order(self, kind: "numpy.dtype[Any]") -> "numpy.dtype[Any]":
        big = self._is_big_endian()
        return kind.newbyteorder(">" if big else "<") if kind.byteorder == "=" else kind

    def _is_big_endian(self) -> bool:
        swapped = int(self._library.sion_endianness_swap_needed(self._sid)) == 1
        return bool(swapped) != (sys.byteorder == "big")

    def count_tasks(self) -> int:
        """Tasks of the whole multifile."""
        count = ctypes.c_int()
        if not self._library.sion_get_locations(self._sid, ctypes.byref(count), *[None] * 7):
            self._fail()
        return count.value

    def _shape(self, item: int, shape: Union[int, Sequence[int], None], offset: int) -> Tuple[int, ...]:
        if offset < 0:
            raise InvalidArgumentError(f"offset {offset} is negative", path=self.path, task=self.task)
        if shape is not None:
            return (shape,) if isinstance(shape, int) else tuple(shape)
        rest = max(self.size - offset, 0)
        if item == 0 or rest % item:
            raise InvalidArgumentError(
                f"'{self.path}': the {rest} bytes of task {self.task} from offset {offset} on are no "
                f"multiple of the {item} of an element",
                path=self.path,
                task=self.task,
            )
        return (rest // item,)

    def _read_array(self, array: "NDArray[Any]", offset: int) -> "NDArray[Any]":
        here = self.tell()
        try:
            self._move(ABSOLUTE, offset)
            done = self._read_to(array.ctypes.data, array.nbytes)
            if done < array.nbytes:
                raise DamagedError(
                    f"'{self.path}': task {self.task} ends {array.nbytes - done} bytes early",
                    path=self.path,
                    task=self.task,
                    offset=offset + done,
                )
        finally:
            self._move(ABSOLUTE, here)
        return array

    def load(self) -> Any:
        """The next object that :meth:`OutputStream.dump` has written. As with ``pickle``: from trusted files
        only."""
        from .pickling import load

        return load(self)

    @property
    def records(self) -> "InputRecords":
        """The key-value records of the task, as a mapping from key to bytes."""
        if self._records is None:
            from .keyval import InputRecords

            self._records = InputRecords(self)
        return self._records


def _new_array(shape: Tuple[int, ...], kind: "numpy.dtype[Any]") -> "NDArray[Any]":
    """Room for an array. Large ones are not made by numpy, which asks for huge pages: to clear those takes longer
    than to read what comes into them."""
    import numpy

    size = kind.itemsize * math.prod(shape)
    if size < _LARGE or kind.hasobject:
        return numpy.empty(shape, dtype=kind)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    made: "NDArray[Any]" = numpy.ndarray(shape, dtype=kind, buffer=memory)
    return made


class OutputStream(_Stream):
    """The stream of a task, to be written: what is written is appended. Streams of one serial writer share a
    handle; a lock lets one of them through at a time."""

    _going = False

    def __init__(
        self, path: str, task: int, sid: int, select: Optional[Callable[[], None]], lock: "threading.RLock"
    ) -> None:
        super().__init__(path, task)
        self._sid = sid
        self._select = select
        self._lock = lock
        self._records: Optional["OutputRecords"] = None

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        raise WrongModeError(f"'{self.path}' is open for writing", path=self.path, task=self.task)

    def _selected(self) -> None:
        self._check_open()
        if self._select is not None:
            self._select()

    def _selected_for(self, source: Pinned) -> None:
        """A task that cannot be selected is offered its bytes nevertheless: the library refuses them, and the
        close fails until they are written."""
        try:
            self._selected()
        except Error:
            if source.size:
                self._library.sion_fwrite(source.address, 1, source.size, self._sid)
            raise

    def tell(self) -> int:
        with self._lock:
            self._selected()
            return int(self._library.sion_get_bytes_written(self._sid))

    def write(self, data: Any) -> int:
        """Appends all bytes of a buffer in C order, as :meth:`InputStream.array` reads them; returns how many.
        A Fortran-ordered or strided array is copied for that."""
        with Pinned(data) as source, self._lock:
            self._selected_for(source)
            self._append(source)
            return source.size

    def writev(self, buffers: Iterable[Any]) -> int:
        """Appends several buffers, one behind the other, while no other thread comes between; returns the
        bytes."""
        total = 0
        with self._lock:
            for data in buffers:
                with Pinned(data) as source:
                    self._selected_for(source)
                    self._append(source)
                    total += source.size
        return total

    def _append(self, source: Pinned) -> None:
        if (
            source.size
            and self._library.sion_fwrite(source.address, 1, source.size, self._sid) != source.size
        ):
            self._fail(int(self._library.sion_get_bytes_written(self._sid)))

    def close(self) -> None:
        """The stream goes; the multifile stays open, and what was written stays to be written."""
        self._going = True
        super().close()

    def flush(self) -> None:
        """What was written is found by readers even if the program is killed; with ``durable``, if the power
        is lost."""
        if self._going:
            return
        with self._lock:
            self._selected()
            if not self._library.sion_flush(self._sid):
                self._fail()

    def ensure_free_space(self, size: int) -> None:
        """The next ``size`` bytes will lie in one chunk."""
        with self._lock:
            self._selected()
            if not self._library.sion_ensure_free_space(self._sid, size):
                self._fail()

    def dump(self, value: Any) -> None:
        """Appends an object as pickle protocol 5, its buffers (numpy arrays, for example) out of band,
        without copies."""
        from .pickling import dump

        dump(value, self)

    @property
    def records(self) -> "OutputRecords":
        """Appends key-value records: ``stream.records[7] = data``. For multifiles opened with
        ``keyval=True``."""
        if self._records is None:
            from .keyval import OutputRecords

            self._records = OutputRecords(self)
        return self._records
