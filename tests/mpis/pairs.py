"""Preloads the drop-in of every MPI into the programs of all MPIs. Every program must work. Either an engine of
the drop-in must serve it silently, or one line must name the missing engine and the MPI's own functions are used."""

from __future__ import annotations

import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from builds import MPIRUN, Build
from mpis import Mpi
from report import Counts, Log, Row

HERE = Path(__file__).resolve().parent
TASKS = 2
SECONDS = 120


@dataclass
class Program:
    mpi: Mpi
    kind: str
    words: list[str]


def programs(mpis: list[Mpi], where: Path, build: Build, log: Log) -> list[Program]:
    """Returns the programs: one in C for each MPI, and one in Python for each MPI that has mpi4py."""
    found = []
    for mpi in mpis:
        path = where / f"shared_file.{mpi.name}"
        source = str(HERE / "shared_file.c")
        command = [f"mpicc.{mpi.built_as}", source, "-o", str(path)]
        log.run(f"pairs-compile-{mpi.name}", command, env=build.environment())
        found.append(Program(mpi, "C", [str(path)]))
        if mpi.python:
            found.append(Program(mpi, "mpi4py", [mpi.python, "-B", str(HERE / "shared_file.py")]))
    return found


def started(program: Program, where: Path, build: Build, log: Log, name: str,
            drop_in: Path | None) -> tuple[str, str, list[dict]]:
    """Runs a program. Returns the error (or an empty string), the output, and the engine that the drop-in chose for
    each MPI library."""
    noted = where / "noted"
    noted.unlink(missing_ok=True)
    words = []
    if drop_in:
        words = ["env", f"LD_PRELOAD={drop_in}/libsheaf_mpiio.so", f"SHEAF_MPIIO_REPORT={noted}"]
    command = [str(MPIRUN), program.mpi.built_as, str(TASKS), *words, *program.words, str(where / "file")]
    code, said = log.run(name, command, SECONDS, env=build.environment())
    choices = [json.loads(line) for line in noted.read_text().splitlines()] if noted.exists() else []
    if code != 0:
        return f"exit code {code}", said, choices
    return "" if "all right" in said else "not all right", said, choices


def interface_of(library: str) -> str:
    """Returns the interface of an MPI library. Determines it by the name of the file, as the drop-in does."""
    base = os.path.basename(library)
    return "abi" if base.startswith("libmpi_abi") else "openmpi" if ".so.40" in base else "mpich"


def judged(drop_in: Path, said: str, choices: list[dict]) -> str:
    """Returns the error in the choice of the engine or in its message, or an empty string."""
    lines = [line for line in said.splitlines() if line.startswith("sheaf mpiio")]
    if len(choices) != 1:
        return f"{len(choices)} engines were chosen"
    engine = drop_in / "sheaf" / f"libsheaf_mpiio_{interface_of(choices[0]['library'])}.so"
    if engine.exists():
        if choices[0]["engine"] != str(engine):
            return "its engine was not used"
        return f"said {lines}" if lines else ""
    if len(lines) != 1 or f"no {engine} for" not in lines[0]:
        return f"does not name {engine} in one line: {lines}"
    return "an engine was used" if choices[0]["engine"] else ""


def run(rows: list[Row], build: Build, log: Log) -> None:
    """Runs all pairs. Stores the results and the version of each MPI in the rows of the MPIs that the programs
    use."""
    here = [row for row in rows if row.mpi.here]
    drop_ins = [row.mpi for row in here if not row.mpi.runtime_only]
    log.say(f"drop-ins of {len(drop_ins)} MPIs in programs of {len(here)}")
    rows_by_name = {row.mpi.name: row for row in here}
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as directory:
        where = Path(directory)
        for program in programs([row.mpi for row in here], where, build, log):
            row = rows_by_name[program.mpi.name]
            counts = row.suites.setdefault("pairs", Counts())
            name = f"pairs-{program.mpi.name}-{program.kind}"
            wrong, said, _ = started(program, where, build, log, f"{name}-plain", None)
            version = re.search(r"^library: (.+?)(?:,|$)", said, re.MULTILINE)
            if version and not row.mpi.version:
                row.mpi.version = re.sub(r"\s+", " ", version[1])[:40]
            if wrong:
                counts.failed.append(f"{program.kind} without a drop-in: {wrong}")
                continue
            for drop_in in drop_ins:
                alone = build.alone(drop_in)
                wrong, said, choices = started(program, where, build, log, f"{name}-{drop_in.name}", alone)
                wrong = wrong or judged(alone, said, choices)
                counts.passed += not wrong
                if wrong:
                    counts.failed.append(f"{program.kind} with the drop-in of {drop_in.name}: {wrong}")
