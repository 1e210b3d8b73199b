"""Figures of "High performance file I/O for the Blue Gene/L supercomputer": file domains, IOR, the best bandwidths."""

from __future__ import annotations

from .bluegene_causes import best
from .bluegene_runs import (
    LARGEST,
    MB,
    MIB,
    P,
    PAPER,
    coll_perf,
    counts,
    dumps_of_bt,
    flash,
    homme,
    ior,
    patterns_here,
    rates,
)
from .judging import at_least, claim, near
from .registry import figure, measured, result
from .running import Runner, curve, middle, panel, table


@figure("bluegene-2", PAPER, "balanced and aligned file domains")
def figure_2(run: Runner) -> dict:
    tasks = 256
    blocks = (
        [64, 128, 256, 300, 384, 512, 520, 640, 768, 900, 1024]
        if run.quick
        else [64, 128, 192, 256, 260, 320, 384, 448, 512, 520, 640, 768, 896, 1024, 1030, 1280, 1536, 2048]
    )
    curves = []
    for name, off in (("aligned", ""), ("balanced", "aligned")):
        found = [(n, rates(run, "domains", n * MIB, tasks=tasks, points=n, off=off)["write"]) for n in blocks]
        curves.append(curve(name, found, "modelled"))
    aligned, balanced = (dict(zip(blocks, one["y"])) for one in curves)
    busy = [n for n in blocks if n >= tasks]
    shared = [n for n in busy if n % tasks]
    return result(
        [panel("modelled, 256 tasks, 32 I/O nodes, write", "blocks of 1 MiB", "MB/s", curves)],
        claims=[
            claim(
                "aligned file partitioning outperforms balanced file partitioning (3.4)",
                [at_least(f"{n} blocks: aligned over balanced", 1, aligned[n] / balanced[n]) for n in shared],
            ),
            claim(
                "its performance stays flat, except when some of the I/O nodes have no work to do",
                [
                    near(
                        f"{n} blocks over the median",
                        1,
                        aligned[n] / sorted(aligned[m] for m in busy)[len(busy) // 2],
                        "",
                    )
                    for n in busy
                ],
            ),
        ],
    )


@measured
def ior_here(run: Runner) -> list[dict]:
    names = {
        "contiguous": "contiguous",
        "contiguous-independent": "contiguous, independent",
        "strided-1048576": "strided",
    }
    points: dict[tuple[str, str], list] = {}
    for pattern, name in names.items():
        for tasks in (1, 2, 4) if run.quick else (1, 2, 4, 8):
            total = 16 * MIB * (1 if pattern.startswith("strided") else tasks)
            for phase, seconds in patterns_here(run, tasks, pattern, {}).items():
                points.setdefault((name, phase), []).append((tasks, middle([total / MB / one for one in seconds])))
    return [
        panel(
            f"{run.here()}, {phase}",
            "tasks",
            "MB/s",
            [curve(name, points[name, phase], "measured") for name in names.values()],
        )
        for phase in ("write", "read")
    ]


@figure("bluegene-3", PAPER, "IOR: the base line")
def figure_3(run: Runner) -> dict:
    tasks = counts(run, cheap=True)
    found = {
        name: {n: ior(run, n, name) for n in tasks}
        for name in (
            "POSIX, a file per task",
            "POSIX, one file",
            "contig. non-coll.",
            "contig. coll.",
            "non-contig. non-coll.",
            "non-contig. coll.",
        )
    }
    panels = []
    for phase in ("write", "read"):
        curves = [
            curve(name, [(n, one[phase]) for n, one in points.items()], "modelled") for name, points in found.items()
        ]
        curves.append(curve("limit of one file", [(LARGEST, P["limits"][phase])], "paper"))
        panels.append(panel(f"modelled, {phase}", "tasks (8 of an I/O node)", "MB/s", curves))
    posix = found["POSIX, one file"]
    shared = [name for name in found if "contig." in name]
    return result(
        [*panels, ior_here(run)],
        claims=[
            claim(
                "100 MB/s of each I/O node, up to about 256 compute nodes (5.2)",
                [near(f"{n} tasks, write", 100, posix[n]["write"] / (n / 8)) for n in tasks if n < 256],
            ),
            claim(
                "then it flats out, at 2.0 GB/s for writing and 2.6 GB/s for reading (5.1)",
                [
                    near(f"{n} tasks, {phase}", P["limits"][phase], posix[n][phase])
                    for n in tasks
                    if n >= 256
                    for phase in ("write", "read")
                ],
            ),
            claim(
                "MPI-IO is fairly close to POSIX",
                [
                    near(
                        f"{LARGEST} tasks, {name}, {phase}, over POSIX",
                        1,
                        found[name][LARGEST][phase] / posix[LARGEST][phase],
                        "",
                    )
                    for name in shared
                    for phase in ("write", "read")
                ],
            ),
        ],
    )


@figure("bluegene-table2", PAPER, "the best bandwidths")
def table_2(run: Runner) -> dict:
    tasks = counts(run)
    found = {
        "IOR": [ior(run, n, "contig. coll.") for n in counts(run, cheap=True)],
        "coll_perf": [coll_perf(run, n) for n in tasks],
        "BT-IO": [dumps_of_bt(run, n, "") for n in counts(run, square=True)],
        "FLASH, HDF5": [flash(run, n, "checkpoint") for n in tasks],
        "HOMME": [homme(run, n) for n in tasks],
    }
    rows, cells = [], []
    for name, values in found.items():
        top = {
            phase: max(one[phase] for one in values if phase in one)
            for phase in ("write", "read")
            if phase in values[0]
        }
        printed = P["table 2"][name]
        rows.append(
            [
                name,
                *(f"{top[phase]:.0f}" if phase in top else "" for phase in ("write", "read")),
                *(printed.get(phase, "") for phase in ("write", "read")),
            ]
        )
        cells += [
            near(f"{name}, {phase}", printed[phase], top[phase], cause=best(run, name, phase)) for phase in printed
        ]
    return result(
        tables=[
            table(
                f"modelled, the best of up to {max(tasks)} tasks, MB/s",
                ["program", "write", "read", "paper write", "paper read"],
                rows,
            )
        ],
        claims=[claim("the best bandwidths of collective calls with up to 1,024 tasks (table 2)", cells)],
    )
