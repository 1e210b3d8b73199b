#!/usr/bin/env python3
"""Repeats the figures and tables of the four papers that Sheaf is based on: on this machine, and on modelled machines.

    paper.py list                 the available figures
    paper.py sc09-3 jugene-7      selected figures
    paper.py sc09                 all of one paper
    paper.py all --quick          all, with less data: at most a quarter of an hour

Every figure writes NAME.json (all values with their spread) and NAME.png (the paper's form, its printed values as
stars, the verdicts) to --out, and prints the verdict on each statement of the paper. index.html there has all
figures. docs/experiments.md explains the models."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import platform
import resource
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from figures import (  # noqa: E402,F401
    sc09,
    sc09_bandwidth,
    sc09_cases,
    jugene_node,
    jugene,
    bluegene,
    bluegene_programs,
    sfio,
)
from figures.judging import FAILS, HOLDS, sentence, tally, verdict  # noqa: E402
from figures.page import write_page  # noqa: E402
from figures.registry import FIGURES  # noqa: E402
from figures.running import Missing, Programs, Runner  # noqa: E402


def chosen(names: list[str]) -> list[str]:
    """Returns figures by name, by paper, or all; in the order of the papers."""
    for name in names:
        if name not in ("all", "list") and not any(
            figure == name or figure.startswith(name + "-") for figure in FIGURES
        ):
            sys.exit(f"paper.py: no figure and no paper is called '{name}'; `paper.py list` shows them")
    return [
        figure
        for figure in FIGURES
        if "all" in names or any(figure == name or figure.startswith(name + "-") for name in names)
    ]


def file_system_of(directory: pathlib.Path) -> str:
    done = subprocess.run(["stat", "-f", "-c", "%T", str(directory)], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def draw(result: dict, path: pathlib.Path) -> None:
    """Draws with this Python, or with the system's Python, for which Debian has the package, if this is
    another one."""
    try:
        from figures.drawing import draw as draw_picture
    except ImportError:
        command = ["/usr/bin/python3", "-B", "-m", "figures.drawing", str(path)]
        try:
            done = subprocess.run(command, input=json.dumps(result), text=True, capture_output=True, cwd=HERE)
        except FileNotFoundError:
            done = None
        if done is None or "No module named 'matplotlib'" in done.stderr:
            raise Missing(
                "matplotlib is not there (Debian: python3-matplotlib): no pictures; --no-pictures does without"
            ) from None
        if done.returncode != 0:
            raise RuntimeError(f"drawing {path} failed:\n{done.stderr[-2000:]}") from None
        return
    draw_picture(result, path)


def processor_seconds() -> float:
    """Returns the processor seconds, user and system, of this program and its child processes."""
    return sum(
        one.ru_utime + one.ru_stime for one in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=pathlib.Path(sys.argv[0]).name, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figures", nargs="+", metavar="FIGURE", help="a figure, a paper, all, or list")
    parser.add_argument("--quick", action="store_true", help="fewer points, less data, fewer runs")
    parser.add_argument(
        "--dir", type=pathlib.Path, default=pathlib.Path("."), help="where files are written while measuring [.]"
    )
    parser.add_argument(
        "--out", type=pathlib.Path, default=pathlib.Path("figures"), help="where results and pictures go [figures]"
    )
    parser.add_argument(
        "--simulated", action="store_true", help="only what modelled machines show: nothing is measured here"
    )
    parser.add_argument(
        "--hosts", action="store_true", help="measure on the three hosts of make cluster-test (root, source tree)"
    )
    parser.add_argument(
        "--fs", default="ext4", help="the file system of these: ext4, fuse2, ... (cluster_test.py --fs) [ext4]"
    )
    parser.add_argument(
        "--build",
        type=pathlib.Path,
        help="a build of Sheaf with its tests [build of the source tree, or the installation]",
    )
    parser.add_argument("--no-pictures", action="store_true", help="results as JSON only")
    return parser.parse_args()


def make(name: str, place: str, run: Runner, args: argparse.Namespace, about: dict) -> bool:
    """Makes a figure. `place`: its position, such as 3/12. Returns False if a part of the figure is
    missing or failed, or if a cell does not hold and no run confirms its cause."""
    figure = FIGURES[name]
    run.figure = f"{place} {name}"
    began, used = time.monotonic(), processor_seconds()
    try:
        result = {"name": name, "paper": figure.paper, "title": figure.title, **about, **figure.make(run)}
        (args.out / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
        if not args.no_pictures:
            draw(result, args.out / f"{name}.png")
    except (Missing, RuntimeError, subprocess.TimeoutExpired) as problem:
        run.say("")
        print(f"{place} {name}: not made: {problem}", flush=True)
        return False
    run.say("")
    if sys.stderr.isatty():
        sys.stderr.write("\r")
    print(
        f"{place} {name}: {figure.paper}, {figure.title} "
        f"({time.monotonic() - began:.0f} s, {processor_seconds() - used:.0f} s of processors)",
        flush=True,
    )
    for one in result["claims"]:
        print(f"  {verdict([one])} ({tally([one])[HOLDS]} of {len(one['cells'])} cells): {one['what']}", flush=True)
        for cell in one["cells"]:
            if cell["verdict"] != HOLDS:
                print(f"    {cell['verdict']}: {sentence(cell)}", flush=True)
    return verdict(result["claims"]) != FAILS


def main() -> int:
    args = arguments()
    names = chosen(args.figures)
    if "list" in args.figures:
        for name, figure in FIGURES.items():
            print(f"{name:16} {figure.paper}: {figure.title}")
        return 0
    for directory in (args.dir, args.out):
        directory.mkdir(parents=True, exist_ok=True)
    args.dir, args.out = args.dir.resolve(), args.out.resolve()
    about = {
        "form": "quick" if args.quick else "full",
        "date": datetime.date.today().isoformat(),
        "command": " ".join(sys.argv),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        "file_system": args.fs if args.hosts else file_system_of(args.dir),
        "hosts": 3 if args.hosts else 1,
    }
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no files remain
    try:
        run = Runner(Programs(args.build), args.dir, args.quick, args.fs if args.hosts else "", not args.simulated)
    except Missing as problem:
        sys.exit(f"paper.py: {problem}")
    try:
        places = [f"[{number}/{len(names)}]" for number in range(1, len(names) + 1)]
        wrong = [name for name, place in zip(names, places) if not make(name, place, run, args, about)]
    except KeyboardInterrupt:
        return 130
    finally:
        run.close()
        print(f"page: {write_page(args.out, FIGURES)}")
    if wrong:
        print("not as it should be: " + ", ".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
