"""The data that a rank writes in a save, and their locations in its stream."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
from torch.distributed.checkpoint.metadata import MetadataIndex
from torch.distributed.checkpoint.planner import SavePlan, SavePlanner, WriteItem, WriteItemType

from ..checkpoint import ALIGNMENT, PICKLED, Place
from .memory import as_elements, is_plain, memory_of, size_of


@dataclass
class Piece:
    """One item of the plan: its place, and its bytes or the way to get them when they are written."""

    index: "MetadataIndex"
    place: Place
    item: Optional["WriteItem"]
    data: Optional[memoryview] = None


@dataclass
class StreamLayout:
    """The pieces of a rank in the order of its stream, which has ``bytes`` bytes."""

    pieces: List[Piece] = field(default_factory=list)
    bytes: int = 0

    def add(
        self,
        item: "WriteItem",
        size: int,
        task: int,
        data: Optional[memoryview] = None,
        encoding: str = "raw",
    ) -> None:
        at = -(-self.bytes // ALIGNMENT) * ALIGNMENT
        offset: Tuple[int, ...] = ()
        shape: Tuple[int, ...] = ()
        if item.tensor_data is not None:
            offset, shape = (
                tuple(item.tensor_data.chunk.offsets),
                tuple(item.tensor_data.chunk.sizes),
            )
        self.pieces.append(
            Piece(item.index, Place(task, at, size, offset, shape, encoding), item, data)
        )
        self.bytes = at + size

    @property
    def places(self) -> "Dict[MetadataIndex, Place]":
        return {piece.index: piece.place for piece in self.pieces}


def lay_out(plan: "SavePlan", planner: "SavePlanner", task: int) -> StreamLayout:
    """Lays out plain tensors first, so that their locations stay the same from save to save, then pickles.
    Plain tensors are not fetched yet."""
    layout, pickles = StreamLayout(), []
    for item in plan.items:
        if item.type == WriteItemType.BYTE_IO:
            data: Any = planner.resolve_data(item)
            pickles.append((item, data.getbuffer()))
            continue
        tensor: Any = planner.resolve_data(item)
        if is_plain(tensor):
            layout.add(item, size_of(tensor), task)
        else:
            stream = io.BytesIO()
            torch.save(tensor.detach().cpu(), stream)
            pickles.append((item, stream.getbuffer()))
    for item, view in pickles:
        layout.add(item, view.nbytes, task, view, PICKLED)
    return layout


def buffers_of(layout: StreamLayout, planner: "SavePlanner") -> Iterator[memoryview]:
    """Yields the buffers to write, in order; each is valid until the next one is requested."""
    at = 0
    for piece in layout.pieces:
        if piece.place.at > at:
            yield memoryview(bytes(piece.place.at - at))
        at = piece.place.at + piece.place.bytes
        if piece.data is not None:
            yield piece.data
            continue
        tensor = as_elements(_tensor(planner, piece))
        if size_of(tensor) != piece.place.bytes:
            raise ValueError(
                f"{piece.index} has {size_of(tensor)} bytes now, and had {piece.place.bytes} when the "
                f"save began"
            )
        yield memory_of(tensor)


def _tensor(planner: "SavePlanner", piece: Piece) -> "torch.Tensor":
    found: Any = planner.resolve_data(piece.item)  # type: ignore[arg-type]
    return found  # type: ignore[no-any-return]


__all__ = ["StreamLayout", "Piece", "lay_out", "buffers_of"]
