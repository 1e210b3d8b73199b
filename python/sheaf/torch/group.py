"""A process group of ``torch.distributed`` as a group of :mod:`sheaf.group`, with agreement on a common
outcome."""

from __future__ import annotations

import struct
from typing import Any, List, Optional

import torch
import torch.distributed as dist

from ..errors import InvalidArgumentError
from .memory import memory_of


class TorchGroup:
    """The members of a process group that transfers CPU tensors (gloo, for example). None: the default
    group; if that does not exist, or with ``alone``, only this process."""

    def __init__(self, process_group: Any = None, alone: bool = False) -> None:
        self._group = process_group
        self.size, self.rank = 1, 0
        if not alone and dist.is_available() and dist.is_initialized():
            self.rank, self.size = dist.get_rank(process_group), dist.get_world_size(process_group)
            self._need_cpu()

    def _need_cpu(self) -> None:
        group: Any = self._group if self._group is not None else dist.group.WORLD
        kinds = {device.type for device in group._device_types}
        if self.size > 1 and "cpu" not in kinds:
            raise InvalidArgumentError(
                'the process group moves no CPU tensors: initialize with "cpu:gloo,cuda:nccl", or give a '
                "gloo group to the save and to SheafWriter(process_group=...)"
            )

    def _global(self, root: int) -> int:
        return root if self._group is None else dist.get_global_rank(self._group, root)

    def barrier(self) -> None:
        if self.size > 1:
            self.largest([0])

    def bcast(self, data: bytes, root: int) -> bytes:
        if self.size == 1 or not data:
            return data
        moved = _tensor(data)
        dist.broadcast(moved, self._global(root), group=self._group)
        return _bytes(moved)

    def gather(self, data: bytes, root: int) -> Optional[List[bytes]]:
        if self.size == 1 or not data:
            return [data] * self.size
        given = _tensor(data)
        parts = [torch.empty_like(given) for _ in range(self.size)] if self.rank == root else None
        dist.gather(given, parts, dst=self._global(root), group=self._group)
        return None if parts is None else [_bytes(part) for part in parts]

    def scatter(self, parts: Optional[List[bytes]], root: int, size: int) -> bytes:
        if self.size == 1 or size == 0:
            return b"" if parts is None else parts[0]
        part = torch.empty(size, dtype=torch.uint8)
        given = None if parts is None else [_tensor(one) for one in parts]
        dist.scatter(part, given, src=self._global(root), group=self._group)
        return _bytes(part)

    def all_gather(self, data: bytes) -> bytes:
        if self.size == 1 or not data:
            return data * self.size
        # Gathers at one rank: where ranks share cores, gloo's ring algorithm takes six times as long.
        parts = torch.empty(self.size * len(data), dtype=torch.uint8)
        dist.gather(
            _tensor(data),
            list(parts.chunk(self.size)) if self.rank == 0 else None,
            dst=self._global(0),
            group=self._group,
        )
        dist.broadcast(parts, self._global(0), group=self._group)
        return _bytes(parts)

    def split(self, color: int, key: int) -> "TorchGroup":
        mine = torch.tensor([color, key], dtype=torch.int64)
        all_of_them = [torch.empty_like(mine) for _ in range(self.size)]
        dist.all_gather(all_of_them, mine, group=self._group)
        members = sorted(
            (int(of[1]), rank) for rank, of in enumerate(all_of_them) if int(of[0]) == color
        )
        made = dist.new_group(
            [self._global(rank) for _, rank in members],
            backend="gloo",
            use_local_synchronization=True,
        )
        return TorchGroup(made)

    def largest(self, values: List[int]) -> List[int]:
        """Returns the element-wise maximum of the members' lists."""
        if self.size == 1:
            return values
        mine = struct.pack(f"{len(values)}q", *values)
        every = struct.iter_unpack(f"{len(values)}q", self.all_gather(mine))
        return [max(of_place) for of_place in zip(*every)]


def _tensor(data: bytes) -> "torch.Tensor":
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def _bytes(tensor: "torch.Tensor") -> bytes:
    return memory_of(tensor).tobytes()


__all__ = ["TorchGroup"]
