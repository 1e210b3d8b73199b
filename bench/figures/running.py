"""Runs the programs for the figures: on this machine, on hosts of the cluster tests, and on modelled
machines."""

from __future__ import annotations

import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from .hosts import Hosts

HERE = pathlib.Path(__file__).resolve().parent
MACHINES = json.loads((HERE / "machines.json").read_text())
PRINTED = json.loads((HERE / "printed.json").read_text())


class Missing(Exception):
    """A program or package that a figure needs is missing."""


class Programs:
    """The locations of the programs: in a build, or in an installation (then this file is in
    PREFIX/share/sheaf/figures/figures)."""

    def __init__(self, build: pathlib.Path | None):
        self.installed = build is None and not (HERE.parents[1] / "CMakeLists.txt").exists()
        self.root = HERE.parents[3] if self.installed else HERE.parents[1]
        self.build = (build or self.root / "build").resolve()

    def program(self, name: str) -> pathlib.Path:
        if self.installed:
            places = [
                self.root / "libexec/sheaf/figures" / name,
                self.root / "libexec/sheaf/openmpi" / name,
                self.root / "bin" / name,
            ]
        else:
            places = [self.build / "bin" / name, self.build / "bin/openmpi" / name]
        for place in places:
            if place.exists():
                return place
        raise Missing(
            f"the program {name} is not there: looked for {', '.join(map(str, places))}; build with -DSHEAF_TESTS=ON"
        )

    def library(self, name: str) -> pathlib.Path:
        place = (self.root if self.installed else self.build) / "lib" / name
        if not place.exists():
            raise Missing(f"the library {place} is not there")
        return place

    def launcher(self) -> list[str]:
        script = (self.root / "share/sheaf/figures/mpirun.sh") if self.installed else self.root / "scripts/mpirun.sh"
        return [str(script), "openmpi"]


