#!/usr/bin/env python3
"""bench_async.py [--dir DIR,...] [--bytes 1G] [--piece 16M] [--words WORDS] [--runs 9] [--saves 30] [--parts PART,...]
[--json FILE] [--bin DIR] [--keep-memory]: saves in the background by one task (bench_async.cpp, docs/async.md). Each
part in turn runs in a new process and a new directory, and measures once. Prints medians, spread and a line RESULT for
each requirement:

held       time in write and close, over that of memcpy of the same bytes into touched memory, in a process that has
           saved before; held.first: in the first save of a process, whose memory is new
hidden     part of a synchronous save that computing of 1.2 times its duration hides; hidden.after: part of what follows
           the close, for which the time held counts on neither side
slowdown   rate of a compute loop alone over that beside a save, each with a core
bandwidth  background save until it is durable, relative to pwrite, fsync and rename
repeat     memory, descriptors and threads after the last saves, over those after the second, when a larger save has
           been there before

One core must be left to the background: the parts need two. --keep-memory (root): a virtual machine does not return
free pages to its host, which makes their next use slow."""
import argparse
import collections
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
from bench_pairs import file_system, kept_memory  # noqa: E402

PARTS = ("held", "hidden", "slowdown", "bandwidth", "repeat")


def run_once(args, part, parent, number):
    """Returns {name: [value of each line]} of one process."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-bench.", dir=parent))
    command = [args.bin / "bench_async", part, directory, "--piece", args.piece, "--words", args.words]
    command += ["--bytes", args.repeat_bytes if part == "repeat" else args.bytes, "--saves", args.saves]
    command += ["--plain-first"] if number % 2 else []
    try:
        found = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if found.returncode != 0:
        sys.exit(f"{part} failed:\n{found.stdout}{found.stderr}")
    os.sync()  # leaves no work of this run to the next one
    values = collections.defaultdict(list)
    for line in found.stdout.splitlines():
        word, *rest = line.split()
        if word == "VALUE":
            values[rest[0]].append(float(rest[1]))
    return values


def growth(values):
    """Returns the maximum after the second save, over the value after the second."""
    return max(values[1:]) / values[1]


def hidden(values, without=0):
    """Returns the hidden part of the save of one run. `without`: seconds of both that do not count."""
    return 1 - (values["all"][0] - without - values["computing_alone"][0]) / (values["synchronous"][0] - without)


# Row: part, ratio of one run, what is compared (ours, peer), limit, whether larger is better.
ROWS = {
    "async.held": ("held", lambda v: v["held_later"][0] / v["memcpy_later"][0], ("held_later", "memcpy_later"), 1.1, False),
    "async.held.first": ("held", lambda v: v["held_first"][0] / v["memcpy_first"][0], ("held_first", "memcpy_first"), 0, False),
    "async.hidden": ("hidden", hidden, ("all", "synchronous"), 0.95, True),
    "async.hidden.after": ("hidden", lambda v: hidden(v, v["held"][0]), ("all", "synchronous"), 0, True),
    "async.slowdown": ("slowdown", lambda v: v["slowdown"][0], ("rate_beside", "rate_before"), 1.02, False),
    "async.bandwidth": ("bandwidth", lambda v: v["plain"][0] / v["background"][0], ("background", "plain"), 0.95, True),
    "async.memory": ("repeat", lambda v: growth(v["memory"]), ("memory", "memory"), 1.01, False),
    "async.descriptors": ("repeat", lambda v: growth(v["descriptors"]), ("descriptors", "descriptors"), 1, False),
    "async.threads": ("repeat", lambda v: growth(v["threads"]), ("threads", "threads"), 1, False),
}


# On a file system in memory a save takes hardly longer than the copy of the bytes.
OF_DISKS = ("async.hidden", "async.bandwidth")


def show(name, fs, runs):
    _, ratio_of, (ours, peer), limit, larger = ROWS[name]
    if name in OF_DISKS and fs in ("tmpfs", "ramfs"):
        limit = 0
    ratios = [ratio_of(values) for values in runs]
    middle = statistics.median(ratios)
    target, passes = "-", "-"
    if limit:
        target = f"{'>=' if larger else '<='}{limit:g}"
        passes = "yes" if (middle >= limit if larger else middle <= limit) else "no"
    means = [statistics.median(values[key][-1] for values in runs) for key in (ours, peer)]
    print(f"RESULT name={name} fs={fs} ratio={middle:.4g} min={min(ratios):.4g} max={max(ratios):.4g} "
          f"ours={means[0]:.4g} peer={means[1]:.4g} target={target} pass={passes}", flush=True)
    return {"name": name, "fs": fs, "ratios": ratios, "median": middle, "target": target, "pass": passes}


def measure(args, parts):
    rows = []
    for parent in args.dir.split(","):
        found = collections.defaultdict(list)
        for number in range(args.runs):
            for part in parts:
                values = run_once(args, part, parent, number)
                found[part].append(values)
                print(f"  {part:10} run {number + 1:2d}  "
                      + "  ".join(f"{name} {value[-1]:.5g}" for name, value in values.items()), flush=True)
        fs = file_system(parent)
        for name, (part, *_) in ROWS.items():
            if part in parts:
                rows.append(show(name, fs, found[part]) | {"runs": found[part], "bytes": args.bytes, "piece": args.piece})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default=".")
    parser.add_argument("--bytes", default="1G")
    parser.add_argument("--repeat-bytes", default="64M", help="of each save of the part repeat")
    parser.add_argument("--piece", default="16M")
    parser.add_argument("--words", default="", help="of the open mode")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--saves", type=int, default=30)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--keep-memory", action="store_true")
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path(os.environ.get("SHEAF_BIN", here.parent / "build/bin")))
    args = parser.parse_args()
    with kept_memory(args.keep_memory):
        rows = measure(args, args.parts.split(","))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
