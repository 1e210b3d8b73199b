#!/usr/bin/env python3
"""bench_multifile.py [--dir DIR,... | --fs gluster-strict [--rate 200mbit]] [--tasks 8] [--bytes 64M] [--piece
1M,...] [--ways WAY,...] [--runs 9] [--count] [--placement block] [--json FILE] [--bin DIR] [--keep-memory]: compares
multifiles (files=auto, one and two physical files, without checksums) with plain writers of the same layout through
FILE* and with pwrite, and with task-local files (mpi_bench_multifile). background: a save in the background until it
is durable, compared with task-local files until fsync. Each way in turn runs in a new process, which writes and reads
once: in a new directory (fresh), and over the files of the previous run (overwritten). Prints medians, spread, the
processor time of all tasks, and the bandwidth of multifiles relative to each peer. --count: prints the system calls
of one run on files of the directory (requires strace) and measures no times. --keep-memory (root): a virtual machine
does not return free pages to its host, which makes their next use slow. --fs: on the three hosts of tests/cluster
(root only; requires scripts/install-deps.sh cluster)."""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent / "tests" / "cluster")]
from bench_pairs import file_system, kept_memory  # noqa: E402

WAYS = {"multifile-auto": "multifile --files 0", "task-local": "task-local",
        "background": "multifile --words async --durable", "task-local-durable": "task-local --durable"}
COMPARED = {"multifile-auto": ("plain-one", "task-local"), "background": ("task-local-durable",)}
for files, name in ((1, "one"), (2, "two")):
    WAYS |= {f"multifile-{name}": f"multifile --files {files}",
             f"unchecked-{name}": f"multifile --files {files} --words checksums=off",
             f"plain-{name}": f"plain --files {files}", f"pwrite-{name}": f"pwrite --files {files}"}
    COMPARED |= {f"{kind}-{name}": (f"plain-{name}", f"pwrite-{name}") for kind in ("multifile", "unchecked")}
    COMPARED[f"multifile-{name}"] += (f"unchecked-{name}",)
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

    def run(self, words, before=()):
        launch = here.parent / "scripts/mpirun.sh"
        program = self.args.bin / "mpi_bench_multifile_openmpi"
        command = [*before, launch, "openmpi", self.args.tasks, program, *words]
        found = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
        return found.returncode, found.stdout + found.stderr

    def close(self):
        for directory in self.made:
            self.remove(directory)


class Cluster:
    """Three hosts that share a file system."""

    def __init__(self, args, name):
        from context import Context
        from links import Links, bits_per_second

        self.args, self.name, self.context = args, name, Context.of(name)
        if args.rate:
            Links(self.context.rack).limit_to_reachable(bits_per_second(args.rate))

    def directory(self):
        return self.context.directory()

    def remove(self, directory):
        self.context.rack.on("h1", f"rm -rf {directory}")

    def run(self, words):
        program = [self.args.bin / "mpi_bench_multifile_openmpi", *words]
        return self.context.mpirun(self.args.tasks, program, self.args.placement, timeout=600)

    def close(self):
        self.context.rack.down()


def words_of(args, way, directory, piece):
    program, *options = WAYS[way].split()
    return [program, directory, "--bytes", args.bytes, "--piece", piece, *options]


def run_once(place, args, way, directory, piece):
    """Returns {phase: (seconds, processor seconds)}."""
    code, output = place.run(words_of(args, way, directory, piece))
    lines = [line.split() for line in output.splitlines() if line.startswith("TIME ")]
    times = {phase: (float(seconds), float(cpu)) for _, phase, seconds, _, cpu in lines}
    if code != 0 or len(times) != 2:
        sys.exit(f"{way} failed:\n{output}")
    return times


def measure(place, args, piece):
    """Returns {(state, way, phase): (seconds, processor seconds) of each run}."""
    found = collections.defaultdict(list)
    kept = {way: place.directory() for way in args.ways}
    for way in args.ways:
        run_once(place, args, way, kept[way], piece)
    for number in range(args.runs):
        first = number % len(args.ways)
        for way in args.ways[first:] + args.ways[:first]:
            for state in STATES:
                directory = kept[way] if state == "overwritten" else place.directory()
                for phase, times in run_once(place, args, way, directory, piece).items():
                    found[state, way, phase].append(times)
                if state == "fresh":
                    place.remove(directory)
    for directory in kept.values():
        place.remove(directory)
    return found


def show(place, args, piece, found):
    rows = []
    middles = {key: statistics.median(seconds for seconds, _ in times) for key, times in found.items()}
    for state in STATES:
        for phase in ("write", "read"):
            for way in args.ways:
                times, cpu = zip(*found[state, way, phase])
                middle = middles[state, way, phase]
                ratios = {peer: middles[state, peer, phase] / middle for peer in COMPARED.get(way, ()) if peer in args.ways}
                print(f"{place.name:6}{piece:>4} {state:12}{phase:6}{way:15}{middle:8.4f} s ({min(times):.4f} to "
                      f"{max(times):.4f}), processor {statistics.median(cpu):.3f} s"
                      + "".join(f"  {ratio:.2f} x {peer}" for peer, ratio in ratios.items()), flush=True)
                rows.append({"fs": place.name, "state": state, "phase": phase, "way": way, "seconds": times,
                             "processor_seconds": cpu, "bandwidth_ratios": ratios, "tasks": args.tasks,
                             "bytes": args.bytes, "piece": piece})
    return rows


def count(place, args, piece):
    """Prints the system calls of one run per way that name a file in its directory, in a new directory and
    over existing files."""
    for way in args.ways:
        directory = place.directory()
        for state in STATES:
            with tempfile.NamedTemporaryFile("r") as trace:
                before = ["strace", "-f", "-y", "-s", "0", "-o", trace.name, "-e", "trace=%file,%desc"]
                code, output = place.run(words_of(args, way, directory, piece), before)
                if code != 0:
                    sys.exit(f"{way} failed:\n{output}")
                calls = collections.Counter()
                for line in trace:
                    call = re.match(r"\d+ +(\w+)\(", line)
                    if call and f"{directory}/" in line:
                        calls[call[1]] += 1
            print(f"{place.name:6}{piece:>4} {state:12}{way:15} {sum(calls.values())} calls: "
                  + ", ".join(f"{number} {name}" for name, number in calls.most_common()), flush=True)
        place.remove(directory)
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default=".")
    parser.add_argument("--fs", action="append")
    parser.add_argument("--rate", help="of the links, such as 200mbit; with --fs")
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--bytes", default="64M")
    parser.add_argument("--piece", default="1M")
    parser.add_argument("--ways", default="multifile-auto,plain-one,task-local,multifile-one,pwrite-one", help=", ".join(WAYS))
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--placement", choices=("round", "block"), default="block")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--keep-memory", action="store_true")
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path(os.environ.get("SHEAF_BIN", here.parent / "build/bin")))
    args = parser.parse_args()
    args.bin = args.bin.absolute()  # programs run in other directories
    args.ways = args.ways.split(",")
    rows = []
    with kept_memory(args.keep_memory):
        for name in args.fs or args.dir.split(","):
            place = Cluster(args, name) if args.fs else OneHost(args, name)
            try:
                for piece in args.piece.split(","):
                    rows += count(place, args, piece) if args.count else show(place, args, piece, measure(place, args, piece))
            finally:
                place.close()
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
