#!/usr/bin/env python3
"""bench_hosts.py [--fs gluster-strict] [--runs 3] [--tasks 6] [--placement round] [--only NAME,...]
[--who NAME,...] [--rate RATE] [--json FILE]

Runs the patterns of the Blue Gene/L paper on three hosts (tests/cluster), with Open MPI's own I/O (ompio, romio321) and
with the drop-in. The same binary runs with each in turn, once per run on a new file. The phase `whole` includes opening
and closing. Prints a line per pattern and phase: medians, spread, and the ratio to the faster peer. A peer that fails
or reads wrong bytes is not counted.

With --rate (200mbit), the links of the hosts are limited to RATE, or to less until a plain copy reaches 90 % of it.
Writing and reading are then separate jobs, closing included, and each host reads bytes that a different host wrote. A
peer that writes other bytes is not counted. Prints also the idle share of the processors, the bytes and packets on each
link, and the bytes that must cross the busiest link (floor). Root only; requires scripts/install-deps.sh cluster."""
import argparse
import json
import pathlib
import statistics
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "tests" / "cluster"))
import hosts_at_rate  # noqa: E402
from context import BIN, LIB, Context  # noqa: E402
from filesystems import ALL  # noqa: E402
from links import bits_per_second  # noqa: E402
from rack import TimedOut  # noqa: E402

PATTERNS = ("coll_perf", "contiguous", "contiguous-65536", "contiguous-independent", "strided-4096", "strided-40000",
            "irregular-1024", "view", "e3sm")
PEERS = {"ompio": ["OMPI_MCA_io=ompio"], "romio": ["OMPI_MCA_io=romio321"]}
OURS = {"sheaf": [f"LD_PRELOAD={LIB}/libsheaf_mpiio.so"]}


def run(context, args, name, settings):
    """Returns the seconds of each phase; empty if the run failed or found wrong bytes."""
    program = ["env", *settings, BIN / "mpiio_patterns_openmpi", name, context.directory() / "data", 1]
    try:
        code, output = context.mpirun(args.tasks, program, args.placement, timeout=args.patience)
    except TimedOut:
        return {}
    if code != 0 or "WRONG" in output:
        return {}
    words = [line.split() for line in output.splitlines() if line.startswith("TIME ")]
    return {phase: float(seconds) for _, phase, seconds in words}


def compare(context, args, name):
    """Runs all implementations in turn and prints a row per phase."""
    found = {who: {} for who in [*OURS, *PEERS]}
    for _ in range(args.runs):
        for who, settings in (PEERS | OURS).items():
            for phase, seconds in run(context, args, name, settings).items():
                found[who].setdefault(phase, []).append(seconds)
    rows = []
    for phase in ("write", "read", "whole"):
        times = {who: phases[phase] for who, phases in found.items() if phase in phases}
        row = {"fs": context.fs.name, "pattern": name, "phase": phase, "tasks": args.tasks,
               "placement": args.placement, "seconds": times}
        peers = [statistics.median(times[who]) for who in PEERS if who in times]
        if peers and "sheaf" in times:
            row["ratio"] = statistics.median(times["sheaf"]) / min(peers)
        rows.append(row)
    return rows


def show(row):
    text = f"{row['fs']:15}{row['pattern'] + ' ' + row['phase']:32}"
    for who, times in row["seconds"].items():
        text += f"  {who} {statistics.median(times):.3f} s ({min(times):.3f} to {max(times):.3f})"
    print(text + (f"  ratio {row['ratio']:.2f}" if "ratio" in row else "  no ratio"), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fs", action="append", choices=list(ALL))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=6)
    parser.add_argument("--placement", choices=("round", "block"), default="round")
    parser.add_argument("--only", help="patterns (bench/mpiio/patterns.cpp)")
    parser.add_argument("--who", default=",".join([*OURS, *PEERS]), help="implementations, with --rate")
    parser.add_argument("--rate", type=bits_per_second, help="of the links, such as 200mbit")
    parser.add_argument("--patience", type=float, default=120, help="seconds that a run may take")
    parser.add_argument("--json", type=pathlib.Path, help="a file for all times")
    args = parser.parse_args()
    rows = []
    for fs in args.fs or ["gluster-strict", "moosefs"]:
        if ALL[fs].missing():
            print(f"{fs}: skipped, {ALL[fs].missing()}")
            continue
        context = Context.of(fs)
        try:
            default = hosts_at_rate.PATTERNS if args.rate else PATTERNS
            names = args.only.split(",") if args.only else default
            if args.rate:
                implementations = {who: (OURS | PEERS)[who] for who in args.who.split(",")}
                rows += hosts_at_rate.measure(context, args, args.rate, names, implementations)
                continue
            for name in names:
                for row in compare(context, args, name):
                    show(row)
                    rows.append(row)
        finally:
            context.rack.down()
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if rows else 77


if __name__ == "__main__":
    sys.exit(main())
