"""The three hosts of `make cluster-test`, for measuring figures: paper.py --hosts."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys


class Hosts:
    """Three hosts that share `directory`, on a file system of tests/cluster (ext4: one page cache; others:
    one per host). Programs have the same paths as on this machine. Root only; raises RuntimeError if a
    part cannot be created."""

    def __init__(self, root: pathlib.Path, build: pathlib.Path, file_system: str, environment: dict):
        self.script = [sys.executable, "-B", str(root / "tests/cluster/cluster_test.py")]
        self.environment = {**environment, "SHEAF_BIN": str(build / "bin")}
        self.name = f"figures-{os.getpid()}"
        try:
            told = self.call("up", file_system, self.name)
            self.directory = pathlib.Path(told.split(" share ", 1)[1].strip()) / "figures"
            self.call("run", self.name, "h1", "mkdir", str(self.directory))
        except RuntimeError:
            self.down()
            raise

    def call(self, *words: str) -> str:
        done = subprocess.run([*self.script, *words], capture_output=True, text=True, env=self.environment, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(f"hosts: {' '.join(words)} ended with {done.returncode}:\n{(done.stderr or done.stdout)[-2000:]}")
        return done.stdout

    def launcher(self) -> list[str]:
        """Returns the command that starts tasks there, distributed round-robin over the hosts; the number of tasks
        and the program follow."""
        return [*self.script, "run", self.name, "mpirun"]

    def remove(self, pattern: str) -> None:
        """Removes files of the directory."""
        self.call("run", self.name, "h1", f"rm -f {self.directory}/{pattern}")

    def down(self) -> None:
        subprocess.run([*self.script, "down", self.name], capture_output=True, env=self.environment)
