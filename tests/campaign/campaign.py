#!/usr/bin/env python3
"""Runs the fault campaign (docs/testing.md, "Fault campaign"): random programs over every interface, each with
one failure. One oracle checks the files of all programs.

Interfaces that run on fibers in one process are tests of test_campaign. The other interfaces have programs in
this directory, which run as real processes with failing system calls (tests/crash/failing_calls.c). Finally,
images.py checks copies of disks that are taken while programs write.

The state file records the finished cases, so that they do not run again. The exit code is 1 if any case has a
violation."""
from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import sys
import time

import images
from processes import BIN, HERE, INTERFACES, Skipped, run_quietly

FIBERS = {"fiber-serial": "Sion/Campaign.*/serial", "fiber-parallel": "Sion/Campaign.*/parallel", "fiber-mapped": "Sion/Campaign.*/mapped",
          "fiber-collective": "Sion/Campaign.*/collective", "fiber-merged": "Sion/Campaign.*/merged",
          "fiber-keyval": "Sion/Campaign.*/keyval", "fiber-compressed": "Sion/Campaign.*/compressed",
          "fiber-mpiio": "MpiIo/*/blocking", "fiber-mpiio-nonblocking": "MpiIo/*/nonblocking", "fiber-streams": "StreamsCampaign.*",
          "fiber-striped": "StripedCampaign.*"}
IMAGES = {f"images-{kind}": kind for kind in images.KINDS}
ALL = [*FIBERS, *INTERFACES, *IMAGES]
CHUNK = {"fibers": 500, "processes": 10, "images": 5}
SECONDS_PER_CHUNK = 1800


def kind_of(name: str) -> str:
    return "fibers" if name in FIBERS else "images" if name in IMAGES else "processes"


def repeat(name: str, seed: int) -> str:
    """Returns the command that repeats a case."""
    if name in FIBERS:
        return f"SHEAF_CAMPAIGN_SEED={seed} {os.path.relpath(BIN / 'test_campaign')} --gtest_filter='{FIBERS[name]}'"
    return f"SHEAF_BIN={os.path.relpath(BIN)} python3 -B {os.path.relpath(HERE / 'campaign.py')} --interface {name} --seed {seed}"


def run_fibers(name: str, seeds: list[int]) -> dict[int, str]:
    """Runs these seeds and returns their violations."""
    environment = {"SHEAF_CAMPAIGN_STOP": "0", "SHEAF_CAMPAIGN_FIRST": str(seeds[0]), "SHEAF_CAMPAIGN_CASES": str(seeds[-1])}
    done = run_quietly([BIN / "test_campaign", "--gtest_brief=1", f"--gtest_filter={FIBERS[name]}"], environment, SECONDS_PER_CHUNK)
    found = {}
    for line in done.output.splitlines():
        if line.startswith("SHEAF_CAMPAIGN_SEED="):
            seed, _, what = line.partition("=")[2].partition(": ")
            found[int(seed)] = what
    if done.code != 0 and not found:
        found[seeds[0]] = f"test_campaign ended with {done.code}: {done.output[-500:]}"
    return found


def run_chunk(name: str, seeds: list[int]) -> dict[int, str]:
    if name in FIBERS:
        return run_fibers(name, seeds)
    if name in IMAGES:
        return images.run(IMAGES[name], seeds)
    return INTERFACES[name].run(seeds)


class State:
    """The finished seeds of each interface and their violations, stored in a file."""

    def __init__(self, path: pathlib.Path | None) -> None:
        self.path = path
        self.done: dict[str, list[int]] = {}
        self.violations: dict[str, dict[str, str]] = {}
        self.skipped: dict[str, str] = {}
        if path and path.exists():
            found = json.loads(path.read_text())
            # Seeds with a violation run again.
            self.done = {name: [seed for seed in seeds if str(seed) not in found["violations"].get(name, {})]
                         for name, seeds in found["done"].items()}

    def left(self, name: str, seeds: range) -> list[int]:
        done = set(self.done.get(name, []))
        return [seed for seed in seeds if seed not in done]

    def add(self, name: str, seeds: list[int], found: dict[int, str]) -> None:
        self.done[name] = sorted({*self.done.get(name, []), *seeds})
        for seed, what in found.items():
            self.violations.setdefault(name, {})[str(seed)] = what
        if self.path:
            beside = self.path.with_suffix(".new")
            beside.write_text(json.dumps({"done": self.done, "violations": self.violations}))
            beside.replace(self.path)


