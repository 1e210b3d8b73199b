"""``sheaf export``: converts a PyTorch checkpoint (:mod:`sheaf.torch`) to the safetensors format.

Shards are merged, so that every tensor is complete. Needs the package ``safetensors``, not PyTorch.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import ExitStack
from typing import Dict, Iterator, List, Optional, Tuple, Union

from ._buffers import Pinned
from .checkpoint import Place, TensorEntry, read_exactly, read_index
from .errors import InvalidArgumentError, UnsupportedError
from .multifile import MultifileReader

Path = Union[str, "os.PathLike[str]"]

# Bytes per element, for the dtypes that both PyTorch and safetensors support, under PyTorch's names.
_SIZES = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint64": 8,
    "uint32": 4,
    "uint16": 2,
    "uint8": 1,
    "bool": 1,
    "complex64": 8,
}


def export_safetensors(
    path: Path,
    output: Path,
    *,
    prefix: str = "",
    shard_size: Optional[int] = None,
    replace: bool = False,
) -> List[str]:
    """Writes the tensors of a checkpoint with names that start with ``prefix``, which is removed from
    them. Returns the paths of the files.

    Writes one file ``output``. With ``shard_size`` (bytes), writes files
    ``NAME-00001-of-0000N.safetensors`` of at most that size and ``NAME.safetensors.index.json``, as
    Hugging Face does; memory is then needed for one file only. ``replace``: existing files are replaced;
    otherwise they are an error. Raises InvalidArgumentError if no tensor matches."""
    name, target = os.fspath(path), os.fspath(output)
    _need_safetensors()
    with MultifileReader(name) as reader:
        index = read_index(reader)
        wanted = {key: entry for key, entry in index.tensors.items() if key.startswith(prefix)}
        if not wanted:
            raise InvalidArgumentError(
                f"'{name}' has no tensor whose name begins with '{prefix}'", path=name
            )
        sizes = {key: _size(name, key, entry) for key, entry in wanted.items()}
        groups = _groups(sizes, shard_size)
        names = _names(target, len(groups)) if shard_size is not None else [target]
        taken = [one for one in names if os.path.lexists(one)]
        if taken and not replace:
            raise InvalidArgumentError(f"'{taken[0]}' exists already (--replace)", path=taken[0])
        for file, keys in zip(names, groups):
            _write(
                file,
                {
                    key[len(prefix) :]: (wanted[key], _whole(reader, wanted[key], sizes[key]))
                    for key in keys
                },
            )
    if shard_size is not None:
        _write_map(
            target,
            {
                key[len(prefix) :]: os.path.basename(file)
                for file, keys in zip(names, groups)
                for key in keys
            },
            sum(sizes.values()),
        )
    return names


def _need_safetensors() -> None:
    try:
        from safetensors import TensorSpec  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise UnsupportedError(
            "the package safetensors is not installed, or is older than 0.8: pip install -U safetensors"
        ) from None


def _size(path: str, key: str, entry: TensorEntry) -> int:
    if entry.dtype not in _SIZES or any(place.encoding != "raw" for place in entry.chunks):
        kind = (
            entry.dtype
            if entry.dtype not in _SIZES
            else entry.properties.get("layout", "quantized")
        )
        raise UnsupportedError(
            f"'{path}': '{key}' is a {kind} tensor, which safetensors has no word for", path=path
        )
    size = _SIZES[entry.dtype]
    for extent in entry.shape:
        size *= extent
    return size


def _groups(sizes: Dict[str, int], shard_size: Optional[int]) -> List[List[str]]:
    """Groups tensors, in their order, into files of at most ``shard_size`` bytes. A larger tensor gets its
    own file."""
    groups: List[List[str]] = [[]]
    held = 0
    for key, size in sizes.items():
        if shard_size is not None and groups[-1] and held + size > shard_size:
            groups.append([])
            held = 0
        groups[-1].append(key)
        held += size
    return groups


def _names(target: str, count: int) -> List[str]:
    stem = target[: -len(".safetensors")] if target.endswith(".safetensors") else target
    return [f"{stem}-{number:05d}-of-{count:05d}.safetensors" for number in range(1, count + 1)]


def _whole(reader: MultifileReader, entry: TensorEntry, size: int) -> bytearray:
    """Returns the bytes of a tensor, assembled from its chunks."""
    whole = bytearray(size)
    for place in entry.chunks:
        if place.shape == entry.shape:
            read_exactly(reader[place.task], place, whole)
            continue
        part = bytearray(place.bytes)
        read_exactly(reader[place.task], place, part)
        for at, begin, length in _rows(entry, place):
            whole[at : at + length] = part[begin : begin + length]
    return whole


def _rows(entry: TensorEntry, place: Place) -> Iterator[Tuple[int, int, int]]:
    """Yields (byte in the tensor, byte in the chunk, bytes) of the longest pieces that are contiguous in
    both."""
    length, dimension = _SIZES[entry.dtype], len(entry.shape)
    while dimension > 0:
        dimension -= 1
        length *= place.shape[dimension]
        if place.shape[dimension] != entry.shape[dimension]:
            break
    weights = [_SIZES[entry.dtype]]
    for extent in reversed(entry.shape[1:]):
        weights.insert(0, weights[0] * extent)
    inner = place.offset[dimension] * weights[dimension]
    begins = [inner]
    for outer in reversed(range(dimension)):
        steps = [(place.offset[outer] + i) * weights[outer] for i in range(place.shape[outer])]
        begins = [step + begin for step in steps for begin in begins]
    for number, begin in enumerate(begins):
        yield begin, number * length, length


def _write(path: str, tensors: Dict[str, Tuple[TensorEntry, bytearray]]) -> None:
    from safetensors import TensorSpec, serialize_file

    temporary = f"{path}.part"
    try:
        with ExitStack() as stack:
            pinned = {
                key: (entry, stack.enter_context(Pinned(data)))
                for key, (entry, data) in tensors.items()
            }
            told = {
                key: TensorSpec(
                    dtype=entry.dtype,
                    shape=list(entry.shape),
                    data_ptr=memory.address,
                    data_len=memory.size,
                )
                for key, (entry, memory) in pinned.items()
            }
            serialize_file(told, temporary, {"format": "pt"})
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


def _write_map(target: str, places: Dict[str, str], total: int) -> None:
    stem = target[: -len(".safetensors")] if target.endswith(".safetensors") else target
    with open(f"{stem}.safetensors.index.json", "w", encoding="utf-8") as file:
        json.dump({"metadata": {"total_size": total}, "weight_map": places}, file, indent=2)


def _bytes(text: str) -> int:
    units = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
    unit = units.get(text[-1:].lower(), 1)
    number = float(text[:-1] if unit > 1 else text)
    if number * unit < 1:
        raise ValueError(text)
    return int(number * unit)


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="sheaf export",
        description="Writes the tensors of a PyTorch checkpoint in another format.",
    )
    parser.add_argument("checkpoint")
    parser.add_argument("output")
    parser.add_argument(
        "--safetensors", action="store_true", required=True, help="the format of the output"
    )
    parser.add_argument(
        "--prefix",
        default="",
        help="only tensors whose names begin so; it is taken off the names, e.g. model.",
    )
    parser.add_argument(
        "--shard-size",
        type=_bytes,
        metavar="BYTES",
        help="files of at most so much (suffix k, M, G), and an index of them",
    )
    parser.add_argument("--replace", action="store_true", help="files that exist are replaced")
    told = parser.parse_args(arguments)
    names = export_safetensors(
        told.checkpoint,
        told.output,
        prefix=told.prefix,
        shard_size=told.shard_size,
        replace=told.replace,
    )
    with MultifileReader(told.checkpoint) as reader:
        objects = len(read_index(reader).objects)
    if objects and not told.prefix:
        print(f"sheaf export: {objects} values that are no tensors were left out", file=sys.stderr)
    print("\n".join(names))
    return 0


__all__ = ["export_safetensors", "main"]