class Runner:
    """Runs programs for figures. `quick`: less of everything, for a functional check. `hosts`: the file
    system shared by the three hosts on which MPI programs run; empty: they run on this machine."""

    def __init__(self, programs: Programs, directory: pathlib.Path, quick: bool, hosts: str, measures: bool):
        self.programs, self.quick, self.file_system, self.measures = programs, quick, hosts, measures
        self.local = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-figures.", dir=directory))  # on this machine
        self.hosts: Hosts | None = None
        self.environment = dict(os.environ)
        mpi = self.programs.build / "mpi"
        if not self.programs.installed and mpi.is_dir():
            self.environment["PATH"] = f"{mpi}:{self.environment['PATH']}"
        elif measures and shutil.which("mpirun.openmpi") is None and shutil.which("mpirun") is None:
            raise Missing("no mpirun in PATH: figures are measured with Open MPI")
        self.known: dict[tuple[str, ...], dict] = {}
        self.figure = ""  # the current figure and its progress
        self.began = time.monotonic()

    def close(self) -> None:
        if self.hosts:
            self.hosts.down()
        shutil.rmtree(self.local, ignore_errors=True)

    def say(self, what: str) -> None:
        """Shows progress on a terminal, in one line that is overwritten; otherwise prints nothing."""
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            text = f"{time.monotonic() - self.began:6.0f} s  {self.figure}: {what}"
            sys.stderr.write("\r" + text[:width].ljust(width))
            sys.stderr.flush()

    def output_of(self, command: list, timeout: float = 900, more: dict | None = None) -> str:
        words = [str(word) for word in command]
        done = subprocess.run(
            words, capture_output=True, text=True, env={**self.environment, **(more or {})}, timeout=timeout
        )
        if done.returncode != 0:
            raise RuntimeError(
                f"{shlex.join(words)} ended with {done.returncode}:\n{(done.stderr or done.stdout)[-2000:]}"
            )
        return done.stdout

    def simulate(self, machine: str, program: str, **options) -> dict:
        """Runs a program on a modelled machine and caches the result. Options may replace numbers of the
        machine."""
        numbers = dict(MACHINES[machine]["numbers"])
        for name in list(options):
            if name in numbers or name in ("fragment", "stripes", "scattered", "ahead"):
                numbers[name] = options.pop(name)
        words = tuple(f"{name}={value}" for name, value in (numbers | options).items())
        key = (program, *words)
        if key not in self.known:
            self.say(f"{machine}: {program} " + " ".join(f"{name}={value}" for name, value in options.items()))
            self.known[key] = json.loads(self.output_of([self.programs.program("sheaf_simulate"), *key], timeout=3600))
        return self.known[key]

    def mpirun(self, tasks: int, command: list, more: dict | None = None) -> str:
        self.say(f"{tasks} tasks: {pathlib.Path(str(command[0])).name} " + " ".join(map(str, command[1:])))
        words = [f"{name}={value}" for name, value in (more or {}).items()]
        hosts = self.several_hosts()
        launch = hosts.launcher() if hosts else self.programs.launcher()
        return self.output_of([*launch, tasks, *(["env", *words] if words else []), *command])

    def several_hosts(self) -> Hosts | None:
        """Creates the hosts at the first use, if they are requested."""
        if self.file_system and not self.hosts:
            if self.programs.installed:
                raise Missing("--hosts needs the source tree: the hosts are those of tests/cluster")
            self.say("making three hosts")
            self.hosts = Hosts(self.programs.root, self.programs.build, self.file_system, self.environment)
        return self.hosts

    @property
    def directory(self) -> pathlib.Path:
        """The directory for the files of MPI programs."""
        hosts = self.several_hosts()
        return hosts.directory if hosts else self.local

    def remove(self, pattern: str) -> None:
        """Removes files that programs have left there."""
        if self.hosts:
            return self.hosts.remove(pattern)
        for path in self.local.glob(pattern):
            path.unlink()

    def here(self) -> str:
        """Returns the beginning of titles of panels that MPI programs have measured."""
        place = f", three hosts on {self.file_system}" if self.file_system else ""
        return f"measured, {os.cpu_count()} cores{place}"

    def partest(self, tasks: int, *words, more: dict | None = None) -> list[dict]:
        """Returns the phases of sheaf-partest, and removes its files."""
        path = self.directory / "partest"
        text = self.mpirun(tasks, [self.programs.program("sheaf-partest"), "-f", path, "--json", "-X", 1, *words], more)
        return json.loads(text[text.index("{") :])["phases"]

    def rates(self, tasks: int, *words, more: dict | None = None) -> dict[tuple[int, str], dict]:
        """Returns the MB/s of the transfers by test type and operation: median and spread of several runs
        of sheaf-partest."""
        found: dict[tuple[int, str], list[float]] = {}
        for _ in range(self.repeats()):
            for one in self.partest(tasks, *words, more=more):
                found.setdefault((one["testtype"], one["operation"]), []).append(
                    one["transfer_mib_per_second"] * 1.048576
                )
        return {key: middle(values) for key, values in found.items()}

    def repeats(self) -> int:
        return 3 if self.quick else 7


def middle(values: list[float]) -> dict:
    """Returns the median and spread of measured values."""
    return {"value": statistics.median(values), "least": min(values), "most": max(values), "runs": len(values)}


def curve(name: str, points: list[tuple], kind: str) -> dict:
    """Returns a curve. Points are (x, y) or (x, {value, least, most}); kind: measured, modelled or paper."""
    result = {"name": name, "kind": kind, "x": [x for x, _ in points], "y": [], "least": [], "most": []}
    for _, y in points:
        one = y if isinstance(y, dict) else {"value": y, "least": y, "most": y}
        result["y"].append(one["value"])
        result["least"].append(one["least"])
        result["most"].append(one["most"])
    return result


def panel(title: str, x: str, y: str, curves: list[dict], log_x: bool = True, log_y: bool = False) -> dict:
    return {"title": title, "x": x, "y": y, "log_x": log_x, "log_y": log_y, "curves": curves}


def table(title: str, columns: list[str], rows: list[list]) -> dict:
    return {"title": title, "columns": columns, "rows": rows}
