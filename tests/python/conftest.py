"""Shared by all tests of the Python package: they use the library of the build, SHEAF_BIN/../lib."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("SHEAF_BIN", ROOT / "build" / "bin")).parent

if "SHEAF_INSTALLED" not in os.environ:  # otherwise the installed package is tested
    sys.path.insert(0, str(ROOT / "python"))
    os.environ.setdefault("SHEAF_LIBRARY", str(BUILD / "lib"))
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    )

collect_ignore_glob = [] if os.environ.get("SHEAF_PYTHON_ALL") else ["ecosystem/*"]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "a.sion")


@pytest.fixture
def build():
    return BUILD


@pytest.fixture(params=["library", "pure"])
def backend(request, monkeypatch):
    """Runs a test with the C library, and as if there were none."""
    if request.param == "pure":
        from sheaf import _library

        monkeypatch.setattr(_library, "_found", None)
        monkeypatch.setattr(_library, "_problem", "it is switched off by the test")
    return request.param
