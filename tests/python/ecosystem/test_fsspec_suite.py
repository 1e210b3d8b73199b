"""fsspec's own tests of file systems, over archives."""

from __future__ import annotations

import uuid

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem, make_path_posix
from fsspec.tests.abstract import AbstractFixtures
from fsspec.tests.abstract.copy import AbstractCopyTests
from fsspec.tests.abstract.get import AbstractGetTests
from fsspec.tests.abstract.open import AbstractOpenTests
from fsspec.tests.abstract.pipe import AbstractPipeTests
from fsspec.tests.abstract.put import AbstractPutTests


class SheafFixtures(AbstractFixtures):
    @pytest.fixture(scope="class")
    def fs(self):
        return fsspec.filesystem("sheaf")

    @pytest.fixture
    def fs_path(self, tmp_path):
        return f"{tmp_path}/{uuid.uuid4().hex}.sion"

    @pytest.fixture(scope="class")
    def local_fs(self):
        return LocalFileSystem(auto_mkdir=True)

    @pytest.fixture
    def local_path(self, tmpdir):
        return make_path_posix(tmpdir.mkdir("local").strpath)


class TestCopy(AbstractCopyTests, SheafFixtures):
    pass


class TestGet(AbstractGetTests, SheafFixtures):
    pass


class TestPut(AbstractPutTests, SheafFixtures):
    pass


class TestOpen(AbstractOpenTests, SheafFixtures):
    pass


class TestPipe(AbstractPipeTests, SheafFixtures):
    pass
