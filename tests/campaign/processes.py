"""Starts and checks the cases of those interfaces of the campaign that run as real processes."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable

BIN = pathlib.Path(os.environ.get("SHEAF_BIN", "build/bin")).resolve()
LIB = BIN.parent / "lib"
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECONDS_PER_CASE = 20  # far more than a case needs, so a case that takes longer hangs


class Skipped(Exception):
    """This interface cannot run here."""


@dataclasses.dataclass
class Done:
    code: int | None  # None: the program hung and was killed
    output: str


def end_of(done: Done) -> str:
    """Returns the end of a program's output in one line."""
    return " ".join(done.output[-400:].split())


def run_quietly(command: list, environment: dict[str, str], seconds: float, progress: Callable[[], object] | None = None) -> Done:
    """Runs a command and returns its result. Kills the command after `seconds`. With `progress`, kills it only
    after `seconds` without progress."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("SHEAF_", "FAILING_"))}
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        job = subprocess.Popen([str(word) for word in command], env=variables | environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                               start_new_session=True)
        code: int | None = None
        before = None
        while code is None:
            try:
                code = job.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                now = progress() if progress else None
                if now == before:
                    break
                before = now
        if code is None:
            end_job(job)
        # This also kills processes that a launcher has left.
        try:
            os.killpg(job.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        job.wait()
        log.seek(0)
        return Done(code, log.read())


def end_job(job: subprocess.Popen) -> None:
    """Asks a launcher of MPI to end. Its processes are in other process groups, so only the launcher can end
    all of them."""
    job.terminate()
    try:
        job.wait(timeout=10)
    except subprocess.TimeoutExpired:
        pass


def preloaded(*libraries: pathlib.Path) -> list[str]:
    """Returns words that precede the program in a launcher's command. With them only the program, and not the
    launcher, loads the libraries."""
    return ["env", "LD_PRELOAD=" + " ".join(map(str, libraries))]


FAILING = [BIN / "libfailing_allocations.so", BIN / "libfailing_calls.so"]


class Scratch:
    """Two directories for some cases: `cases`, in which calls fail, and `ledgers`, in which no call fails."""

    def __init__(self) -> None:
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-campaign-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        self.cases, self.ledgers = self.root / "cases", self.root / "ledgers"
        self.cases.mkdir()
        self.ledgers.mkdir()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.root, ignore_errors=True)


@dataclasses.dataclass
class Interface:
    """One interface of the campaign.

    `program` gets the arguments "run DIR LEDGERS FIRST COUNT". It may end early if the failure of a case ends
    it."""

    launcher: list
    program: list
    short_runs: int = 6
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    libraries: list[pathlib.Path] = dataclasses.field(default_factory=list)
    check: list = dataclasses.field(default_factory=lambda: [BIN / "campaign_check", "check"])
    needs: Callable[[], None] | None = None
    alone: bool = False  # one launch for each case

    def run(self, seeds: list[int]) -> dict[int, str]:
        if self.needs:
            self.needs()
        for word in self.program[:1]:
            if isinstance(word, pathlib.Path) and not word.exists():
                raise Skipped(f"{word.name} was not built")
        found: dict[int, str] = {}
        first, last = seeds[0], seeds[-1]
        while first <= last:
            with Scratch() as scratch:
                count = 1 if self.alone else last - first + 1
                first = self.run_some(scratch, first, count, found)
        return found

    def run_some(self, scratch: Scratch, first: int, count: int, found: dict[int, str]) -> int:
        """Runs cases from `first` on. Returns the first case that did not run."""
        command = [*self.launcher, *preloaded(*self.libraries, *FAILING), *self.program, "run", scratch.cases, scratch.ledgers, first, count]
        done = run_quietly(command, {"SHEAF_BIN": str(BIN), **self.environment}, SECONDS_PER_CASE,
                           lambda: sorted(os.listdir(scratch.ledgers)))
        checked = run_quietly([*self.check, scratch.cases, scratch.ledgers, first, count], {"SHEAF_BIN": str(BIN)}, SECONDS_PER_CASE * count)
        states = {}
        for line in checked.output.splitlines():
            seed, _, what = line.partition(" ")
            if seed.isdigit():
                states[int(seed)] = what
        begun = [seed for seed in range(first, first + count) if states.get(seed, "absent") != "absent"]
        for seed in begun:
            if states[seed] != "right":
                found[seed] = states[seed]
        if done.code is None:
            hanging = max(begun, default=first)
            found[hanging] = f"it hangs; {states.get(hanging)}; {end_of(done)}"
        if not begun:
            found.setdefault(first, f"it did not begin, exit code {done.code}: {end_of(done)}")
            return first + 1
        if "the program has died" in states[begun[-1]]:
            found[begun[-1]] += f": {end_of(done)}"
        return max(begun) + 1


def mpirun(mpi: str, count: int) -> list:
    return [ROOT / "scripts/mpirun.sh", mpi, count]




def torch_python() -> str:
    own = ROOT / "build-torch/bin/python"
    return str(own) if own.exists() else sys.executable


def require_torch() -> None:
    if run_quietly([torch_python(), "-c", "import torch.distributed.checkpoint"], {}, 60).code != 0:
        raise Skipped("no PyTorch; make test-torch installs it")


def require_capture() -> None:
    if not (BIN / "campaign_captured").exists() or not (LIB / "libsheaf_posix.so").exists():
        raise Skipped("captured files need libsheaf_posix.so")


REGIONS = [BIN / "campaign_check", "regions"]
PYTHON = HERE / "python_program.py"
SFIO = {"SHEAF_SFIO_HOSTS": "n0,n1", "SHEAF_SFIO_ROOT": "", "SHEAF_SFIO_TIMEOUT": "5"}

# Processes that wait for others of a save learn within five seconds that these have died.
ASYNC = {"CAMPAIGN_ASYNC": "1", "SHEAF_LEASE_TIMES": "500,5000"}

INTERFACES: dict[str, Interface] = {
    "serial": Interface([], [BIN / "campaign_serial"], 30),
    "openmp": Interface([], [BIN / "campaign_openmp"], 20),
    "openmpi": Interface(mpirun("openmpi", 2), [BIN / "campaign_openmpi"], 10),
    "mpich": Interface(mpirun("mpich", 2), [BIN / "campaign_mpich"], 8),
    "hybrid-openmpi": Interface(mpirun("openmpi", 2), [BIN / "campaign_hybrid_openmpi"], 6),
    "hybrid-mpich": Interface(mpirun("mpich", 2), [BIN / "campaign_hybrid_mpich"], 4),
    "async-serial": Interface([], [BIN / "campaign_serial"], 20, environment=ASYNC),
    "async-openmp": Interface([], [BIN / "campaign_openmp"], 10, environment=ASYNC),
    "async-openmpi": Interface(mpirun("openmpi", 2), [BIN / "campaign_openmpi"], 8, environment=ASYNC),
    "async-mpich": Interface(mpirun("mpich", 2), [BIN / "campaign_mpich"], 6, environment=ASYNC),
    "async-hybrid-openmpi": Interface(mpirun("openmpi", 2), [BIN / "campaign_hybrid_openmpi"], 4, environment=ASYNC),
    "mpiio-openmpi": Interface(mpirun("openmpi", 2), [BIN / "campaign_mpiio_openmpi"], 8, libraries=[LIB / "libsheaf_mpiio.so"],
                               check=REGIONS),
    "mpiio-mpich": Interface(mpirun("mpich", 2), [BIN / "campaign_mpiio_mpich"], 6, libraries=[LIB / "libsheaf_mpiio.so"],
                             check=REGIONS),
    "sfio-openmpi": Interface(mpirun("openmpi", 2), [BIN / "campaign_sfio_openmpi"], 6, check=REGIONS, environment=SFIO),
    "python": Interface([], [sys.executable, "-B", PYTHON, "streams"], 6),
    "python-archive": Interface([], [sys.executable, "-B", PYTHON, "archive"], 6, check=[sys.executable, "-B", PYTHON, "archive", "check"]),
    "torch": Interface([], [torch_python(), "-B", PYTHON, "torch"], 10, check=[torch_python(), "-B", PYTHON, "torch", "check"],
                       needs=require_torch),
    "captured": Interface([], [sys.executable, "-B", HERE / "captured.py"], 4, check=REGIONS, needs=require_capture, alone=True),
    "sfio-mpich": Interface(mpirun("mpich", 2), [BIN / "campaign_sfio_mpich"], 4, check=REGIONS, environment=SFIO),
}
