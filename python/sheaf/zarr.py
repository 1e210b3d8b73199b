"""A store for zarr 3: a hierarchy in one multifile.

>>> import tempfile, numpy, zarr
>>> from sheaf.zarr import SheafStore
>>> store = SheafStore(tempfile.mkdtemp() + "/a.sion")
>>> array = zarr.create_array(store, name="x", shape=(4,), chunks=(2,), dtype="i4")
>>> array[:] = numpy.arange(4)
>>> zarr.open_array(SheafStore(store.path, read_only=True), path="x", mode="r")[1:3].tolist()
[1, 2]

Every key is an object of an archive (:mod:`sheaf.archive`), so ``sheaf refs`` gives the range of each chunk.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from typing import Any, List, Optional, Tuple, Union

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype

from .archive import Archive


class SheafStore(Store):
    """Keys and values in a multifile, which is created by the first write. ``words``: words of the open
    mode for its creation."""

    @property
    def supports_writes(self) -> bool:
        return True

    @property
    def supports_deletes(self) -> bool:
        return True

    @property
    def supports_listing(self) -> bool:
        return True

    def __init__(
        self, path: "Union[str, os.PathLike[str]]", *, read_only: bool = False, words: str = ""
    ) -> None:
        super().__init__(read_only=read_only)
        self.path = os.fspath(path)
        self.words = words
        self._archive = Archive(self.path, words=words)

    def with_read_only(self, read_only: bool = False) -> "SheafStore":
        return type(self)(self.path, read_only=read_only, words=self.words)

    async def _open(self) -> None:
        self._open_now()

    def _open_now(self) -> None:
        if self._is_open:
            raise ValueError("store is already open")
        self._is_open = True

    def _ready(self) -> Archive:
        if not self._is_open:
            self._open_now()
        return self._archive

    def close(self) -> None:
        super().close()
        self._archive.close()

    def __str__(self) -> str:
        return f"sheaf://{self.path}"

    def __repr__(self) -> str:
        return f"SheafStore('{self}')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SheafStore) and self.path == other.path and self.read_only == other.read_only

    def __hash__(self) -> int:
        return hash(self.path)

    # --- reading

    def get_sync(
        self,
        key: str,
        *,
        prototype: Optional[BufferPrototype] = None,
        byte_range: Optional[ByteRequest] = None,
    ) -> Optional[Buffer]:
        """Returns all or part of the value of a key; None if the key does not exist."""
        archive = self._ready()
        entry = self._entry(key)
        if entry is None:
            return None
        start, stop = _bounds(byte_range, entry.size)
        data = archive.read(key, start, stop)
        made: Buffer = (prototype or default_buffer_prototype()).buffer.from_bytes(data)
        return made

    def _entry(self, key: str) -> Any:
        archive = self._ready()
        return archive.get(key) if os.path.exists(self.path) else None

    async def get(
        self, key: str, prototype: Optional[BufferPrototype] = None, byte_range: Optional[ByteRequest] = None
    ) -> Optional[Buffer]:
        return await asyncio.to_thread(self.get_sync, key, prototype=prototype, byte_range=byte_range)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[Tuple[str, Optional[ByteRequest]]]
    ) -> List[Optional[Buffer]]:
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]

    async def exists(self, key: str) -> bool:
        return self._entry(key) is not None

    async def getsize(self, key: str) -> int:
        entry = self._entry(key)
        if entry is None:
            raise FileNotFoundError(key)
        size: int = entry.size
        return size

    def _keys(self) -> List[str]:
        archive = self._ready()
        return list(archive.entries()) if os.path.exists(self.path) else []

    async def list(self) -> AsyncIterator[str]:
        for key in self._keys():
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        for key in self._keys():
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        head = prefix.rstrip("/") + "/" if prefix.rstrip("/") else ""
        for name in sorted(
            {key[len(head) :].partition("/")[0] for key in self._keys() if key.startswith(head)}
        ):
            yield name

    # --- writing

    def set_sync(self, key: str, value: Buffer) -> None:
        """Writes the value of a key."""
        self._check_writable()
        if not isinstance(value, Buffer):
            raise TypeError(
                f"SheafStore.set(): `value` must be a Buffer instance. Got an instance of {type(value)} instead."
            )
        self._ready().put(key, value.as_numpy_array())

    async def set(self, key: str, value: Buffer) -> None:
        await asyncio.to_thread(self.set_sync, key, value)

    async def _set_many(self, values: Iterable[Tuple[str, Buffer]]) -> None:
        self._check_writable()
        objects = {key: value.as_numpy_array() for key, value in values}
        await asyncio.to_thread(self._ready().put_many, objects)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        self._check_writable()
        await asyncio.to_thread(self._ready().put_if_absent, key, value.as_numpy_array())

    def delete_sync(self, key: str) -> None:
        """Removes a key, if it exists."""
        self._check_writable()
        if self._entry(key) is not None:
            self._ready().delete([key])

    async def delete(self, key: str) -> None:
        await asyncio.to_thread(self.delete_sync, key)

    async def delete_dir(self, prefix: str) -> None:
        self._check_writable()
        head = prefix.rstrip("/") + "/" if prefix else ""
        names = [key for key in self._keys() if key.startswith(head)]
        if names:
            await asyncio.to_thread(self._ready().delete, names)

    async def clear(self) -> None:
        await self.delete_dir("")


def _bounds(request: Optional[ByteRequest], size: int) -> Tuple[int, Optional[int]]:
    if request is None:
        return 0, None
    if isinstance(request, RangeByteRequest):
        return request.start, request.end
    if isinstance(request, OffsetByteRequest):
        return request.offset, None
    if isinstance(request, SuffixByteRequest):
        return max(size - request.suffix, 0), None
    raise TypeError(f"Unexpected byte_range, got {request}.")
