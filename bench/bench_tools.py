#!/usr/bin/env python3
"""The command-line tools: `sheaf split` and `sheaf defrag` against `cp`, `sheaf verify` against `cat` of the file to /dev/null, and
`sheaf cat --task N` against 20 ms.

Why this is fair: cp copies the same bytes (the directory of task files that split writes; the multifile that is
defragmented, which has no gaps), from the page cache to a new place of the same file system, as the tool does. Both
times include the start of the process, but not the removal of outputs. For `cat` the peer is the time allowed for one
task out of 294,912; the tool's own start (`sheaf --version`) is printed beside it.
"""
import argparse
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import time

import bench_pairs

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--bin", default="build/bin", help="directory of sheaf and bench_tool_input")
parser.add_argument("--dir", default=".")
parser.add_argument("--pairs", type=int, default=5)
parser.add_argument("--shrink", type=int, default=1, help="divide the amounts of data by this")
options = parser.parse_args()
SHEAF = f"{options.bin}/sheaf"
scratch = pathlib.Path(options.dir) / f"sheaf-bench.{os.getpid()}"


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()


def timed(command):
    start = time.monotonic()
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        raise SystemExit(f"bench_tools: {command} failed: {done.stderr.decode()}")
    return seconds


def compare(name, target, ours, peer):
    bench_pairs.compare([(name, target)], scratch, options.pairs, lambda: [ours()], lambda: [peer()])


def make(path, tasks, per_task, chunk):
    timed([f"{options.bin}/bench_tool_input", "--out", path, "--tasks", tasks, "--bytes", per_task, "--chunk", chunk])


def split_and_defrag(tasks, per_task, chunk):
    source = scratch / "multifile"
    make(source, tasks, per_task, chunk)
    shape = f"{tasks}x{per_task >> 10}KiB"
    # The directory that cp copies in comparison with split, written by the tool itself.
    model_dir = scratch / "model"
    model_dir.mkdir()
    timed([SHEAF, "split", source, model_dir / "task."])

    def split():
        out = scratch / "split"
        out.mkdir()
        seconds = timed([SHEAF, "split", source, out / "task."])
        remove(out)
        return seconds

    def copy(model, *flags):
        out = scratch / "copy"
        seconds = timed(["cp", *flags, model, out])
        remove(out)
        return seconds

    def defrag():
        out = scratch / "defrag.sion"
        seconds = timed([SHEAF, "defrag", source, out])
        remove(out)
        return seconds

    compare(f"split/cp.{shape}", 1.2, split, lambda: copy(model_dir, "-r"))
    compare(f"defrag/cp.{shape}", 1.2, defrag, lambda: copy(source))
    compare(f"verify/cat.{shape}", 1.3, lambda: timed([SHEAF, "verify", source]), lambda: timed(["sh", "-c", 'cat "$0" >/dev/null', source]))
    for path in (source, model_dir):
        remove(path)


def cat_one(tasks):
    source = scratch / "multifile"
    make(source, tasks, 52, 52)
    chosen = [random.Random(1).randrange(tasks) for _ in range(4 * options.pairs)]
    times = [timed([SHEAF, "cat", "--task", task, source]) for task in [tasks - 1] + chosen][1:]
    start = statistics.median(timed([SHEAF, "--version"]) for _ in times)
    print(f"  cat --task: median {1e3 * statistics.median(times):.2f} ms, of these {1e3 * start:.2f} ms for the start")
    allowed = 0.020
    bench_pairs.result(f"cat-1-of-{tasks}/20ms", scratch, [t / allowed for t in times], times, [allowed], 1)
    remove(source)


remove(scratch)
scratch.mkdir(parents=True)
try:
    split_and_defrag(8, (64 << 20) // options.shrink, (8 << 20) // options.shrink)
    split_and_defrag(1000, (256 << 10) // options.shrink, (64 << 10) // options.shrink)
    cat_one(294_912)
finally:
    remove(scratch)
