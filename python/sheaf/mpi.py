"""Communicators of mpi4py. If there is a ``libsheaf_mpi`` for the MPI that the process has loaded, it uses
the communicator's handle and opens multifiles as MPI programs do. Otherwise small messages of mpi4py
perform open and close."""

from __future__ import annotations

import ctypes
import os
import re
from ctypes import POINTER, c_char_p, c_int, c_longlong, c_void_p
from typing import Any, List, Optional, Set

from ._library import library
from .errors import InvalidArgumentError
from .parallel import Opener


def opener_of(comm: Any) -> Opener:
    """Returns the way in which the processes of a communicator open and close."""
    from mpi4py import MPI

    if not isinstance(comm, MPI.Comm):
        raise InvalidArgumentError(f"comm is a communicator of mpi4py, not {type(comm).__name__}")
    calls = native_calls()
    return NativeOpener(comm, calls) if calls is not None else Opener(MessageGroup(comm))


class MessageGroup:
    """A communicator of mpi4py as a :class:`sheaf.group.Group`."""

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()

    def barrier(self) -> None:
        self._comm.Barrier()

    def bcast(self, data: bytes, root: int) -> bytes:
        buffer = bytearray(data)
        self._comm.Bcast(buffer, root)
        return bytes(buffer)

    def gather(self, data: bytes, root: int) -> Optional[List[bytes]]:
        size = len(data)
        whole = bytearray(size * self.size) if self.rank == root else None
        self._comm.Gather(bytearray(data), whole, root)
        return None if whole is None else [bytes(whole[i * size : (i + 1) * size]) for i in range(self.size)]

    def scatter(self, parts: Optional[List[bytes]], root: int, size: int) -> bytes:
        part = bytearray(size)
        self._comm.Scatter(None if parts is None else bytearray(b"".join(parts)), part, root)
        return bytes(part)

    def split(self, color: int, key: int) -> "MessageGroup":
        return MessageGroup(self._comm.Split(color, key))


class NativeOpener(Opener):
    """Opens by the calls of libsheaf_mpi."""

    closer = "sion_parclose_mpi"
    closer_mapped = "sion_parclose_mapped_mpi"
    can_abandon = False  # freeing a communicator is collective

    def __init__(self, comm: Any, calls: Any) -> None:
        from mpi4py import MPI

        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.library = library("writing and reading in parallel")
        self._calls = calls
        kind = c_int if MPI._sizeof(MPI.Comm) == 4 else c_void_p
        handle_type = ctypes.c_int32 if kind is c_int else ctypes.c_size_t
        self._comm = kind(handle_type.from_address(MPI._addressof(comm)).value)
        self._local = kind(handle_type.from_address(MPI._addressof(MPI.COMM_NULL)).value)
        self._kept = comm

    def open(self, path: str, mode: str, files: int, chunk_size: Any, block_size: Any) -> int:
        by = ctypes.byref
        count, rank = c_int(files), c_int(self.rank)
        return self.call(
            lambda: int(
                self._calls.sion_paropen_mpi(
                    os.fsencode(path),
                    os.fsencode(mode),
                    by(count),
                    self._comm,
                    by(self._local),
                    by(chunk_size),
                    by(block_size),
                    by(rank),
                    None,
                    None,
                )
            ),
            path,
        )

    def open_mapped(self, path: str, mode: str, files: Any, count: Any, arrays: Any, block_size: Any) -> int:
        by = ctypes.byref
        return self.call(
            lambda: int(
                self._calls.sion_paropen_mapped_mpi(
                    os.fsencode(path),
                    os.fsencode(mode),
                    by(files),
                    self._comm,
                    by(count),
                    *arrays,
                    by(block_size),
                    None,
                )
            ),
            path,
        )

    def close(self, sid: int, path: str, mapped: bool = False) -> None:
        call = getattr(self._calls, self.closer_mapped if mapped else self.closer)
        if call(sid) != 1:
            raise self.library.error(path, self.rank)

    def done(self) -> None:
        """Does nothing: no group is registered."""


def loaded_libraries() -> Set[str]:
    """Returns the names of the shared libraries that this process has loaded."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        return {os.path.basename(line.rstrip().rpartition("/")[2]) for line in maps if ".so" in line}


def wanted_mpi(path: str) -> Set[str]:
    """Returns the MPI libraries of which a library needs one to be loaded."""
    with open(path, "rb") as file:
        found = re.findall(rb"\0(libmpi(?:ch|_abi)?\.so\.\d+)\0", file.read())
    return {name.decode() for name in found}


def native_library() -> Optional[str]:
    """Returns the libsheaf_mpi that matches the library in use and the MPI of the process; None if it is missing."""
    base = library().directory
    if not base or not os.path.isdir(base):
        return None
    loaded = {re.sub(r"(\.so\.\d+).*", r"\1", name) for name in loaded_libraries()}
    for entry in sorted(os.listdir(base)):
        path = os.path.join(base, entry, "libsheaf_mpi.so.1")
        if os.path.exists(path) and wanted_mpi(path) & loaded:
            return path
    return None


_native: List[Any] = []


def native_calls() -> Optional[Any]:
    """Returns the calls of libsheaf_mpi."""
    if not _native:
        path = None if os.environ.get("SHEAF_PYTHON_MPI") == "messages" else native_library()
        _native.append(None if path is None else _load(path))
    return _native[0]


def _load(path: str) -> Any:
    from mpi4py import MPI

    calls = ctypes.CDLL(path)
    comm = c_int if MPI._sizeof(MPI.Comm) == 4 else c_void_p
    ints, longs = POINTER(c_int), POINTER(c_longlong)
    calls.sion_paropen_mpi.restype = c_int
    calls.sion_paropen_mpi.argtypes = [
        c_char_p,
        c_char_p,
        ints,
        comm,
        POINTER(comm),
        longs,
        ints,
        ints,
        c_void_p,
        c_void_p,
    ]
    calls.sion_paropen_mapped_mpi.restype = c_int
    calls.sion_paropen_mapped_mpi.argtypes = [
        c_char_p,
        c_char_p,
        ints,
        comm,
        ints,
        POINTER(ints),
        POINTER(longs),
        POINTER(ints),
        POINTER(ints),
        ints,
        c_void_p,
    ]
    for name in ("sion_parclose_mpi", "sion_parclose_mapped_mpi"):
        getattr(calls, name).argtypes = [c_int]
    return calls
