#!/usr/bin/env python3
"""bench_multifile.py [--dir DIR,... | --fs gluster-strict] [--tasks 8] [--bytes 64M] [--piece 1M]
[--runs 9] [--placement block] [--json FILE] [--bin DIR]: compares multifiles (files=auto, and one physical
file) with a plain writer of the same layout through FILE*, the same with pwrite, and task-local files
(mpi_bench_multifile). Each way in turn runs in a new process, which writes and reads once: in a new
directory (fresh), and over the files of the previous run (overwritten). Prints medians, spread, and the
bandwidth of multifiles relative to each peer. --fs: on the three hosts of tests/cluster (root only;
requires scripts/install-deps.sh cluster)."""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent / "tests" / "cluster")]
from bench_pairs import file_system  # noqa: E402

WAYS = ("multifile-auto", "plain", "task-local", "multifile-one", "pwrite")
COMPARED = {"multifile-auto": ("plain", "task-local"), "multifile-one": ("plain", "pwrite")}
STATES = ("fresh", "overwritten")


class OneHost:
    """Directories of this machine."""

    def __init__(self, args, parent):
        self.args, self.parent, self.name = args, parent, file_system(parent)
        self.made = []

    def directory(self):
        self.made.append(pathlib.Path(tempfile.mkdtemp(prefix="sheaf-bench.", dir=self.parent)))
        return self.made[-1]

    def remove(self, directory):
        shutil.rmtree(directory, ignore_errors=True)

    def run(self, words):
        launch = here.parent / "scripts/mpirun.sh"
        command = [launch, "openmpi", self.args.tasks, self.args.bin / "mpi_bench_multifile_openmpi", *words]
        found = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
        return found.returncode, found.stdout + found.stderr

    def close(self):
        for directory in self.made:
            self.remove(directory)


class Cluster:
    """Three hosts that share a file system."""

    def __init__(self, args, name):
        from context import Context

        self.args, self.name, self.context = args, name, Context.of(name)

    def directory(self):
        return self.context.directory()

    def remove(self, directory):
        self.context.rack.on("h1", f"rm -rf {directory}")

    def run(self, words):
        program = [self.args.bin / "mpi_bench_multifile_openmpi", *words]
        return self.context.mpirun(self.args.tasks, program, self.args.placement, timeout=600)

    def close(self):
        self.context.rack.down()


def seconds_of(place, args, way, directory):
    code, output = place.run([way, directory, "--bytes", args.bytes, "--piece", args.piece])
    times = {line.split()[1]: float(line.split()[2]) for line in output.splitlines() if line.startswith("TIME ")}
    if code != 0 or len(times) != 2:
        sys.exit(f"{way} failed:\n{output}")
    return times


def measure(place, args):
    """Returns {(state, way, phase): seconds of each run}."""
    found = {}
    kept = {way: place.directory() for way in WAYS}
    for way in WAYS:
        seconds_of(place, args, way, kept[way])
    for number in range(args.runs):
        for way in WAYS[number % len(WAYS):] + WAYS[:number % len(WAYS)]:
            for state in STATES:
                directory = kept[way] if state == "overwritten" else place.directory()
                for phase, seconds in seconds_of(place, args, way, directory).items():
                    found.setdefault((state, way, phase), []).append(seconds)
                if state == "fresh":
                    place.remove(directory)
    return found


def show(place, args, found):
    rows = []
    for state in STATES:
        for phase in ("write", "read"):
            for way in WAYS:
                times = found[state, way, phase]
                middle = statistics.median(times)
                text = f"{place.name:15}{state:12}{phase:6}{way:15} {middle:.4f} s ({min(times):.4f} to {max(times):.4f})"
                ratios = {peer: statistics.median(found[state, peer, phase]) / middle for peer in COMPARED.get(way, ())}
                print(text + "".join(f"  {ratio:.2f} x {peer}" for peer, ratio in ratios.items()), flush=True)
                rows.append({"fs": place.name, "state": state, "phase": phase, "way": way, "seconds": times,
                             "bandwidth_ratios": ratios, "tasks": args.tasks, "bytes": args.bytes, "piece": args.piece})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default=".")
    parser.add_argument("--fs", action="append")
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--bytes", default="64M")
    parser.add_argument("--piece", default="1M")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--placement", choices=("round", "block"), default="block")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path(os.environ.get("SHEAF_BIN", here.parent / "build/bin")))
    args = parser.parse_args()
    args.bin = args.bin.absolute()  # programs run in other directories
    rows = []
    for name in args.fs or args.dir.split(","):
        place = Cluster(args, name) if args.fs else OneHost(args, name)
        try:
            rows += show(place, args, measure(place, args))
        finally:
            place.close()
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
