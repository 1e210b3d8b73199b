"""Groups of threads and of processes, for tests: models of programs with their own communication."""

from __future__ import annotations

import pickle
import socket
import struct
import threading


class ThreadGroup:
    """Threads of this process."""

    def __init__(self, rank, size, shared):
        self.rank, self.size, self._shared = rank, size, shared

    @classmethod
    def of(cls, size):
        shared = {"barrier": threading.Barrier(size, timeout=30), "gathered": [None] * size, "splits": {}}
        return [cls(rank, size, shared) for rank in range(size)]

    def barrier(self):
        self._shared["barrier"].wait()

    def _exchange(self, value):
        """Returns the values of all members, on each member."""
        self._shared["gathered"][self.rank] = value
        self.barrier()
        found = list(self._shared["gathered"])
        self.barrier()
        return found

    def bcast(self, data, root):
        return self._exchange(data)[root]

    def gather(self, data, root):
        found = self._exchange(data)
        return found if self.rank == root else None

    def scatter(self, parts, root, size):
        return self._exchange(parts)[root][self.rank]

    def split(self, color, key):
        everybody = self._exchange((color, key))
        members = sorted((k, rank) for rank, (c, k) in enumerate(everybody) if c == color)
        if members[0][1] == self.rank:
            self._shared["splits"][color] = ThreadGroup.of(len(members))
        self.barrier()
        return self._shared["splits"][color][[rank for _, rank in members].index(self.rank)]


class GatheringGroup(ThreadGroup):
    """A group that has only all_gather."""

    def all_gather(self, data):
        return b"".join(self._exchange(data))

    def bcast(self, data, root):
        raise AssertionError("bcast beside all_gather")

    gather = scatter = bcast

    def split(self, color, key):
        made = super().split(color, key)
        made.__class__ = GatheringGroup
        return made


class SocketGroup:
    """Forked processes; all communication passes through rank 0."""

    def __init__(self, rank, size, sockets):
        self.rank, self.size, self._sockets = rank, size, sockets

    @classmethod
    def of(cls, size):
        pairs = [socket.socketpair() for _ in range(size)]
        return [cls(0, size, [pair[0] for pair in pairs])] + [
            cls(rank, size, pairs[rank][1]) for rank in range(1, size)
        ]

    @staticmethod
    def _send(to, value):
        data = pickle.dumps(value)
        to.sendall(struct.pack("q", len(data)) + data)

    @staticmethod
    def _receive(source):
        def exactly(size):
            data = b""
            while len(data) < size:
                piece = source.recv(size - len(data))
                if not piece:
                    raise ConnectionError("a member has gone")
                data += piece
            return data

        return pickle.loads(exactly(struct.unpack("q", exactly(8))[0]))

    def _exchange(self, value):
        if self.rank:
            self._send(self._sockets, value)
            return self._receive(self._sockets)
        found = [value] + [self._receive(self._sockets[rank]) for rank in range(1, self.size)]
        for rank in range(1, self.size):
            self._send(self._sockets[rank], found)
        return found

    def barrier(self):
        self._exchange(None)

    def bcast(self, data, root):
        return self._exchange(data)[root]

    def gather(self, data, root):
        found = self._exchange(data)
        return found if self.rank == root else None

    def scatter(self, parts, root, size):
        return self._exchange(parts)[root][self.rank]

    def split(self, color, key):
        raise NotImplementedError("one physical file only")
