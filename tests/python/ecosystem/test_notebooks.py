"""The notebooks of examples/notebooks run without errors."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent.parent.parent


@pytest.mark.parametrize("notebook", sorted((ROOT / "examples" / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_it_runs(notebook, tmp_path, monkeypatch):
    text = nbformat.read(notebook, as_version=4)
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    NotebookClient(text, timeout=200, resources={"metadata": {"path": str(tmp_path)}}).execute()
