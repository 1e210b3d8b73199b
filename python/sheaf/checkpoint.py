"""The index of a checkpoint written by :mod:`sheaf.torch`: its tensors and the locations of their bytes.
Does not need PyTorch.

A checkpoint is one multifile. Task 0 is the index, in JSON. Task 1 + r contains the data of rank r: the
elements of its shards in row-major order, followed by pickles of objects that are not tensors.

>>> place = Place(task=3, at=128, bytes=24, offset=(2, 0), shape=(2, 3))
>>> Place.from_json(place.as_json()) == place
True
"""

from __future__ import annotations

import base64
import json
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, List, Tuple, Union, cast

from .errors import DamagedError, UnsupportedError
from .multifile import MultifileReader

if TYPE_CHECKING:
    from .streams import InputStream

FORMAT = "sheaf checkpoint"
VERSION = 1
INDEX_TASK = 0
ALIGNMENT = 64  # bytes; tensors start at multiples of this in the stream of their rank
PICKLED = "torch.save"

Path = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Place:
    """Location of a chunk of a tensor, or of an object: ``bytes`` bytes at offset ``at`` in the stream of
    ``task``. The chunk has ``shape`` (elements) and starts at index ``offset`` of its tensor.
    ``encoding``: "raw", or "torch.save" for anything that is not a plain array."""

    task: int
    at: int
    bytes: int
    offset: Tuple[int, ...] = ()
    shape: Tuple[int, ...] = ()
    encoding: str = "raw"

    def as_json(self) -> Dict[str, Any]:
        said: Dict[str, Any] = {"task": self.task, "at": self.at, "bytes": self.bytes}
        if self.encoding == "raw" or self.shape:
            said.update(offset=list(self.offset), shape=list(self.shape))
        if self.encoding != "raw":
            said["encoding"] = self.encoding
        return said

    @staticmethod
    def from_json(said: Dict[str, Any]) -> "Place":
        return Place(
            int(said["task"]),
            int(said["at"]),
            int(said["bytes"]),
            _sizes(said.get("offset", ())),
            _sizes(said.get("shape", ())),
            str(said.get("encoding", "raw")),
        )


@dataclass
class TensorEntry:
    """A tensor of the checkpoint. ``dtype``: its name in PyTorch; ``properties``: further properties that
    were saved."""

    dtype: str
    shape: Tuple[int, ...]
    properties: Dict[str, Any] = field(default_factory=lambda: {})
    chunks: List[Place] = field(default_factory=lambda: [])


@dataclass
class Index:
    """The contents of a checkpoint. ``planner``: data that the planner of the save needs for loading, see
    :func:`typed`."""

    tensors: Dict[str, TensorEntry] = field(default_factory=lambda: {})
    objects: Dict[str, Place] = field(default_factory=lambda: {})
    planner: Any = None
    save_id: str = ""

    def body(self) -> str:
        """Returns the part of the JSON text that is identical for checkpoints of the same layout."""
        tensors = {
            name: {
                "dtype": entry.dtype,
                "shape": list(entry.shape),
                **entry.properties,
                "chunks": [place.as_json() for place in entry.chunks],
            }
            for name, entry in self.tensors.items()
        }
        objects = {name: place.as_json() for name, place in self.objects.items()}
        text = json.dumps(
            {"tensors": tensors, "objects": objects, "planner": self.planner}, separators=(",", ":")
        )
        return text[1:]

    @staticmethod
    def text(body: str, save_id: str) -> bytes:
        head = {
            "format": FORMAT,
            "version": VERSION,
            "save_id": save_id,
            "byteorder": sys.byteorder,
        }
        return (json.dumps(head, separators=(",", ":"))[:-1] + "," + body).encode()

    @staticmethod
    def from_json(said: Dict[str, Any]) -> "Index":
        index = Index(planner=said["planner"], save_id=str(said["save_id"]))
        for name, entry in said["tensors"].items():
            facts = dict(entry)
            index.tensors[name] = TensorEntry(
                str(facts.pop("dtype")),
                _sizes(facts.pop("shape")),
                chunks=[Place.from_json(chunk) for chunk in facts.pop("chunks")],
                properties=facts,
            )
        index.objects = {name: Place.from_json(place) for name, place in said["objects"].items()}
        return index


def _sizes(values: Any) -> Tuple[int, ...]:
    return tuple(int(value) for value in values)


