"""The context of a case: a rack with a file system, and functions that start programs on its hosts."""

import dataclasses
import os
import pathlib
import random
import shlex

from filesystems import ALL, BIN, FileSystem
from rack import ROOT, Rack

LIB = BIN.parent / "lib"
MODES = BIN / "cluster_modes"
MCA = (
    "plm_rsh_no_tree_spawn 1|btl tcp,self,vader|btl_vader_single_copy_mechanism none"
    "|btl_tcp_if_include 10.77.0.0/24"
    "|oob_tcp_if_include 10.77.0.0/24|mpi_yield_when_idle 1|orte_tmpdir_base /dev/shm"
)


class Wrong(Exception):
    """A case has failed. The text states the findings in figures."""


@dataclasses.dataclass
class Context:
    rack: Rack
    fs: FileSystem
    number: int = 0

    @staticmethod
    def of(name: str, full: int = 0) -> "Context":
        rack = Rack()
        context = Context(rack, ALL[name](rack, full))
        try:
            rack.up()
            context.fs.up()
            rack.ready()
        except BaseException:
            rack.down()
            raise
        return context

    def directory(self) -> pathlib.Path:
        """Creates a directory in the shared file system."""
        self.number += 1
        where = self.rack.shared / f"c{self.number}"
        self.rack.on("h1", f"mkdir {where}")
        if self.fs.name != "ext4":
            for host in self.rack.hosts:
                self.rack.on(
                    host, f"for i in $(seq 100); do [ -d {where} ] && exit 0; sleep 0.1; done; exit 1"
                )
        return where

    def command(
        self, tasks: int, program: list, placement: str = "round", env: dict | None = None, hosts=None
    ) -> list[str]:
        """Returns the command that starts `tasks` tasks, distributed over the hosts round robin (round) or in
        blocks (block)."""
        names = hosts or self.rack.hosts
        slots = -(-tasks // len(names))
        words = [
            "env",
            "OMPI_ALLOW_RUN_AS_ROOT=1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
            f"HOME={self.rack.state}",
            "mpirun.openmpi",
            "--mca",
            "plm_rsh_agent",
            str(self.rack.state / "rsh"),
            "--bind-to",
            "none",
            "--oversubscribe",
            "--wdir",
            str(self.rack.state),
            "--host",
            ",".join(f"{name}:{slots}" for name in names),
            "--map-by",
            "node" if placement == "round" else "slot",
            "-np",
            str(tasks),
        ]
        for setting in MCA.split("|"):
            words += ["--mca", *setting.split(" ", 1)]
        inside = [f"{key}={value}" for key, value in (env or {}).items()]
        return [*self.rack.enter(), *words, *(["env", *inside] if inside else []), *map(str, program)]

    def mpirun(
        self,
        tasks: int,
        program: list,
        placement: str = "round",
        env: dict | None = None,
        timeout: float = 40,
        hosts=None,
    ) -> tuple[int, str]:
        return self.rack.outcome(self.command(tasks, program, placement, env, hosts), timeout)

    def must(
        self,
        tasks: int,
        program: list,
        placement: str = "round",
        env: dict | None = None,
        timeout: float = 40,
    ) -> str:
        code, output = self.mpirun(tasks, program, placement, env, timeout)
        if code != 0:
            raise Wrong(
                f"{pathlib.Path(program[0]).name} {' '.join(map(str, program[1:3]))}:"
                f" exit {code}: {brief(output)}"
            )
        return output

    def tool(self, host: str, *arguments, timeout: float = 40) -> str:
        """Runs the sheaf command on a host and returns its output."""
        line = " ".join(shlex.quote(str(word)) for word in [BIN / "sheaf", *arguments])
        code, output = self.rack.outcome(
            [*self.rack.enter(), str(self.rack.state / "rsh"), host, line], timeout
        )
        if code != 0:
            raise Wrong(f"sheaf {arguments[0]} on {host}: exit {code}: {brief(output)}")
        return output


def brief(output: str) -> str:
    """Returns the lines of a failed run that state the reason, lines with sums first. Leaves out the messages of
    the MPI about the failure."""
    skip = (
        "----",
        "[rack:",
        "mpirun ",
        "Primary job",
        "a non-zero",
        "mpirun.openmpi ",
        "Process name",
        "Exit code",
        "Either",
    )
    lines = [line for line in output.splitlines() if line.strip() and not line.lstrip().startswith(skip)]
    lines.sort(key=lambda line: " tasks had a failing call" not in line and " failing calls" not in line)
    return " / ".join(line.replace(str(ROOT), "") for line in lines[:4])[:500]


def seeded(name: str) -> random.Random:
    return random.Random(f"{os.environ.get('SHEAF_SEED', '1')} {name}")