def chunks_of(name: str, seeds: list[int]) -> list[list[int]]:
    """Divides the seeds into chunks of consecutive numbers."""
    most = CHUNK[kind_of(name)]
    parts: list[list[int]] = []
    for seed in seeds:
        if parts and len(parts[-1]) < most and parts[-1][-1] == seed - 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    return parts


def count_of(options: argparse.Namespace, name: str) -> int:
    if options.short:
        return 0 if kind_of(name) != "processes" else INTERFACES[name].short_runs
    return {"fibers": options.cases, "processes": options.runs, "images": options.images}[kind_of(name)]


def take_turns(work: dict[str, list[list[int]]]) -> list[tuple[str, list[int]]]:
    """Returns all chunks, one of each interface in turn, so that an interrupted campaign has covered all
    interfaces."""
    order = []
    for turn in range(max(map(len, work.values()), default=0)):
        order += [(name, parts[turn]) for name, parts in work.items() if turn < len(parts)]
    return order


def campaign(options: argparse.Namespace, state: State) -> None:
    names = options.interface or ALL
    first = 1 if options.seed is None else options.seed
    work = {}
    for name in names:
        count = 1 if options.seed is not None else count_of(options, name)
        work[name] = chunks_of(name, state.left(name, range(first, first + count)))
    shows = sys.stderr.isatty()
    deadline = time.monotonic() + options.hours * 3600
    order = take_turns(work)

    def one(name: str, seeds: list[int]) -> tuple[str, list[int], dict[int, str] | None]:
        if time.monotonic() > deadline or name in state.skipped:
            return name, seeds, None
        try:
            return name, seeds, run_chunk(name, seeds)
        except Skipped as why:
            state.skipped[name] = str(why)
            return name, seeds, None

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, future in enumerate(concurrent.futures.as_completed([pool.submit(one, *item) for item in order])):
            name, seeds, found = future.result()
            if found is None:
                continue
            state.add(name, seeds, found)
            for seed, what in found.items():
                print(f"{name} {seed}: {what}\n    {repeat(name, seed)}", flush=True)
            if shows:
                print(f"\r{number + 1} of {len(order)} parts, {sum(map(len, state.violations.values()))} violations ", end="",
                      file=sys.stderr, flush=True)
    if shows:
        print(file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--interface", action="append", choices=ALL, metavar="NAME", help=f"only this one: {', '.join(ALL)}")
    parser.add_argument("--cases", type=int, default=10000, help="of each interface on fibers")
    parser.add_argument("--runs", type=int, default=300, help="of each interface with processes")
    parser.add_argument("--images", type=int, default=500, help="of each file system")
    parser.add_argument("--seed", type=int, help="only this case")
    parser.add_argument("--state", type=pathlib.Path, help="what is done is kept here, and not done again")
    parser.add_argument("--hours", type=float, default=3, help="no case begins after so long")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    parser.add_argument("--short", action="store_true", help="a few runs of each interface with processes")
    parser.add_argument("--json", action="store_true", help="the results for programs")
    options = parser.parse_args()
    state = State(options.state)
    campaign(options, state)
    names = [name for name in options.interface or ALL if state.done.get(name) or name in state.skipped]
    rows = [{"interface": name, "cases": len(state.done.get(name, [])), "violations": len(state.violations.get(name, {})),
             "skipped": state.skipped.get(name)} for name in names]
    if options.json:
        print(json.dumps({"interfaces": rows, "violations": state.violations}, indent=1))
    else:
        print(f"{'interface':26} {'cases':>7} {'violations':>10}")
        for row in rows:
            print(f"{row['interface']:26} {row['cases']:7} {row['violations']:10}{'  skipped: ' + row['skipped'] if row['skipped'] else ''}")
    return 1 if any(row["violations"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
