#!/usr/bin/env python3
"""bench_mpiio.py [--quick] [--bin DIR] [--dir DIR,...] [--tasks 4,16] [--pairs 5] [--repeats 1]
[--mpi openmpi,mpich] [--only NAME,...] [--keep-memory]: runs the patterns of the Blue Gene/L paper with
the MPI library's own I/O and with the drop-in, the same binary in turn. Open MPI has two implementations
(ompio, romio321); the one with the smaller median counts. sfio-PATTERN: ours on a striped file with 4
additional I/O listeners, theirs on one plain file. The phase `whole` includes opening and closing. Prints
a line per pattern, phase and number of tasks, and at the end a table of all. --quick: the whole matrix in
about ten minutes, on tmpfs and in the current directory; without striped files, FLASH with an eighth of
the cells, and MPICH with 4 tasks on tmpfs only, because its tasks poll without yielding. --keep-memory
(root): prevents a virtual machine from returning free pages to its host during the run, which makes their
next use slow."""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
from bench_pairs import file_system, kept_memory, result  # noqa: E402

LISTENERS = 4  # for the patterns on a striped file
TARGETS = {"coll_perf": 0.6, "bt-A": 0.6, "bt-B": 0.6, "strided-64": 0.6, "strided-4096": 0.6, "irregular-8": 0.6,
           "irregular-1024": 0.6, "view": 0.6, "e3sm": 0.6, "contiguous": 1.0, "contiguous-65536": 1.0,
           "segments-8192": 0.9, "segments-65536": 0.9,
           "contiguous-independent": 1.0, "flash-hdf5": 0.8, "flash-pnetcdf": 0.8, "flash-pnetcdf-nonblocking": 0.8}
STRIPED = {"sfio-strided-64": 1.0, "sfio-strided-4096": 1.0}
WRITES = ("write", "plot")  # the phases that count for FLASH and striped files; others are for information


def launch(args, mpi, tasks, io, directory, program, name, striped=False):
    """Returns the seconds of each phase by name; None if the program has crashed, which is accepted for a
    peer."""
    environment = dict(os.environ)
    words = ["env"]
    file = directory / f"mpiio-bench.{os.getpid()}"
    if striped:
        environment["SHEAF_SFIO"] = f"listeners={LISTENERS}"
        file = f"sfio:unit={64 << 10};" + "".join(f"#{i},{file}.{i};" for i in range(LISTENERS))
    if io == "sheaf":
        words.append(f"LD_PRELOAD={args.bin.parent}/lib/libsheaf_mpiio.so")
    elif mpi == "openmpi":
        words.append(f"OMPI_MCA_io={io}")
    command = [here.parent.parent / "scripts/mpirun.sh", mpi, str(tasks + (LISTENERS if striped else 0)), *words,
               args.bin / f"mpiio_{program}_{mpi}", *([name] if program.startswith("patterns") else []), file,
               str(args.repeats), *([args.cells] if program.startswith("flash") else [])]
    found = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, env=environment)
    times = {}
    for line in found.stdout.splitlines():
        word = line.split()
        if line.startswith("PATTERN"):
            name = word[1]
        elif line.startswith("TIME") and float(word[2]) > 0:  # 0: calls that flash_timed does not intercept (MPICH's HDF5)
            times.setdefault(name, {})[word[1]] = float(word[2])
        elif line.startswith("WRONG"):
            times.pop(name, None)
    return times


def run(args, mpi, tasks, io, directory):
    """Runs all names in separate programs, so that no pattern uses files of another."""
    times = {}
    for name in args.only.split(","):
        if name.startswith("flash"):
            if (args.bin / f"mpiio_{name.replace('-', '_')}_{mpi}").exists():
                times |= launch(args, mpi, tasks, io, directory, name.replace("-", "_"), name)
        elif name.startswith("sfio-"):
            pattern = name.removeprefix("sfio-")
            striped = io == "sheaf"
            found = launch(args, mpi, tasks, io, directory, "patterns_sfio" if striped else "patterns", pattern, striped)
            times |= {f"sfio-{key}": value for key, value in found.items()}
        else:
            times |= launch(args, mpi, tasks, io, directory, "patterns", name)
    return times


