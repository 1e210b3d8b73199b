"""Multifiles: the streams of many tasks in a few files, as numpy arrays, files and memory maps.

>>> import numpy, sheaf, tempfile
>>> path = tempfile.mkdtemp() + "/data.sion"
>>> with sheaf.open(path, "w", tasks=4) as f:
...     for rank, stream in enumerate(f):
...         size = stream.write(numpy.arange(3.0) + rank)
>>> with sheaf.open(path) as f:
...     len(f), f[2].array("f8").tolist()
(4, [2.0, 3.0, 4.0])
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union, overload

from .background import Save, SaveEntry, SaveProgress, latest, save_of, saves
from .errors import (
    DamagedError,
    Error,
    ForeignError,
    InvalidArgumentError,
    MismatchError,
    NoSpaceError,
    NoStreamError,
    NotAMultifileError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    UnclosedError,
    UnclosedWarning,
    UnsupportedError,
    WrongModeError,
)
from .info import Chunk, Info, TaskInfo
from .multifile import MultifileReader
from .streams import InputStream, OutputStream
from .tools import defrag, repair, split, verify
from .words import words_of
from .writer import MultifileWriter, chunk_sizes_of, serial_writer

if TYPE_CHECKING:
    from typing_extensions import Literal

    from .group import Group
    from .tasks_of_process import MappedReader, MappedWriter
    from .parallel import ParallelReader, ParallelWriter

__version__ = "1.0.0rc1"
__all__ = [
    "open",
    "verify",
    "repair",
    "split",
    "defrag",
    "library_path",
    "save_of",
    "saves",
    "latest",
    "MultifileReader",
    "MultifileWriter",
    "InputStream",
    "OutputStream",
    "Save",
    "SaveEntry",
    "SaveProgress",
    "Info",
    "TaskInfo",
    "Chunk",
    "Error",
    "InvalidArgumentError",
    "WrongModeError",
    "NotFoundError",
    "PermissionDeniedError",
    "NoSpaceError",
    "NotAMultifileError",
    "UnsupportedError",
    "DamagedError",
    "UnclosedError",
    "OutOfRangeError",
    "NoStreamError",
    "MismatchError",
    "ForeignError",
    "UnclosedWarning",
]

Opened = Union[
    MultifileReader, MultifileWriter, "ParallelReader", "ParallelWriter", "MappedReader", "MappedWriter"
]


@overload
def open(
    path: "Union[str, os.PathLike[str]]",
    mode: "Literal['r']" = "r",
    *,
    checksums: bool = True,
    words: str = "",
) -> MultifileReader: ...
@overload
def open(
    path: "Union[str, os.PathLike[str]]",
    mode: "Literal['w', 'x', 'a']",
    *,
    tasks: Optional[int] = None,
    chunk_size: Union[int, Sequence[int], None] = None,
    global_ranks: Optional[Sequence[int]] = None,
    block_size: int = -1,
    keyval: bool = False,
    atomic: bool = False,
    durable: bool = False,
    checksums: bool = True,
    journal: bool = True,
    compress: Optional[str] = None,
    shuffle: Optional[int] = None,
    frame: Union[int, str, None] = None,
    byteorder: Optional[str] = None,
    words: str = "",
) -> MultifileWriter: ...
@overload
def open(
    path: "Union[str, os.PathLike[str]]",
    mode: str = "r",
    *,
    comm: Any = None,
    group: "Optional[Group]" = None,
    mapped: Union[None, bool, Sequence[int]] = None,
    files: int = 1,
    tasks: Optional[int] = None,
    chunk_size: Union[int, Sequence[int], None] = None,
    global_ranks: Optional[Sequence[int]] = None,
    block_size: int = -1,
    keyval: bool = False,
    atomic: bool = False,
    durable: bool = False,
    checksums: bool = True,
    journal: bool = True,
    compress: Optional[str] = None,
    shuffle: Optional[int] = None,
    frame: Union[int, str, None] = None,
    byteorder: Optional[str] = None,
    words: str = "",
) -> Any: ...
def open(
    path: "Union[str, os.PathLike[str]]",
    mode: str = "r",
    *,
    comm: Any = None,
    group: "Optional[Group]" = None,
    mapped: Union[None, bool, Sequence[int]] = None,
    files: int = 1,
    tasks: Optional[int] = None,
    chunk_size: Union[int, Sequence[int], None] = None,
    global_ranks: Optional[Sequence[int]] = None,
    block_size: int = -1,
    keyval: bool = False,
    atomic: bool = False,
    durable: bool = False,
    checksums: bool = True,
    journal: bool = True,
    compress: Optional[str] = None,
    shuffle: Optional[int] = None,
    frame: Union[int, str, None] = None,
    byteorder: Optional[str] = None,
    words: str = "",
) -> Opened:
    """Opens a multifile and returns a reader or a writer.

    ``mode`` "r" reads; "w" creates or replaces; "x" creates and fails if the file exists; "a" appends to the
    streams. Without ``comm`` or ``group``, reading returns a :class:`MultifileReader`, a sequence of streams,
    and writing a :class:`MultifileWriter` with ``tasks`` streams. Processes that open together use "r" or
    "w".

    - ``comm`` (an mpi4py communicator) or ``group`` (a :class:`sheaf.group.Group`): all processes open
      together, collectively, each with the stream of one task.
    - ``mapped``, with ``comm`` or ``group``: the tasks that this process reads or writes. ``True``, for
      reading only: a share of the tasks.
    - ``files``: number of physical files to write; each contains consecutive tasks.
    - ``chunk_size``: expected bytes per task, as one number or one per task; default 1 MiB. A task may write
      more.
    - ``global_ranks``: global rank to store for each task.
    - ``block_size``: alignment of the chunks in bytes; -1: the block size of the file system.
    - ``keyval``: the streams consist of key-value records.
    - ``atomic``: the multifile appears under its name when it is closed.
    - ``durable``: data that were flushed or closed survive a power failure.
    - ``checksums``, ``journal``: False writes the multifile without them.
    - ``compress``: "zstd", "zstd:LEVEL", "gzip", "gzip:LEVEL" or "lz4". ``shuffle``: bytes per element, to
      group bytes of equal significance before compression. ``frame``: uncompressed bytes per compressed
      frame.
    - ``byteorder``: "little" or "big", of the user data.
    - ``words``: further words of the open mode (docs/api-sion.md). With "async" the close returns before the
      data are written; the writer then has a :class:`Save` as ``save``.

    Raises a subclass of :class:`Error`: InvalidArgumentError for arguments that do not fit together,
    NotFoundError if there is no such file, and others as the failure requires.
    """
    name = os.fspath(path)
    if mode not in ("r", "w", "x", "a"):
        raise InvalidArgumentError(f"'{name}': mode is 'r', 'w', 'x' or 'a', not {mode!r}", path=name)
    said = words_of(
        keyval=keyval,
        atomic=atomic,
        durable=durable,
        checksums=checksums,
        journal=journal,
        compress=compress,
        shuffle=shuffle,
        frame=frame,
        byteorder=byteorder,
        words=words,
    )
    if comm is not None or group is not None:
        return _open_together(
            name,
            mode,
            said,
            comm=comm,
            group=group,
            mapped=mapped,
            files=files,
            chunk_size=chunk_size,
            block_size=block_size,
        )
    if mapped is not None:
        raise InvalidArgumentError(f"'{name}': 'mapped' goes with 'comm' or 'group'", path=name)
    if files != 1:
        if mode not in ("w", "x"):
            raise InvalidArgumentError(f"'{name}': 'files' goes with mode 'w' or 'x'", path=name)
        said = ",".join(filter(None, (said, f"files={files}")))
    if mode == "r":
        return MultifileReader(name, said)
    return serial_writer(
        name,
        mode,
        said,
        tasks=tasks,
        chunk_size=chunk_size,
        global_ranks=global_ranks,
        block_size=block_size,
    )


def _open_together(
    name: str,
    mode: str,
    words: str,
    *,
    comm: Any,
    group: "Optional[Group]",
    mapped: Union[None, bool, Sequence[int]],
    files: int,
    chunk_size: Union[int, Sequence[int], None],
    block_size: int,
) -> Opened:
    from .tasks_of_process import MappedReader, MappedWriter
    from .parallel import Opener, ParallelReader, ParallelWriter

    if mode not in ("r", "w"):
        raise InvalidArgumentError(
            f"'{name}': processes open together with mode 'r' or 'w', not {mode!r}", path=name
        )
    if group is not None:
        opener = Opener(group)
    else:
        from .mpi import opener_of

        opener = opener_of(comm)
    if mapped is None or mapped is False:
        if mode == "r":
            return ParallelReader(opener, name, words)
        size = 1 << 20 if chunk_size is None else chunk_size
        if not isinstance(size, int):
            raise InvalidArgumentError(f"'{name}': one chunk size, of the task of this process", path=name)
        return ParallelWriter(opener, name, size, block_size, files, words)
    if mode == "r":
        return MappedReader(opener, name, words, None if mapped is True else list(mapped))
    if mapped is True:
        raise InvalidArgumentError(
            f"'{name}': mapped=[...] names the tasks that this process writes", path=name
        )
    sizes = chunk_sizes_of(name, len(mapped), chunk_size)
    return MappedWriter(opener, name, list(mapped), sizes, block_size, words)


def library_path() -> Optional[str]:
    """Returns the path of the C library in use. None without the library; multifiles are then read and
    written in pure Python."""
    from ._library import available, library

    return library().path if available() else None
