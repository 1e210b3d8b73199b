"""The stream of one task, as a raw binary file.

Only one thread may use a stream at a time. Different threads may use different streams at once, also of one
multifile; every transfer releases the GIL.
"""

from __future__ import annotations

import ctypes
import io
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable, Iterable, List, NoReturn, Optional, Sequence, Tuple, Union

from ._buffers import Pinned, new_array, new_bytes
from ._library import Library, generation_of, library
from .errors import DamagedError, Error, InvalidArgumentError, UnsupportedError, WrongModeError
from .info import Chunk, Metadata

if TYPE_CHECKING:
    import numpy
    from numpy.typing import DTypeLike, NDArray

    from .keyval import InputRecords, OutputRecords

CURRENT_RANK, CURRENT_BLOCK, CURRENT_POSITION = -101, -102, -103
ABSOLUTE, END = -104, -105


class _Stream(io.RawIOBase):
    """Common base of both directions: the multifile, the task, and the handle with the call that closes
    it."""

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
    """The stream of a task, opened for reading. ``size``: its length in bytes; ``chunks``: its chunks."""

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
    def generation(self) -> str:
        """The :attr:`Save.generation` that this stream reads."""
        self._check_open()
        return generation_of(self._library.sheaf_generation, self._sid) or self._fail()

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
        """Fills the buffer, across chunk boundaries. Returns the number of bytes read, which is smaller only
        at the end of the stream. Accepts any C-contiguous buffer, including numpy arrays."""
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
        """Checks whether a short read is the end of the stream; otherwise raises the error, which the next
        read would encounter again."""
        at_end = self._library.sion_feof(self._sid)
        if at_end == 1:
            return
        here = self.tell()
        if at_end < 0 or here < self.size:
            self._fail(here)

    def read(self, size: Optional[int] = -1) -> bytes:
        """Returns ``size`` bytes, fewer at the end of the stream. The default is all remaining bytes."""
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
        """Returns ``size`` bytes at ``offset``. Moves the position to the end of these bytes."""
        self.seek(offset)
        return self.read(size)

    def plain_range(self, offset: int, size: int) -> Optional[Tuple[str, int]]:
        """Returns (path, offset) in the physical file of ``size`` bytes at ``offset`` of the stream. None
        unless they are in one chunk of an uncompressed file. Data read there are not verified against
        checksums."""
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
        """Returns all or part of the stream as a numpy array. The position of the stream does not
        change.

        ``dtype``: multi-byte types in native byte order are interpreted in the byte order of the file.
        ``shape``: in elements; None: one dimension, to the end of the stream. ``offset``: in bytes.
        ``copy``: None returns a read-only memory map if the bytes are contiguous in one plain chunk,
        otherwise a copy verified against checksums; True always returns such a copy; False raises
        UnsupportedError if no map is possible. Raises InvalidArgumentError if the stream is too short or
        not a multiple of the element size."""
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
        return self._read_array(new_array(dimensions, kind), offset)

    def _in_file_order(self, kind: "numpy.dtype[Any]") -> "numpy.dtype[Any]":
        big = self._is_big_endian()
        return kind.newbyteorder(">" if big else "<") if kind.byteorder == "=" else kind

    def _is_big_endian(self) -> bool:
        swapped = int(self._library.sion_endianness_swap_needed(self._sid)) == 1
        return bool(swapped) != (sys.byteorder == "big")

    def count_tasks(self) -> int:
        """Returns the number of tasks of the whole multifile."""
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
        """Returns the next object written by :meth:`OutputStream.dump`. Like ``pickle``, use it for
        trusted files only."""
        from .pickling import load

        return load(self)

    @property
    def records(self) -> "InputRecords":
        """The key-value records of the task, as a mapping from key to bytes."""
        if self._records is None:
            from .keyval import InputRecords

            self._records = InputRecords(self)
        return self._records


class OutputStream(_Stream):
    """The stream of a task, opened for writing; written data are appended. Streams of one serial writer
    share a handle, and a lock admits one stream at a time."""

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
        """Selects the task. If that fails, passes the bytes to the library nevertheless: it rejects them,
        and the close fails until they are written."""
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
        """Appends all bytes of a buffer in C order, as :meth:`InputStream.array` reads them, and returns
        their number. Copies a Fortran-ordered or strided array first."""
        with Pinned(data) as source, self._lock:
            self._selected_for(source)
            self._append(source)
            return source.size

    def writev(self, buffers: Iterable[Any]) -> int:
        """Appends several buffers in order, without interleaving with other threads. Returns the number of
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
        """Closes the stream only. The multifile stays open and keeps the written data."""
        self._going = True
        super().close()

    def flush(self) -> None:
        """Makes the written data readable even if the program is killed; with ``durable``, even after a
        power failure."""
        if self._going:
            return
        with self._lock:
            self._selected()
            if not self._library.sion_flush(self._sid):
                self._fail()

    def ensure_free_space(self, size: int) -> None:
        """Ensures that the next ``size`` bytes are stored in one chunk."""
        with self._lock:
            self._selected()
            if not self._library.sion_ensure_free_space(self._sid, size):
                self._fail()

    def dump(self, value: Any) -> None:
        """Appends an object as pickle protocol 5, with its buffers (numpy arrays, for example) out of band
        and without copies."""
        from .pickling import dump

        dump(value, self)

    @property
    def records(self) -> "OutputRecords":
        """Appends key-value records: ``stream.records[7] = data``. Requires a multifile opened with
        ``keyval=True``."""
        if self._records is None:
            from .keyval import OutputRecords

            self._records = OutputRecords(self)
        return self._records
