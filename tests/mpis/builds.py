"""One build of Sheaf with all MPIs."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from mpis import Mpi
from report import Log

ROOT = Path(__file__).resolve().parents[2]
MPIRUN = ROOT / "scripts" / "mpirun.sh"


class BuildError(Exception):
    pass


@dataclass
class Build:
    directory: Path
    wrappers: Path  # mpicc.<name>, mpirun.<name> of MPIs that the build lacks
    not_built: list[str]  # reasons that the configuration printed

    def environment(self, **more: str) -> dict[str, str]:
        """Returns the current environment without variables that change the library's behaviour."""
        ours = ("SION_", "SHEAF_")
        own = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        path = f"{self.directory / 'mpi'}:{self.wrappers}:{own['PATH']}"
        return own | {"PATH": path, "SHEAF_BIN": str(self.directory / "bin")} | more

    def alone(self, mpi: Mpi) -> Path:
        """Returns the directory of the drop-in that is built with this MPI alone."""
        return self.directory / "alone" / mpi.built_as


def configured(directory: Path, options: list[str], log: Log) -> str:
    command = ["cmake", "-S", str(ROOT), "-B", str(directory), "-DSHEAF_TESTS=ON", "-DSHEAF_DEVELOPER=ON"]
    command += options
    if shutil.which("ninja"):
        command += ["-G", "Ninja"]
    if shutil.which("ccache"):
        command += [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX")]
    log.say(f"configures {directory}")
    code, said = log.run(f"configure-{directory.name}", command)
    if code != 0:
        raise BuildError(f"{directory} could not be configured:\n{said[-3000:]}")
    return said


def built(directory: Path, targets: list[str], jobs: int, log: Log) -> str:
    log.say(f"builds {directory}")
    command = ["cmake", "--build", str(directory), "-j", str(jobs), "--target", *targets]
    code, said = log.run(f"build-{directory.name}", command, 7200)
    if code != 0:
        wrong = [line for line in said.splitlines() if "error" in line or line.startswith("FAILED")]
        raise BuildError(f"{directory} could not be built:\n" + "\n".join(wrong[:20]))
    return said


def make(where: Path, mpis: list[Mpi], jobs: int, log: Log) -> Build:
    """Builds Sheaf with all suitable MPIs, and clears `here` for the others."""
    wanted = [mpi for mpi in mpis if not mpi.runtime_only]
    if not wanted:
        raise BuildError("no MPI to build with")
    # Each set of MPIs has its own directory, because another set would change the names of programs and leave stale
    # programs.
    directory = where / "-".join(["build", *(mpi.name for mpi in wanted)])
    chosen = "-DSHEAF_MPIS=" + ";".join(mpi.wrapper for mpi in wanted)
    said = configured(directory, [chosen, "-DSHEAF_MPIS_OPTIONAL=ON"], log)
    build = Build(directory, where / "wrappers", re.findall(r"^--   not built +(.+)$", said, re.MULTILINE))
    lines = (directory / "mpi" / "all").read_text().splitlines()
    names = {wrapper: name for name, _, wrapper in map(str.split, lines)}
    for mpi in wanted:
        mpi.built_as = names.get(mpi.wrapper, "")
        if not mpi.built_as:
            mpi.here = False
            reasons = [line for line in build.not_built if mpi.wrapper in line]
            mpi.why_not = reasons[0] if reasons else "the build does not have it"
    add_wrappers(build, [mpi for mpi in mpis if mpi.runtime_only])
    built(directory, ["mpi_tests"], jobs, log)
    return build


def add_wrappers(build: Build, mpis: list[Mpi]) -> None:
    build.wrappers.mkdir(exist_ok=True)
    for mpi in mpis:
        mpi.built_as = mpi.name
        for program in ("mpicc", "mpirun"):
            path = build.wrappers / f"{program}.{mpi.name}"
            path.write_text(f'#!/bin/sh\nexec {Path(mpi.wrapper).with_name(program)} "$@"\n')
            path.chmod(0o755)
