"""Reports the results of each suite under each MPI, as a table and as JSON."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from mpis import Mpi

COLUMNS = {"c": "C", "mpiio": "MPI-IO", "fortran": "Fortran", "pairs": "preloaded"}


@dataclass
class Counts:
    passed: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)  # names of tests
    why_not: str = ""  # reason if no test ran

    def add(self, other: Counts) -> None:
        self.passed += other.passed
        self.skipped += other.skipped
        self.failed += other.failed

    def __str__(self) -> str:
        if not self.passed and not self.failed:
            return "-"
        return f"{self.passed}" + (f", {len(self.failed)} FAILED" if self.failed else "")


@dataclass
class Row:
    mpi: Mpi
    suites: dict[str, Counts] = field(default_factory=dict)


class Log:
    """A log that prints a line for every step and stores the output of each step in a file."""

    def __init__(self, build: Path, to: TextIO) -> None:
        self.directory = build / "logs"
        self.directory.mkdir(parents=True, exist_ok=True)
        self._to = to
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        print(f"[{time.monotonic() - self._began:5.0f} s] {text}", file=self._to, flush=True)

    def run(self, name: str, command: list[str], seconds: float = 3600, **how) -> tuple[int, str]:
        """Runs a command. Returns its exit code and complete output. The code is 124 if the command took longer
        than `seconds`."""
        path = self.directory / (re.sub(r"[^\w.+-]", "_", name) + ".log")
        with open(path, "w+", encoding="utf-8", errors="replace") as file:
            job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                   start_new_session=True, **how)
            try:
                code = job.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(job.pid, 9)
                job.wait()
                code = 124
            file.seek(0)
            return code, file.read()


def passed(rows: list[Row]) -> bool:
    """Returns whether no test failed and at least one passed."""
    counts = [counts for row in rows for counts in row.suites.values()]
    return any(one.passed for one in counts) and not any(one.failed for one in counts)


def as_table(rows: list[Row], problem: str, seconds: int, logs: Path) -> str:
    lines = [["", "version", *COLUMNS.values()]]
    for row in rows:
        cells = [str(row.suites.get(suite, Counts())) for suite in COLUMNS]
        lines.append([row.mpi.name, row.mpi.version or "-", *cells])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    for row in rows:
        for suite, counts in row.suites.items():
            text += [f"FAILED {row.mpi.name}: {name}" for name in counts.failed]
    for row in rows:
        if not row.mpi.here:
            text.append(f"not there: {row.mpi.name}: {row.mpi.why_not}")
        text += [f"not tested: {row.mpi.name}, {COLUMNS.get(suite, suite)}: {counts.why_not}"
                 for suite, counts in row.suites.items() if counts.why_not]
    alone = ", ".join(row.mpi.name for row in rows if row.mpi.here and row.mpi.runtime_only)
    if alone:
        text.append(f"for programs of {alone} a drop-in of another MPI is preloaded, no more")
    if problem:
        text.append(f"FAILED: {problem}")
    verdict = "all passed" if not problem and passed(rows) else f"FAILED, see {logs}"
    return "\n".join([*text, f"{verdict}; {seconds // 60} min {seconds % 60} s"])


def as_json(rows: list[Row], problem: str, seconds: int) -> dict:
    def one(row: Row) -> dict:
        suites = {suite: dataclasses.asdict(counts) for suite, counts in row.suites.items()}
        return {"name": row.mpi.name, "version": row.mpi.version, "there": row.mpi.here,
                "why_not": row.mpi.why_not, "suites": suites}

    return {"passed": not problem and passed(rows), "problem": problem, "seconds": seconds,
            "mpis": [one(row) for row in rows]}
