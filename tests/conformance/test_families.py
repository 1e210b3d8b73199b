#!/usr/bin/env python3
"""Runs the programs of tests/conformance/families under both MPIs. They check what the specification of the SION
interface guarantees to a client in C, one program for each family of functions.

A program runs tables of cases and prints a line for every failed check, then "N checks, M failed". Cases use
1, 2, 4 or 6 tasks. A program that runs on fewer tasks leaves the larger cases out. To run one program:

    scripts/mpirun.sh openmpi 6 build/bin/families_keyval_openmpi DIRECTORY ["part of a case's name"]

$SHEAF_BIN is the directory of the built programs. SHEAF_FAMILIES_TASKS=6 starts every program on six tasks.
SHEAF_TEST_MPIS=openmpi,mpich2 selects other MPIs of the build.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
BIN = os.environ.get("SHEAF_BIN", REPO / "build/bin")
NAMES = sorted(path.stem for path in (Path(__file__).resolve().parent / "families").glob("*.c"))
MPIS = os.environ.get("SHEAF_TEST_MPIS", "openmpi,mpich").split(",")
FOUR = ("collective", "mapped", "merged", "parallel")
SECONDS = 100
SHOWN = 40


def tasks_for(name: str, mpi: str) -> int:
    """Returns the number of tasks for a program. Waiting tasks of MPICH and its derivatives occupy their cores, so
    their programs have two tasks, or four if the collective calls need them."""
    return 6 if mpi.startswith("openmpi") else 4 if name in FOUR else 2


def environment() -> dict[str, str]:
    """Returns this environment without variables that change the library. Disables leak detection, because
    MPIs leak memory at exit."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("SION_", "SHEAF_"))}
    return {"ASAN_OPTIONS": "detect_leaks=0"} | own


class Families(unittest.TestCase):
    def run_program(self, name: str, mpi: str) -> None:
        program = Path(BIN) / f"families_{name}_{mpi}"
        if not program.exists():
            self.skipTest(f"{program.name} was not built")
        tasks = int(os.environ.get("SHEAF_FAMILIES_TASKS", tasks_for(name, mpi)))
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        with tempfile.TemporaryDirectory(dir=memory) as directory:
            command = [str(REPO / "scripts/mpirun.sh"), mpi, str(tasks), str(program), directory]
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment())
        failures = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
        summary = re.search(r"^(\d+) checks, (\d+) failed$", done.stdout, re.MULTILINE)
        said = "\n".join(failures[:SHOWN]) if failures else done.stdout + done.stderr
        if not summary:
            self.fail(f"{program.name}, {tasks} tasks, did not come to its end\n{said}")
        if done.returncode or summary[2] != "0" or summary[1] == "0":
            self.fail(f"{program.name}, {tasks} tasks: {summary[0]}, exit code {done.returncode}\n{said}")


def test_of(name: str, mpi: str):
    return lambda self: self.run_program(name, mpi)


for mpi in MPIS:
    for name in NAMES:
        setattr(Families, f"test_{name}_{mpi}", test_of(name, mpi))


if __name__ == "__main__":
    unittest.main()
