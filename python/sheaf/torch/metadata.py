"""Converts between the index of a checkpoint and the metadata of ``torch.distributed.checkpoint``."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, Mapping

import torch
from torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)

from ..checkpoint import Index, Place, TensorEntry, typed, untyped
from ..errors import DamagedError
from .memory import dtype_of

_FIELDS = {field.name for field in dataclasses.fields(TensorProperties)}
_NAMED = ("layout", "memory_format")


def index_of(metadata: "Metadata", places: "Mapping[MetadataIndex, Place]", path: str) -> Index:
    """Returns the index for the plan of a save and the locations written."""
    index = Index(planner=typed(metadata.planner_data))
    for name, told in metadata.state_dict_metadata.items():
        if isinstance(told, TensorStorageMetadata):
            chunks = [
                _found(places, MetadataIndex(name, chunk.offsets), path) for chunk in told.chunks
            ]
            index.tensors[name] = TensorEntry(
                str(told.properties.dtype).rpartition(".")[2],
                tuple(told.size),
                _properties(told.properties),
                chunks,
            )
        else:
            index.objects[name] = _found(places, MetadataIndex(name), path)
    return index


def _found(places: "Mapping[MetadataIndex, Place]", wanted: "MetadataIndex", path: str) -> Place:
    place = places.get(wanted)
    if place is None:
        raise DamagedError(f"'{path}': no rank has written {wanted}", path=path)
    return place


def _properties(properties: "TensorProperties") -> Dict[str, Any]:
    """Returns the properties that differ from those of a new tensor, as JSON."""
    plain, said = TensorProperties(), {}
    for name in _FIELDS - {"dtype"}:
        value = getattr(properties, name)
        if value != getattr(plain, name):
            said[name] = (
                str(value).rpartition(".")[2]
                if name in _NAMED
                else list(value)
                if isinstance(value, tuple)
                else value
            )
    return dict(sorted(said.items()))


def _properties_from(entry: TensorEntry) -> "TensorProperties":
    told: Dict[str, Any] = {"dtype": dtype_of(entry.dtype)}
    for name, value in entry.properties.items():
        if name in _FIELDS:  # a later PyTorch may have written further fields
            told[name] = (
                getattr(torch, value)
                if name in _NAMED
                else tuple(value)
                if isinstance(value, list)
                else value
            )
    return TensorProperties(**told)


def metadata_of(index: Index, path: str, load_id: str) -> "Metadata":
    """Returns the metadata of a checkpoint; ``storage_data`` contains its places."""
    told: Dict[str, Any] = {}
    places: Dict[MetadataIndex, Place] = {}
    for name, entry in index.tensors.items():
        chunks = [
            ChunkStorageMetadata(torch.Size(place.offset), torch.Size(place.shape))
            for place in entry.chunks
        ]
        told[name] = TensorStorageMetadata(_properties_from(entry), torch.Size(entry.shape), chunks)
        places.update({MetadataIndex(name, place.offset): place for place in entry.chunks})
    for name, place in index.objects.items():
        told[name] = BytesStorageMetadata()
        places[MetadataIndex(name)] = place
    return Metadata(
        told,
        planner_data=untyped(index.planner),
        storage_data=places,
        storage_meta=StorageMeta(checkpoint_id=path, save_id=index.save_id, load_id=load_id),
    )


__all__ = ["index_of", "metadata_of"]
