#!/usr/bin/env python3
"""Runs the library on three hosts made of namespaces, over several file systems
(docs/testing.md, Several hosts).

    cluster_test.py [--quick] [--fs NAME]... [--case PATTERN]... [--json FILE] [--seconds N]
    cluster_test.py --long COUNT [--first N] [--fs NAME]...     COUNT random MPI-IO cases
    cluster_test.py --rounds COUNT [--first N] [--fs NAME]... [--case PATTERN]...
                                                 kills a host COUNT times for each way of writing
    cluster_test.py --list
    cluster_test.py up FS [NAME]; run NAME HOST|mpirun COMMAND...; down NAME      a cluster for manual tests

Exit code: 0 if only cases of known.py fail, 1 if others fail, 77 if no case can run on this machine.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import shutil
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import capture_cases  # noqa: E402, F401
import cases  # noqa: E402
from context import BIN, LIB, Context, Wrong  # noqa: E402
from filesystems import ALL  # noqa: E402
from known import KNOWN  # noqa: E402
from rack import Rack, TimedOut  # noqa: E402

# The most important cases come first, because a run with --seconds may end before the last ones.
QUICK = {
    "fuse2": [
        "modes/plain/round",
        "modes/bare/round",
        "modes/collective-large/round",
        "modes/files-node/round",
        "names/remade",
        "tools/files",
    ],
    "gluster-strict": [
        "modes/plain/round",
        "modes/collective-large/round",
        "names/known",
        "mpiio/sync-read/round",
        "mpiio/generated/0",
    ],
    "ext4": ["modes/plain/block", "mpiio/generated/0", "lost/tasks/plain/0"],
}
QUICK_SECONDS = 140


def cannot() -> str:
    if os.geteuid() != 0:
        return "not root"
    for program in ("unshare", "nsenter", "ip", "mpirun.openmpi"):
        if not shutil.which(program):
            return f"no {program}"
    for file in (
        BIN / "cluster_modes",
        BIN / "mpiio_differential_openmpi",
        BIN / "kill_check",
        LIB / "libsheaf_mpiio.so",
        LIB / "sheaf/libsheaf_mpiio_openmpi.so",
    ):
        if not file.exists():
            return f"no {file}: not built with Open MPI and -DSHEAF_TESTS=ON"
    if os.system("unshare --net --mount --pid --uts --ipc --fork true 2>/dev/null") != 0:
        return "namespaces are not allowed here"
    return ""


def known(fs: str, name: str) -> tuple[str, str] | None:
    return next(
        (
            (how, why)
            for on, what, how, why in KNOWN
            if fnmatch.fnmatch(fs, on) and fnmatch.fnmatch(name, what)
        ),
        None,
    )


def one(context: Context, name: str) -> dict:
    """Runs a case and records its result: passed, failed, expected (failed as listed in known.py) or mended
    (passed, although known.py lists it)."""
    began = time.time()
    problem = ""
    try:
        cases.ALL[name](context)
    except (Wrong, TimedOut, RuntimeError) as error:
        problem = str(error).strip()
    finally:
        context.rack.sweep()
    entry = known(context.fs.name, name)
    result = "passed"
    if problem:
        result = "expected" if entry else "failed"
    elif entry and entry[0] == "always":
        result = "mended"
    return {
        "fs": context.fs.name,
        "case": name,
        "result": result,
        "seconds": round(time.time() - began, 1),
        "found": problem,
    }


def show(row: dict) -> None:
    if sys.stdout.isatty():
        print("\r\033[K", end="")
    text = f"{row['result']:9}{row['fs']:15}{row['case']:34}{row['seconds']:6.1f} s"
    if row["found"]:
        text += f"\n          {row['found']}"
    if row["result"] == "mended":
        text += "\n          passes now: take it off the list in known.py"
    print(text, flush=True)


def run(arguments: argparse.Namespace) -> int:
    rows, skipped = [], []
    end = time.time() + (arguments.seconds or (QUICK_SECONDS if arguments.quick else 10**9))
    for fs, kind in ALL.items():
        if (
            arguments.fs
            and fs not in arguments.fs
            or arguments.quick
            and not arguments.fs
            and fs not in QUICK
        ):
            continue
        wanted = QUICK.get(fs, []) if arguments.quick else ["*"]
        wanted = [
            name
            for name in arguments.series or cases.ALL
            if any(fnmatch.fnmatch(name, pattern) for pattern in arguments.case or wanted)
        ]
        if kind.missing():
            print(f"{fs}: skipped, {kind.missing()}")
            continue
        context = None
        try:
            for name in wanted:
                if time.time() > end:
                    skipped.append(f"{fs} {name}")
                    continue
                if context is None:
                    context = Context.of(fs)
                if sys.stdout.isatty():
                    print(f"\r\033[K{len(rows)} done; {fs} {name} ...", end="", flush=True)
                rows.append(one(context, name))
                show(rows[-1])
        finally:
            if context:
                context.rack.down()
    if arguments.json:
        pathlib.Path(arguments.json).write_text(
            json.dumps({"cases": rows, "not_run": skipped}, indent=1) + "\n"
        )
    counts = {
        result: sum(row["result"] == result for row in rows)
        for result in ("passed", "expected", "failed", "mended")
    }
    print(
        f"{len(rows)} cases: "
        + ", ".join(f"{count} {result}" for result, count in counts.items())
        + (f"; {len(skipped)} not run for lack of time" if skipped else "")
    )
    if not rows:
        return 77
    # A short run may miss a failure that depends on a race.
    return 1 if counts["failed"] or (counts["mended"] and not arguments.quick) else 0


def by_hand(words: list[str]) -> int:
    """Carries out the commands up, run and down."""
    if words[0] == "up":
        kind = ALL.get(words[1])
        problem = kind.missing() if kind else f"it is none of {', '.join(ALL)}"
        if problem:
            print(f"{words[1]}: {problem}", file=sys.stderr)
            return 77
        name = words[2] if len(words) > 2 else "kept"
        rack = Rack(3, True, name)
        rack.up()
        kind(rack).up()
        rack.ready()
        (rack.state / "kept").touch()
        print(f"hosts {' '.join(rack.hosts)} share {rack.shared}")
        return 0
    rack = Rack.kept(words[1])
    if words[0] == "down":
        rack.down()
        return 0
    command = words[3:]
    if words[2] == "mpirun":
        full = Context(rack, ALL["ext4"](rack)).command(int(command[0]), command[1:])
    else:
        full = [*rack.enter(), str(rack.state / "rsh"), words[2], *command]
    return os.spawnvp(os.P_WAIT, full[0], full)


def main() -> int:
    if len(sys.argv) > 2 and sys.argv[1] in ("up", "run", "down"):
        return by_hand(sys.argv[1:])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="what `make test` runs: three minutes at most")
    parser.add_argument("--fs", action="append", choices=list(ALL))
    parser.add_argument("--case", action="append", help="a pattern, as modes/*/round")
    parser.add_argument("--json", help="a file for the results")
    parser.add_argument("--seconds", type=float, help="begin no case later than that")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--long", type=int, metavar="COUNT", help="the cases mpiio/long/*, so many of them")
    parser.add_argument(
        "--rounds", type=int, metavar="COUNT", help="the cases lost/tasks/*, so many in each way of writing"
    )
    parser.add_argument("--first", type=int, default=0, help="of them")
    arguments = parser.parse_args()
    if arguments.long and arguments.rounds:
        parser.error("--long or --rounds, not both")
    arguments.series = []
    if arguments.long:
        arguments.series = cases.add_long(arguments.first, arguments.long)
    if arguments.rounds:
        arguments.series = cases.add_rounds(arguments.first, arguments.rounds)
    if arguments.list:
        print("\n".join(cases.ALL))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the rack is removed
    why = cannot()
    if why:
        print(f"several hosts: skipped, {why}")
        return 77
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
