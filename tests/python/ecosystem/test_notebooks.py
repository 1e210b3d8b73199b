"""The notebooks of examples/notebooks run from begin to end."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent.parent.parent


@pytest.mark.parametrize("notebook", sorted((ROOT / "examples" / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_it_runs(notebook, tmp_path, monkeypatch, build):
    text = nbformat.read(notebook, as_version=4)
    if "SHEAF_PARTICLES" in str(text):
        if not (build / "bin" / "particles").exists() or not shutil.which("mpirun.openmpi"):
            pytest.skip("no particle demo under Open MPI in this build")
        monkeypatch.setenv("SHEAF_PARTICLES", str(build / "bin" / "particles"))
        monkeypatch.setenv("SHEAF_LAUNCHER", "mpirun.openmpi --allow-run-as-root --oversubscribe -n 4")
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    NotebookClient(text, timeout=200, resources={"metadata": {"path": str(tmp_path)}}).execute()
