"""SheafReader: any number of ranks read a checkpoint, each the parts in its plan."""

from __future__ import annotations

import io
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List, Optional, Tuple, Union

import torch
from torch.distributed.checkpoint.metadata import Metadata
from torch.distributed.checkpoint.planner import LoadItemType, LoadPlan, LoadPlanner, ReadItem
from torch.distributed.checkpoint.storage import StorageReader
from torch.futures import Future

from ..checkpoint import PICKLED, Place, read_exactly, read_index
from ..errors import DamagedError
from ..multifile import MultifileReader
from ..streams import InputStream
from .memory import memory_of, ranges, size_of
from .metadata import metadata_of
from .writer import SheafWriter, path_of_rank

Path = Union[str, "os.PathLike[str]"]

_OWN_REQUEST = (
    256 * 1024
)  # bytes; shorter pieces of a region are read together with the gaps between them


class SheafReader(StorageReader):
    """Reads checkpoints written by :class:`SheafWriter`, with any number of ranks. Reads only the bytes
    that a rank needs, directly into tensors stored in row-major order in CPU memory, and verifies their
    checksums.

    ``threads``: number of threads that read parts of different ranks concurrently. ``checksums`` False:
    checksums are not verified."""

    def __init__(self, path: Path, *, threads: int = 1, checksums: bool = True) -> None:
        super().__init__()
        self.path = os.fspath(path)
        self.threads = threads
        self._words = "" if checksums else "checksums=off"
        self.reset()

    def reset(self, checkpoint_id: Optional[Path] = None) -> None:
        if checkpoint_id:
            self.path = os.fspath(checkpoint_id)
        self.load_id = secrets.token_hex(8)
        self._source = self.path
        self._metadata: Optional[Metadata] = None

    @property
    def checkpoint_id(self) -> str:
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Path) -> bool:
        return SheafWriter.validate_checkpoint_id(checkpoint_id)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """``rank``: selects the checkpoint that this rank has saved without collectives."""
        rank = kwargs.get("rank")
        self._source = self.path if rank is None else path_of_rank(self.path, int(rank))
        with MultifileReader(self._source, self._words) as file:
            return metadata_of(read_index(file), self._source, self.load_id)

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        self._metadata = metadata

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: List[LoadPlan]) -> List[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> "Future[None]":
        by_task: Dict[int, List[Tuple[Place, ReadItem]]] = {}
        assert self._metadata is not None, "set_up_storage_reader comes first"
        for item in plan.items:
            place: Place = self._metadata.storage_data[item.storage_index]
            by_task.setdefault(place.task, []).append((place, item))
        with MultifileReader(self._source, self._words) as file:
            if self.threads > 1 and len(by_task) > 1:
                with ThreadPoolExecutor(self.threads) as pool:
                    list(
                        pool.map(
                            lambda task: self._read_task(file, task, by_task[task], planner),
                            by_task,
                        )
                    )
            else:
                for task, wanted in by_task.items():
                    self._read_task(file, task, wanted, planner)
        future: "Future[None]" = Future()
        future.set_result(None)
        return future

    def _read_task(
        self,
        file: MultifileReader,
        task: int,
        wanted: List[Tuple[Place, ReadItem]],
        planner: LoadPlanner,
    ) -> None:
        with file.stream(task) as stream:
            for place, item in sorted(wanted, key=lambda pair: pair[0].at):
                if item.type == LoadItemType.BYTE_IO:
                    data = bytearray(place.bytes)
                    read_exactly(stream, place, data)
                    planner.load_bytes(item, io.BytesIO(data))
                    continue
                target = planner.resolve_tensor(item)
                if tuple(target.shape) != tuple(item.lengths):
                    raise ValueError(
                        f"{item.dest_index}: a tensor of shape {tuple(target.shape)} for "
                        f"{tuple(item.lengths)}"
                    )
                with torch.no_grad():
                    self._read_tensor(stream, place, item, target)
                planner.commit_tensor(item, target)

    def _read_tensor(
        self, stream: InputStream, place: Place, item: ReadItem, target: "torch.Tensor"
    ) -> None:
        if place.encoding == PICKLED:
            data = bytearray(place.bytes)
            read_exactly(stream, place, data)
            stored = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
            target.copy_(_narrow(stored, item) if stored.layout == torch.strided else stored)
            return
        if 0 in item.lengths:
            return
        dtype = self._dtype(item.storage_index.fqn)
        if place.bytes != dtype.itemsize * torch.Size(place.shape).numel():
            raise DamagedError(
                f"'{self._source}': {item.storage_index} has {place.bytes} bytes, which is not what "
                f"{place.shape} of "
                f"{dtype} are",
                path=self._source,
                task=place.task,
                offset=place.at,
            )
        direct = target.device.type == "cpu" and target.is_contiguous() and target.dtype == dtype
        direct = direct and not (target.is_conj() or target.is_neg())
        into = target if direct else torch.empty(tuple(item.lengths), dtype=dtype)
        _read_region(stream, place, item, into)
        if not direct:
            target.copy_(into)

    def _dtype(self, name: str) -> "torch.dtype":
        assert self._metadata is not None
        told: Any = self._metadata.state_dict_metadata[name]
        found: torch.dtype = told.properties.dtype
        return found


def _read_region(stream: InputStream, place: Place, item: ReadItem, into: "torch.Tensor") -> None:
    """Reads a part of a stored chunk into a contiguous tensor."""
    length, begins = ranges(place.shape, item.storage_offsets, item.lengths)
    size = length * into.element_size()
    if len(begins) == 1 or size >= _OWN_REQUEST:
        memory = memory_of(into, writable=True)
        for number, begin in enumerate(begins):
            read_exactly(
                stream,
                place,
                memory[number * size : (number + 1) * size],
                begin * into.element_size(),
            )
        return
    rows, inner = item.lengths[0], tuple(place.shape[1:])
    around = torch.empty((rows, *inner), dtype=into.dtype)
    row = size_of(around) // rows
    read_exactly(stream, place, memory_of(around, writable=True), item.storage_offsets[0] * row)
    for dimension in range(1, around.dim()):
        around = around.narrow(dimension, item.storage_offsets[dimension], item.lengths[dimension])
    into.copy_(around)


def _narrow(tensor: "torch.Tensor", item: ReadItem) -> "torch.Tensor":
    for dimension, (offset, length) in enumerate(zip(item.storage_offsets, item.lengths)):
        tensor = tensor.narrow(dimension, offset, length)
    return tensor


__all__ = ["SheafReader"]
