#!/usr/bin/env python3
"""bench_mpiio.py [--bin DIR] [--dir DIR] [--tasks 4,16] [--pairs 5] [--mpi openmpi,mpich] [--only NAME,...]: the patterns of
the Blue Gene/L paper with the MPI library's own I/O and with the drop-in, the same binary in turn. Open MPI has two
implementations (ompio, romio321): the faster one counts. sfio-PATTERN: ours on a striped file over 4 I/O listeners more, theirs
on one plain file. One line per pattern, phase and number of tasks."""
import argparse
import os
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
from bench_pairs import result  # noqa: E402

LISTENERS = 4  # of the patterns on a striped file
TARGETS = {"coll_perf": 0.6, "bt-A": 0.6, "bt-B": 0.6, "strided-64": 0.5, "strided-4096": 0.5, "irregular-8": 0.5,
           "irregular-1024": 0.5, "contiguous": 1.0, "contiguous-independent": 1.0, "flash-hdf5": 0.8, "flash-pnetcdf": 0.8}
TARGETS |= {"sfio-strided-64": 1.0, "sfio-strided-4096": 1.0}


def run(args, mpi, tasks, name, io, repeats=3):
    environment = dict(os.environ)
    words = ["env"]
    pattern = name.removeprefix("sfio-")  # on a striped file; the peer's is a plain one
    striped = pattern != name and io == "sheaf"
    file = args.dir / f"mpiio-bench.{os.getpid()}"
    if striped:
        environment["SHEAF_SFIO"] = f"listeners={LISTENERS}"
        file = f"sfio:unit={64 << 10};" + "".join(f"#{i},{file}.{i};" for i in range(LISTENERS))
    if io == "sheaf":
        words.append(f"LD_PRELOAD={args.bin.parent}/lib/libsheaf_mpiio_{mpi}.so")
    elif mpi == "openmpi":
        words.append(f"OMPI_MCA_io={io}")
    program = "mpiio_" + (name.replace("-", "_") if name.startswith("flash") else "patterns_sfio" if striped else "patterns")
    arguments = [] if name.startswith("flash") else [pattern]
    tasks += LISTENERS if striped else 0
    command = [here.parent.parent / "scripts/mpirun.sh", mpi, str(tasks), *words, args.bin / f"{program}_{mpi}", *arguments, file,
               str(repeats)]
    found = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, env=environment)
    times = {line.split()[1]: float(line.split()[2]) for line in found.stdout.splitlines() if line.startswith("TIME")}
    return times if found.returncode == 0 and times else None  # a peer may crash on a pattern


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/bin"))
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("/dev/shm"))
    parser.add_argument("--tasks", default="4,16")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--only", default=",".join(TARGETS))
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    missing = 0
    for mpi in args.mpi.split(","):
        peers = ["ompio", "romio321"] if mpi == "openmpi" else ["romio"]
        for tasks in map(int, args.tasks.split(",")):
            for name in args.only.split(","):
                pairs = []
                for _ in range(args.pairs):
                    theirs = [times for io in peers if (times := run(args, mpi, tasks, name, io))]
                    ours = run(args, mpi, tasks, name, "sheaf")
                    if ours is None:
                        print(f"{name} with {tasks} tasks of {mpi}: no result with the drop-in")
                        missing = 1
                    elif theirs:
                        pairs.append((ours, theirs))
                for phase in pairs[0][0] if pairs else ():
                    own = [ours[phase] for ours, _ in pairs]
                    best = [min(times[phase] for times in theirs) for _, theirs in pairs]
                    result(f"mpiio-{name}-{phase}-{mpi}-{tasks}", args.dir, [a / b for a, b in zip(own, best)], own, best,
                           TARGETS.get(name, 0))
    return missing


if __name__ == "__main__":
    sys.exit(main())
