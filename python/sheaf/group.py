"""Multifiles of several processes without MPI: the interface that a group of processes must provide.

Any communicator that can gather, scatter and broadcast bytes is suitable, see :class:`Group`. It is used only
by open and close, for about twenty small agreements each. Every process writes its own part of the file
itself. A group with ``all_gather`` is called for nothing else there, with a quarter of the calls.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from ctypes import CFUNCTYPE, POINTER, c_int, c_longlong, c_void_p
from typing import Any, Callable, Dict, List, Optional, Protocol, Tuple, runtime_checkable

from ._library import library

__all__ = ["Group"]


@runtime_checkable
class Group(Protocol):
    """A group of communicating processes or threads. All methods are collective and called in the same
    order on all members; ``root`` is a rank. An exception on one member becomes an error on all members,
    provided that no member keeps waiting inside a method."""

    @property
    def rank(self) -> int:
        """Rank of this member, 0 to size - 1."""
        ...

    @property
    def size(self) -> int:
        """Number of members."""
        ...

    def barrier(self) -> None:
        """Returns when all members have called it."""
        ...

    def bcast(self, data: bytes, root: int) -> bytes:
        """Returns the ``data`` of ``root``. The other members pass bytes of the same length, which are
        ignored."""
        ...

    def gather(self, data: bytes, root: int) -> Optional[List[bytes]]:
        """Returns at ``root`` the ``data`` of all members in rank order, all of equal length. Elsewhere
        the result is ignored."""
        ...

    def scatter(self, parts: Optional[List[bytes]], root: int, size: int) -> bytes:
        """Returns this member's part, of ``size`` bytes, of the ``parts`` of ``root``. The other members
        pass None."""
        ...

    # Optional: all_gather(self, data: bytes) -> bytes, the data of all members, concatenated in rank order.

    def split(self, color: int, key: int) -> "Group":
        """Returns the group of the members with equal color, ordered by key. Called only for several
        physical files."""
        ...


_BYTES = {10: 4, 11: 8, 12: 1}  # bytes per element, by dtype of the library
_CREATE = CFUNCTYPE(c_int, POINTER(c_void_p), c_void_p, c_int, c_int, c_int, c_int, c_int, c_int)
_FREE = CFUNCTYPE(c_int, c_void_p)
_BARRIER = CFUNCTYPE(c_int, c_void_p)
_BCAST = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int, c_int)
_MOVE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_int, c_int)
_ALL = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_longlong)
_MOVE_V = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, POINTER(c_int), c_int, c_int)


class Registry:
    """The groups by the numbers that the library uses for them, and the callbacks it calls."""

    def __init__(self) -> None:
        self._groups: Dict[int, Group] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._problems = threading.local()
        self._apis: Dict[bool, int] = {}  # with and without all_gather
        self._callbacks: List[Any] = []

    def add(self, group: Group) -> int:
        with self._lock:
            number = next(self._numbers)
            self._groups[number] = group
            return number

    def remove(self, number: int) -> None:
        with self._lock:
            self._groups.pop(number, None)

    def take_problem(self) -> Optional[BaseException]:
        """Returns and clears the exception of a callback of this thread, if there is one."""
        found: Optional[BaseException] = getattr(self._problems, "first", None)
        self._problems.first = None
        return found

    def api(self, group: Group) -> int:
        """Returns the library's id of the callbacks for such a group; registers them at the first call."""
        calls = library("a group of processes")
        gathers = hasattr(group, "all_gather")
        with self._lock:
            if gathers not in self._apis:
                self._apis[gathers] = self._register(calls.calls, gathers)
            return self._apis[gathers]

    def _guarded(self, body: Callable[..., None]) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            try:
                body(*arguments)
                return 0
            except BaseException as problem:  # passes through C as a number and is raised again afterwards
                if getattr(self._problems, "first", None) is None:
                    self._problems.first = problem
                return 1

        return call

    def _register(self, calls: Any, gathers: bool) -> int:
        api = calls.sion_generic_create_api(b"python")
        bodies: List[Tuple[str, Any, Callable[..., None]]] = [
            ("create_local_commgroup", _CREATE, self._create),
            ("free_local_commgroup", _FREE, self._free),
            ("barrier", _BARRIER, self._barrier),
            ("bcastr", _BCAST, self._bcast),
            ("gatherr", _MOVE, self._gather),
            ("scatterr", _MOVE, self._scatter),
            ("gathervr", _MOVE_V, self._never),
            ("scattervr", _MOVE_V, self._never),
        ]
        if gathers:
            bodies.append(("allgather", _ALL, self._all_gather))
        for name, kind, body in bodies:
            callback = kind(self._guarded(body))
            owner = "sheaf" if name == "allgather" else "sion"
            register = getattr(calls, f"{owner}_generic_register_{name}_cb")
            register.restype, register.argtypes = c_int, [c_int, kind]
            register(api, callback)
            self._callbacks.append(callback)
        return int(api)

    def _create(self, local: Any, group: int, *place: int) -> None:
        _rank, _size, local_rank, _local_size, file, files = place
        whole = self._groups[group]
        local[0] = self.add(whole if files == 1 else whole.split(file, local_rank))

    def _free(self, group: int) -> None:
        self.remove(group)

    def _barrier(self, group: int) -> None:
        self._groups[group].barrier()

    def _bcast(self, data: int, group: int, kind: int, count: int, root: int) -> None:
        size = count * _BYTES[kind]
        self._put(data, self._groups[group].bcast(ctypes.string_at(data, size), root), size)

    def _gather(self, given: int, out: int, group: int, kind: int, count: int, root: int) -> None:
        size = count * _BYTES[kind]
        members = self._groups[group]
        parts = members.gather(ctypes.string_at(given, size) if size else b"", root)
        if members.rank == root and size:
            assert parts is not None
            self._put(out, b"".join(parts), size * members.size)

    def _scatter(self, given: int, out: int, group: int, kind: int, count: int, root: int) -> None:
        size = count * _BYTES[kind]
        members = self._groups[group]
        parts: Optional[List[bytes]] = None
        if members.rank == root:
            whole = ctypes.string_at(given, size * members.size) if size else b""
            parts = [whole[i * size : (i + 1) * size] for i in range(members.size)]
        self._put(out, members.scatter(parts, root, size), size)

    def _all_gather(self, given: int, out: int, group: int, size: int) -> None:
        members: Any = self._groups[group]
        self._put(out, members.all_gather(ctypes.string_at(given, size)), size * members.size)

    def _never(self, *_: Any) -> None:
        raise NotImplementedError("a collective with a length for each member")

    @staticmethod
    def _put(address: int, data: bytes, size: int) -> None:
        if len(data) != size:
            raise ValueError(f"the group has brought {len(data)} bytes instead of {size}")
        if size:
            ctypes.memmove(address, data, size)


registry = Registry()


def placement(group: Group, files: int) -> Tuple[int, int, int]:
    """Returns (physical file, rank in it, members in it) of this member, if consecutive members share each
    of the `files` files."""
    rank, size = group.rank, group.size
    base, more = divmod(size, files)
    edge = more * (base + 1)
    if rank < edge:
        return rank // (base + 1), rank % (base + 1), base + 1
    return more + (rank - edge) // base, (rank - edge) % base, base
