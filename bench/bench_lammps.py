#!/usr/bin/env python3
"""Debian's LAMMPS, captured against plain (docs/capture.md): bench_lammps.py [--dir DIR | --fs
gluster-strict] [--tasks 16] [--dumps 200] [--pairs 3] [--bin build/bin]. Every task writes a dump and a
restart in each of the --dumps steps. Captured and plain runs alternate, each in a new directory; the
captured time includes the conversion of the containers to multifiles. Prints each pair, the median ratio,
and the number of files. --fs: on the three hosts of tests/cluster (root only; requires
scripts/install-deps.sh cluster capture)."""

from __future__ import annotations

import argparse
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve().parent
INPUT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo 100
dump 1 all custom 1 {where}/out/f.*.% id x y z
restart 1 {where}/out/r.*.%
run {dumps}
"""


def finish(code: int, output: str) -> None:
    if code != 0:
        sys.exit(f"LAMMPS has failed:\n{output[-2000:]}")


class OneHost:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.name = options, str(options.dir)

    def directory(self) -> pathlib.Path:
        return pathlib.Path(tempfile.mkdtemp(prefix="sheaf-bench.", dir=self.options.dir.absolute()))

    def shell(self, script: str) -> str:
        return subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True).stdout

    def run(self, where: pathlib.Path, rules: list[str]) -> None:
        capture = [word for rule in rules for word in ("--capture", rule)]
        words = ["mpirun.openmpi", "--oversubscribe", "-n", str(self.options.tasks), "lmp", "-log", "none", "-in", str(where / "in")]
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_mpi_yield_when_idle="1")
        done = subprocess.run([str(self.options.bin / "sheaf"), "run", *capture, "--", *words] if rules else words,
                              capture_output=True, text=True, env=environment)
        finish(done.returncode, done.stdout + done.stderr)

    def close(self) -> None:
        pass


class Cluster:
    def __init__(self, options: argparse.Namespace) -> None:
        os.environ.setdefault("SHEAF_BIN", str(options.bin))
        sys.path.insert(0, str(here.parent / "tests" / "cluster"))
        from context import Context

        self.options, self.name, self.context = options, options.fs, Context.of(options.fs)

    def directory(self) -> pathlib.Path:
        return self.context.directory()

    def shell(self, script: str) -> str:
        return self.context.rack.on("h1", script, timeout=300)

    def run(self, where: pathlib.Path, rules: list[str]) -> None:
        capture = {"LD_PRELOAD": self.options.bin.parent / "lib" / "libsheaf_posix.so", "SHEAF_CAPTURE": ";".join(rules)}
        program = ["lmp", "-log", "none", "-in", where / "in"]
        finish(*self.context.mpirun(self.options.tasks, program, "block", capture if rules else None, timeout=500))
        for rule in rules:
            name = rule.rsplit(":", 1)[1]
            self.context.tool("h1", "defrag", name, name, timeout=300)

    def close(self) -> None:
        self.context.rack.down()


def measure(place: OneHost | Cluster, options: argparse.Namespace, captured: bool) -> tuple[float, int]:
    """Returns the seconds of a run and the number of files it leaves."""
    where = place.directory()
    script = shlex.quote(INPUT.format(where=where, dumps=options.dumps))
    place.shell(f"mkdir {where}/out; printf %s {script} > {where}/in; sync")
    rules = [f"{where}/out/{kind}.*:{where}/{kind}.sion" for kind in "fr"] if captured else []
    begin = time.monotonic()
    place.run(where, rules)
    seconds = time.monotonic() - begin
    files = int(place.shell(f"find {where} -type f ! -name in | wc -l"))
    place.shell(f"rm -rf {where}")
    return seconds, files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--fs")
    parser.add_argument("--tasks", type=int, default=16)
    parser.add_argument("--dumps", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--bin", type=pathlib.Path, default=here.parent / "build/bin")
    options = parser.parse_args()
    options.bin = options.bin.absolute()
    if not shutil.which("lmp"):
        sys.exit("lmp is not installed (scripts/install-deps.sh capture)")
    place = Cluster(options) if options.fs else OneHost(options)
    ratios = []
    try:
        for pair in range(options.pairs):
            found = {captured: measure(place, options, captured) for captured in ((True, False), (False, True))[pair % 2]}
            (own, few), (plain, many) = found[True], found[False]
            ratios.append(own / plain)
            print(f"{place.name}: {own:.2f} s captured, {plain:.2f} s plain, {own / plain:.2f}; {many} files -> {few}", flush=True)
    finally:
        place.close()
    print(f"{place.name}: median {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
