#!/usr/bin/env python3
"""2 processes with 4 threads each against 8 processes, the same bytes in one multifile.

Why this is fair: the same program (mpi_bench_hybrid) runs both kinds in turn. It measures from an agreed time to the
end of the last close. The first run is not counted, so the times exclude the start of processes and threads. Waiting
threads sleep (OMP_WAIT_POLICY=passive), like the processes: with more tasks than cores, the working tasks need them.
"""
import argparse
import json
import os
import pathlib
import subprocess

import bench_pairs

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--bin", default="build/bin", help="directory of mpi_bench_hybrid_*")
parser.add_argument("--dir", default=".")
parser.add_argument("--pairs", type=int, default=7)
parser.add_argument("--mpi", default="openmpi")
parser.add_argument("--processes", type=int, default=2)
parser.add_argument("--threads", type=int, default=4)
parser.add_argument("--bytes", default="32M", help="per task")
parser.add_argument("--files", default="1")
parser.add_argument("--patience", default="3")
options = parser.parse_args()
MPIRUN = pathlib.Path(__file__).resolve().parent.parent / "scripts" / "mpirun.sh"


def run(processes, threads):
    command = [MPIRUN, options.mpi, processes, f"{options.bin}/mpi_bench_hybrid_{options.mpi}", "--dir", options.dir,
               "--threads", threads, "--bytes", options.bytes, "--files", options.files, "--patience", options.patience]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env=dict(os.environ, OMP_WAIT_POLICY="passive"))
    if done.returncode != 0:
        raise SystemExit(f"bench_hybrid: {command} failed: {done.stderr}")
    found = json.loads(done.stdout.splitlines()[-1])
    return [found["write"] + found["read"], found["write"], found["read"], found["processors"]]


tasks = options.processes * options.threads
names = f"{options.processes}x{options.threads}/{tasks}-processes"
bench_pairs.compare([(f"hybrid.{names}", 1.1), (f"hybrid.write.{names}", 0), (f"hybrid.read.{names}", 0),
                     (f"hybrid.processor-time.{names}", 0)], options.dir, options.pairs,
                    lambda: run(options.processes, options.threads), lambda: run(tasks, 0), repeats=1)
