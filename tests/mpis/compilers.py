"""Builds the library, its tools and the unit tests with clang. The code must compile without warnings, and the tests
must pass."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import builds
import suites
from mpis import Mpi
from report import Counts, Log, Row

COMPILERS = (("clang-16", "clang++-16"), ("clang", "clang++"))


def clang(where: Path, mpis: list[Mpi], jobs: int, log: Log) -> Row:
    row = Row(Mpi("clang", "", ""))
    found = next((pair for pair in COMPILERS if all(map(shutil.which, pair))), None)
    if not found:
        row.mpi.why_not = "no clang++-16 or clang++ in PATH"
        return row
    row.mpi.here = True
    counts = row.suites.setdefault("c", Counts())
    mpi = next((mpi for mpi in mpis if mpi.here and not mpi.runtime_only), None)
    options = [f"-DCMAKE_C_COMPILER={found[0]}", f"-DCMAKE_CXX_COMPILER={found[1]}",
               f"-DSHEAF_MPIS={mpi.wrapper if mpi else 'none'}"]
    directory = where / "clang"
    try:
        said = builds.configured(directory, options, log)
        row.mpi.version = re.search(r"\((Clang [^)]+)\)", said)[1]
        row.mpi.name = f"{found[1]}, rooms"
        # SHEAF_DEVELOPER turns warnings into errors.
        builds.built(directory, ["products", "unit_tests"], jobs, log)
    except builds.BuildError as error:
        counts.failed.append(str(error))
        return row
    log.say("clang: tests of the rooms")
    environment = builds.Build(directory, where, []).environment()
    counts.add(suites.labelled("unit", directory, environment, log, "clang-unit"))
    return row
