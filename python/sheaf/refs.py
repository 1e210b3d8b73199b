"""References to the contents of a multifile in kerchunk's format: one range of a physical file per key.

Through them, ``fsspec``'s reference file system, and therefore xarray and Dask, read the streams of a
multifile in place, also over HTTP or S3. The keys of an archive (``sheaf.zarr``, ``sheaf.fsspec``) are its
names. The keys of another multifile are the task numbers. If the element type is given, they form a zarr
group: one array ``data`` over (task, ...) if all tasks have the same size, otherwise an array ``task_N`` per
task.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from .archive import Archive
from .errors import InvalidArgumentError, UnsupportedError
from .info import Chunk, TaskInfo
from .multifile import MultifileReader

Path = Union[str, "os.PathLike[str]"]
References = Dict[str, Any]


def references(
    path: Path, *, dtype: Any = None, shape: Optional[Sequence[int]] = None, url: Optional[str] = None
) -> References:
    """Returns the references (version 1) for a multifile. ``dtype``: element type of the streams; default:
    one reference per stream. ``shape``: shape of the elements of a task, default one dimension; requires
    ``dtype``. ``url``: location of the first physical file for readers, default its current path; the
    others must be beside it. Raises UnsupportedError for a compressed multifile."""
    name = os.fspath(path)
    if dtype is None and shape is not None:
        raise InvalidArgumentError(f"'{name}': a shape goes with a dtype", path=name)
    with MultifileReader(name) as reader:
        if reader.info.compressed:
            raise UnsupportedError(
                f"'{name}' is compressed: its streams are no ranges of a file (`sheaf defrag --decompress` makes "
                "a multifile whose are)",
                path=name,
            )
        places = _Places(name, url)
        found = _named(name, places) if dtype is None else _arrays(reader, dtype, shape, places)
    return {"version": 1, "refs": found}


class _Places:
    """Ranges of physical files as references."""

    def __init__(self, path: str, url: Optional[str]) -> None:
        self._first = os.path.abspath(path)
        self._url = url if url is not None else "file://" + self._first

    def of(self, path: str, offset: int, size: int) -> List[Any]:
        return [self._url + os.path.abspath(path)[len(self._first) :], offset, size]


def _named(path: str, places: _Places) -> References:
    archive = Archive(path)
    found: References = {}
    for name, entry in archive.entries().items():
        place = archive.range_of(name) if entry.size else None
        if place is None and entry.size:
            raise UnsupportedError(
                f"'{path}': '{name}' lies in several places of the file (`sheaf defrag` makes a multifile in which "
                "each stream is one range)",
                path=path,
            )
        found[name] = "" if place is None else places.of(*place)
    archive.close()
    return found


def _arrays(
    reader: MultifileReader, dtype: Any, shape: Optional[Sequence[int]], places: _Places
) -> References:
    import numpy

    kind = numpy.dtype(dtype)
    if kind.byteorder == "=":
        kind = kind.newbyteorder(">" if reader.info.byteorder == "big" else "<")
    if reader.info.keyval:
        raise InvalidArgumentError(
            f"'{reader.path}' has key-value records: leave out the dtype, and every key is a reference",
            path=reader.path,
        )
    tasks = list(reader.tasks)
    found: References = {
        ".zgroup": _text({"zarr_format": 2}),
        ".zattrs": _text({"multifile": os.path.basename(reader.path)}),
    }
    _add_all(found, reader, tasks, kind, shape, places)
    return found


def _add_all(
    found: References,
    reader: MultifileReader,
    tasks: List[TaskInfo],
    kind: Any,
    shape: Optional[Sequence[int]],
    places: _Places,
) -> None:
    sizes = {task.bytes for task in tasks}
    grids = [_grid(reader, task, kind.itemsize) for task in tasks]
    if len(sizes) == 1 and all(len(grid) == 1 for _, grid in grids):
        inner = _inner_shape(reader.path, sizes.pop(), kind.itemsize, shape)
        names = ["element"] if len(inner) == 1 else [f"dimension_{i}" for i in range(len(inner))]
        _describe(found, "data", kind, [len(tasks), *inner], [1, *inner], ["task", *names])
        for task, (_, grid) in zip(tasks, grids):
            found["data/" + ".".join([str(task.task), *("0" for _ in inner)])] = places.of(
                grid[0].path, grid[0].offset, task.bytes
            )
        return
    if shape is not None:
        raise InvalidArgumentError(
            f"'{reader.path}': tasks have different sizes, or several chunks; there is no one shape for all",
            path=reader.path,
        )
    for task, (elements, grid) in zip(tasks, grids):
        name = f"task_{task.task}"
        _describe(
            found, name, kind, [task.bytes // kind.itemsize], [max(elements, 1)], [f"element_{task.task}"]
        )
        for number, chunk in enumerate(grid):
            found[f"{name}/{number}"] = places.of(chunk.path, chunk.offset, elements * kind.itemsize)


def _grid(reader: MultifileReader, task: TaskInfo, item: int) -> Tuple[int, List[Chunk]]:
    """Returns the number of elements per zarr chunk, and the chunks of a task as zarr chunks. Either one
    chunk exactly as large as its data, or equal full chunks, where the last one includes the unused space
    after its data."""
    if task.bytes % item:
        raise InvalidArgumentError(
            f"'{reader.path}': the {task.bytes} bytes of task {task.task} are no multiple of the {item} of "
            "an element",
            path=reader.path,
            task=task.task,
        )
    used = [chunk for chunk in reader.metadata.chunks(task.task) if chunk.bytes]
    if len(used) <= 1:
        return task.bytes // item, used
    if any(chunk.bytes != chunk.size for chunk in used[:-1]) or used[0].size % item:
        raise UnsupportedError(
            f"'{reader.path}': chunks of task {task.task} have gaps, and are no regular grid (`sheaf defrag` makes a "
            "multifile in which each stream is one range)",
            path=reader.path,
            task=task.task,
        )
    return used[0].size // item, used


def _inner_shape(path: str, size: int, item: int, shape: Optional[Sequence[int]]) -> List[int]:
    if shape is None:
        return [size // item]
    wanted = item
    for extent in shape:
        wanted *= extent
    if wanted != size:
        raise InvalidArgumentError(
            f"'{path}': each task has {size} bytes, the shape {tuple(shape)} takes {wanted}", path=path
        )
    return list(shape)


def _describe(
    found: References,
    name: str,
    kind: Any,
    shape: Sequence[int],
    chunks: Sequence[int],
    dimensions: List[str],
) -> None:
    found[f"{name}/.zarray"] = _text(
        {
            "zarr_format": 2,
            "shape": list(shape),
            "chunks": list(chunks),
            "dtype": kind.str,
            "order": "C",
            "compressor": None,
            "filters": None,
            "fill_value": None,
        }
    )
    found[f"{name}/.zattrs"] = _text({"_ARRAY_DIMENSIONS": dimensions})


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def main(arguments: Sequence[str]) -> int:
    """Runs ``sheaf refs``."""
    parser = argparse.ArgumentParser(
        prog="sheaf refs",
        description="Writes references (kerchunk) to the streams of a multifile: one "
        "range per key, which fsspec, xarray and Dask read in place.",
    )
    parser.add_argument("file", metavar="FILE", help="the multifile")
    parser.add_argument("-o", "--output", metavar="JSON", help="write there instead of to standard output")
    parser.add_argument("--dtype", help="type of the elements, as numpy has them (f8): makes a zarr group")
    parser.add_argument("--shape", help="shape of each task, such as 64,64")
    parser.add_argument("--url", help="where FILE will be found by readers")
    options = parser.parse_args(arguments)
    try:
        shape = None if options.shape is None else [int(part) for part in options.shape.split(",")]
    except ValueError:
        parser.error(f"--shape is a list of numbers such as 64,64, not '{options.shape}'")
    text = json.dumps(references(options.file, dtype=options.dtype, shape=shape, url=options.url))
    if options.output:
        with open(options.output, "w", encoding="utf-8") as out:
            out.write(text)
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