def read_index(reader: MultifileReader) -> Index:
    """Returns the index of a checkpoint. Raises UnsupportedError if the multifile is not a checkpoint,
    DamagedError if the index is invalid."""
    path = reader.path
    if len(reader) < 2 or not reader.tasks[INDEX_TASK].bytes:
        raise UnsupportedError(
            f"'{path}' is no checkpoint: task {INDEX_TASK} has no index. A save that did not finish "
            f"leaves such "
            "a file under a temporary name only",
            path=path,
        )
    try:
        said = json.loads(reader[INDEX_TASK].pread(reader.tasks[INDEX_TASK].bytes, 0))
    except ValueError as error:
        raise UnsupportedError(
            f"'{path}' is no checkpoint: task {INDEX_TASK} is no JSON ({error})",
            path=path,
            task=INDEX_TASK,
        ) from None
    words = cast(Dict[str, Any], said) if isinstance(said, dict) else {}
    if words.get("format") != FORMAT:
        raise UnsupportedError(
            f"'{path}' is no checkpoint of PyTorch: its first task does not say \"{FORMAT}\"",
            path=path,
            task=INDEX_TASK,
        )
    if words.get("version") != VERSION:
        raise UnsupportedError(
            f"'{path}' is a checkpoint of version {words.get('version')}; this package reads version "
            f"{VERSION}",
            path=path,
            task=INDEX_TASK,
        )
    if words.get("byteorder") != sys.byteorder:
        raise UnsupportedError(
            f"'{path}' was written on a machine of {words.get('byteorder')} byte order", path=path
        )
    try:
        index = Index.from_json(words)
        _check_places(index, reader)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedError(
            f"'{path}': the index of the checkpoint is damaged: {type(error).__name__}: {error}",
            path=path,
            task=INDEX_TASK,
        ) from None
    return index


def _check_places(index: Index, reader: MultifileReader) -> None:
    """Raises an error unless every place is inside the stream of its task."""
    sizes = [task.bytes for task in reader.tasks]
    named = [(name, place) for name, entry in index.tensors.items() for place in entry.chunks]
    for name, place in [*named, *index.objects.items()]:
        if (
            not 0 < place.task < len(sizes)
            or place.at < 0
            or place.bytes < 0
            or place.at + place.bytes > sizes[place.task]
        ):
            raise ValueError(
                f"'{name}' is said to be in bytes {place.at} to {place.at + place.bytes} of task {place.task}"
            )


def read_exactly(stream: "InputStream", place: Place, into: Any, skip: int = 0) -> None:
    """Fills a buffer from a place, starting at its byte ``skip``."""
    stream.seek(place.at + skip)
    size = memoryview(into).nbytes
    done = stream.readinto(into)
    if done != size:
        raise DamagedError(
            f"'{stream.path}': task {place.task} ends {size - done} bytes early",
            path=stream.path,
            task=place.task,
            offset=place.at + skip + done,
        )


def _is(value: Any, kind: type) -> bool:
    """Returns whether ``value`` is exactly of that type. Instances of derived types, such as named tuples,
    are pickled."""
    return type(value) is kind


def typed(value: Any) -> Any:
    """Converts a value to JSON that preserves tuples, lists and dictionaries with arbitrary keys. Values that
    JSON cannot represent are pickled.

    >>> typed({"a": ("b", 3)})
    {'dict': [['a', {'tuple': ['b', 3]}]]}
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if _is(value, tuple):
        return {"tuple": [typed(item) for item in value]}
    if _is(value, list):
        return {"list": [typed(item) for item in value]}
    if _is(value, dict):
        return {"dict": [[typed(key), typed(item)] for key, item in value.items()]}
    import pickle

    return {"pickle": base64.b64encode(pickle.dumps(value)).decode()}


def untyped(said: Any) -> Any:
    """Converts the result of :func:`typed` back. It may contain a pickle, which can run any code: use it for
    trusted files only.

    >>> untyped(typed({"a": ("b", 3)}))
    {'a': ('b', 3)}
    """
    if not isinstance(said, dict):
        return said
    ((kind, content),) = cast(Dict[str, Any], said).items()
    if kind == "tuple":
        return tuple(untyped(item) for item in content)
    if kind == "list":
        return [untyped(item) for item in content]
    if kind == "dict":
        return {untyped(key): untyped(item) for key, item in content}
    if kind == "pickle":
        import pickle

        return pickle.loads(base64.b64decode(content))
    raise ValueError(f"a value of the unknown kind '{kind}'")


__all__ = [
    "Index",
    "TensorEntry",
    "Place",
    "read_index",
    "read_exactly",
    "typed",
    "untyped",
    "ALIGNMENT",
    "INDEX_TASK",
    "PICKLED",
]
