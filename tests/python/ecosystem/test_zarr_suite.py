"""zarr's own tests of stores."""

from __future__ import annotations

import pytest
from sheaf.archive import Archive
from sheaf.zarr import SheafStore
from zarr.core.buffer import cpu
from zarr.testing.store import StoreTests


class TestSheafStore(StoreTests[SheafStore, cpu.Buffer]):
    store_cls = SheafStore
    buffer_cls = cpu.Buffer

    @pytest.fixture
    def store_kwargs(self, tmp_path):
        return {"path": str(tmp_path / "store.sion")}

    async def set(self, store, key, value):
        Archive(store.path).put(key, value.to_bytes())

    async def get(self, store, key):
        return self.buffer_cls.from_bytes(Archive(store.path).read(key))

    def test_store_repr(self, store):
        assert repr(store) == f"SheafStore('sheaf://{store.path}')"

    def test_store_supports_writes(self, store):
        assert store.supports_writes

    def test_store_supports_listing(self, store):
        assert store.supports_listing