def faster_peer(runs, name, phase):
    """Returns the number of the peer with the smallest median; None if all crash on the pattern, which is
    accepted."""
    times = [[theirs[peer][name][phase] for theirs in runs if name in theirs[peer]] for peer in range(len(runs[0]))]
    return min((peer for peer in range(len(times)) if times[peer]), key=lambda peer: statistics.median(times[peer]), default=None)


def compare(args, mpi, tasks, directory, rows):
    peers = ["ompio", "romio321"] if mpi == "openmpi" else ["romio"]
    pairs = []
    for _ in range(args.pairs):
        theirs = [run(args, mpi, tasks, io, directory) for io in peers]
        pairs.append((run(args, mpi, tasks, "sheaf", directory), theirs))
    missing = 0
    for name in args.only.split(","):
        if any(name not in ours for ours, _ in pairs):
            if (args.bin / f"mpiio_{name.replace('-', '_')}_{mpi}").exists() or not name.startswith("flash"):
                print(f"{name} with {tasks} tasks of {mpi}: no result with the drop-in")
                missing = 1
            continue
        for phase in pairs[0][0][name]:
            faster = faster_peer([theirs for _, theirs in pairs], name, phase)
            if faster is None:
                continue
            both = [(ours[name][phase], theirs[faster][name][phase]) for ours, theirs in pairs if name in theirs[faster]]
            own, best = zip(*both)
            ratios = [a / b for a, b in zip(own, best)]
            judged = phase in WRITES or (phase != "whole" and not name.startswith(("flash", "sfio")))
            target = (TARGETS | STRIPED).get(name, 0) if judged else 0
            result(f"mpiio-{name}-{phase}-{mpi}-{tasks}", directory, ratios, own, best, target)
            rows.append((f"{name} {phase}", tasks, mpi, file_system(directory), ratios, target))
    return missing


def table(rows):
    print(f"\n{'row':32s} {'tasks':>5s} {'MPI':8s} {'fs':6s} {'ours/best peer':>14s}  {'spread':14s} {'must':>5s}")
    for name, tasks, mpi, system, ratios, target in rows:
        ratio = statistics.median(ratios)
        verdict = "" if not target else "ok" if ratio <= target else "MISSED"
        spread = f"{min(ratios):5.3f} .. {max(ratios):5.3f}"
        print(f"{name:32s} {tasks:5d} {mpi:8s} {system:6s} {ratio:14.3f}  {spread} {target or '-':>5} {verdict}")
    judged = [statistics.median(row[4]) <= row[5] for row in rows if row[5]]
    print(f"{sum(judged)} of {len(judged)} rows reach what they must")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/bin"))
    parser.add_argument("--dir", default="")
    parser.add_argument("--tasks", default="4,16")
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--mpi", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep-memory", action="store_true")
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    args.only = args.only or ",".join(TARGETS if args.quick else TARGETS | STRIPED)
    pairs = args.pairs or (2 if args.quick else 5)
    args.cells = "8" if args.quick else "16"  # per block of FLASH in each direction; 16 in the paper
    directories = [pathlib.Path(d).resolve() for d in args.dir.split(",") if d] or [pathlib.Path("/dev/shm")]
    if args.quick and not args.dir:
        directories.append(pathlib.Path.cwd())
    rows = []
    missing = 0
    with kept_memory(args.keep_memory):
        for mpi in (args.mpi or ("openmpi,mpich" if args.quick else "openmpi")).split(","):
            for directory in directories:
                for tasks in map(int, args.tasks.split(",")):
                    if args.quick and mpi == "mpich" and (tasks > 4 or directory != directories[0]):
                        continue
                    args.pairs = 1 if args.quick and mpi == "mpich" else pairs
                    missing |= compare(args, mpi, tasks, directory, rows)
    table(rows)
    return missing


if __name__ == "__main__":
    sys.exit(main())
