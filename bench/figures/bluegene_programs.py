"""Figures of the Blue Gene/L paper: BT-IO, coll_perf, FLASH, HOMME."""

from __future__ import annotations

import functools

from .bluegene_causes import TURNS, best, gain_of_bt, growth_of_loss, in_turns, layout_of_homme, loss_of_bt
from .bluegene_runs import (
    CONFIGURATIONS,
    EXCHANGE,
    KINDS,
    LARGEST,
    OVERLAPPED,
    MB,
    MIB,
    P,
    PAPER,
    bt_points,
    coll_perf,
    counts,
    dumps_of_bt,
    flash,
    homme,
    patterns_here,
    printed,
    rates,
)
from .judging import at_least, at_most, between, claim, near
from .registry import figure, measured, result
from .running import Runner, curve, middle, panel


@measured
def bt_here(run: Runner) -> list[dict]:
    panels = []
    for letter, points in (("A", 64),) if run.quick else (("A", 64), ("B", 102), ("C", 162)):
        curves = []
        for name, off in CONFIGURATIONS.items():
            # Tasks that share memory need no messages, so every task counts as a host here, as on the paper's
            # machine.
            words = ",".join([*filter(None, off.split(",")), "shared"])
            more = {
                "SHEAF_MPIIO_OFF": words,
                "SHEAF_TOPOLOGY": "node=1",
                "SHEAF_CB_WRITE": "enable",
                "SHEAF_CB_READ": "enable",
                "SHEAF_EXCHANGE": EXCHANGE,
            }
            values = [
                (
                    tasks,
                    middle(
                        [points**3 * 40 / MB / one for one in patterns_here(run, tasks, f"bt-{letter}", more)["write"]]
                    ),
                )
                for tasks in ((4, 9) if run.quick else (4, 9, 16))
            ]
            curves.append(curve(name, values, "measured"))
        panels.append(panel(f"{run.here()}, class {letter}, write", "tasks", "MB/s", curves, log_x=False))
    return panels


@figure("bluegene-4", PAPER, "BT-IO: the optimisations switched off one by one")
def figure_4(run: Runner) -> dict:
    tasks = counts(run, square=True)
    small, large = tasks[0], tasks[-1]
    found = {
        name: {n: dumps_of_bt(run, n, off) for n in tasks} for name, off in (CONFIGURATIONS | {OVERLAPPED: ""}).items()
    }
    panels = []
    for phase in ("write", "read"):
        curves = [
            curve(name, [(n, one[phase]) for n, one in points.items()], "modelled") for name, points in found.items()
        ]
        panels.append(
            panel(f"modelled, 3 MB of each task, {phase}", "tasks", "MB/s", curves + printed("BT-IO", phase, LARGEST))
        )
    points = bt_points(small)
    loop = rates(run, "bt", points**3 * 40, tasks=small, points=points, off="loop", skip=16)["write"]

    def loss(name: str, n: int, phase: str = "write") -> float:
        return loss_of_bt(run, n, name, phase)

    gain = found["Optimized"][large]["write"] / found["Pset only"][large]["write"]
    one_by_one = [name for name in CONFIGURATIONS if name.startswith("No ")]
    return result(
        [*panels, bt_here(run)],
        claims=[
            claim(
                "at least three fold speed-up for writes from Pset only to Optimized",
                [
                    at_least(
                        f"{large} tasks",
                        P["figure 4"]["optimised over pset only, write"],
                        gain,
                        "times",
                        gain_of_bt(run, large),
                    )
                ],
            ),
            claim(
                "No Aligned gives the most performance degradation for write operations",
                [
                    at_least(
                        f"{large} tasks, loss without Aligned over that without {name[3:]}",
                        1,
                        loss("No Aligned", large) / max(loss(name, large), 1e-9),
                        "times",
                        gain_of_bt(run, large, name),
                    )
                    for name in one_by_one
                    if name != "No Aligned"
                ],
            ),
            claim(
                "without Alltoall and Allreduce the degradations scale with the number of processors",
                [
                    at_least(
                        f"loss without {name[3:]}, {large} over {small} tasks",
                        1,
                        loss(name, large) / max(loss(name, small), 1e-9),
                        "times",
                        growth_of_loss(run, name, small, large),
                    )
                    for name in ("No Alltoall", "No Allreduce")
                ],
            ),
            claim(
                "the gather of ranges takes up to 30 % of the time of collective writes (3.5.2)",
                [
                    between(f"{n} tasks, part of the time without Allreduce", 0, 0.3 * 1.35, loss("No Allreduce", n))
                    for n in tasks
                ],
            ),
            claim(
                "the optimisations have more effect on writing than on reading",
                [
                    at_least(
                        f"{large} tasks, loss of Pset only, writing over reading",
                        1,
                        loss("Pset only", large) / max(loss("Pset only", large, "read"), 1e-9),
                        "times",
                        gain_of_bt(run, large, "read"),
                    )
                ],
            ),
            claim(
                "collective calls are the best, a call for every piece is poor",
                [
                    at_least(
                        f"{small} tasks, collective over a call for every piece",
                        3,
                        found["Optimized"][small]["write"] / loop,
                        "times",
                    )
                ],
            ),
        ],
    )


@measured
def coll_perf_here(run: Runner) -> list[dict]:
    points: dict[tuple[str, str], list] = {}
    for name, way in (("collective", "enable"), ("independent", "disable")):
        for tasks in (1, 2, 4):
            for phase, seconds in patterns_here(
                run, tasks, "coll_perf", {"SHEAF_CB_WRITE": way, "SHEAF_CB_READ": way}
            ).items():
                points.setdefault((phase, name), []).append((tasks, middle([64 * MIB / MB / one for one in seconds])))
    return [
        panel(
            f"{run.here()}, 64 MiB in all, {phase}",
            "tasks",
            "MB/s",
            [curve(name, points[phase, name], "measured") for name in ("collective", "independent")],
        )
        for phase in ("write", "read")
    ]


@figure("bluegene-5", PAPER, "coll_perf: collective and independent")
def figure_5(run: Runner) -> dict:
    tasks = counts(run)
    points = 64 if run.quick else 256
    together = {n: coll_perf(run, n) for n in tasks}
    # Only some of the independent calls are made: they are equal.
    alone = {
        n: rates(run, "coll_perf", n * points**3 * 4, tasks=n, points=points, off="loop", skip=points * points // 256)
        for n in tasks
    }
    panels = [
        panel(
            f"modelled, {points ** 3 * 4 >> 20} MiB of each task, {phase}",
            "tasks",
            "MB/s",
            [
                curve(name, [(n, one[phase]) for n, one in values.items()], "modelled")
                for name, values in (("collective", together), ("independent, a call for every row", alone))
            ]
            + printed("coll_perf", phase, 256 if phase == "write" else LARGEST),
            log_y=True,
        )
        for phase in ("write", "read")
    ]
    top = {phase: max(one[phase] for one in together.values()) for phase in ("write", "read")}
    cells = [
        at_most(f"{n} tasks over 256, write", 1, together[n]["write"] / together[256]["write"], "times")
        for n in tasks
        if n > 256
    ]
    return result(
        [*panels, coll_perf_here(run)],
        claims=[
            claim(
                "collective calls scale, only bounded by the underlying system",
                [
                    near(
                        f"the best, {phase}",
                        P["table 2"]["coll_perf"][phase],
                        top[phase],
                        cause=best(run, "coll_perf", phase),
                    )
                    for phase in ("write", "read")
                ],
            ),
            claim(
                "independent calls are poor",
                [
                    at_least(
                        f"{n} tasks, collective over independent, {phase}",
                        3,
                        together[n][phase] / alone[n][phase],
                        "times",
                    )
                    for n in tasks
                    for phase in ("write", "read")
                ],
            ),
            *([claim("a slight drop of writing with more than 256 processes", cells)] if cells else []),
        ],
    )


@measured
def flash_here(run: Runner) -> list[dict]:
    panels = []
    cells = 8 if run.quick else 16  # per block, in each direction; 16 in the paper
    bytes_of = {
        "write": 24 * 80 * cells**3 * 8,
        "centred": 4 * 80 * cells**3 * 4,
        "corner": 4 * 80 * (cells + 1) ** 3 * 4,
    }
    names = {"write": "checkpoint", "centred": "plot, centred", "corner": "plot, corner"}
    for library, title in (("hdf5", "HDF5"), ("pnetcdf", "PnetCDF")):
        values: dict[str, list] = {}
        for tasks in (2, 4) if run.quick else (1, 2, 4, 8):
            seconds: dict[str, list[float]] = {}
            for _ in range(run.repeats()):
                text = run.mpirun(
                    tasks,
                    [run.programs.program(f"mpiio_flash_{library}_openmpi"), run.directory / "flash", 1, cells],
                    {"LD_PRELOAD": run.programs.library("libsheaf_mpiio.so")},
                )
                for line in text.splitlines():
                    if line.startswith("TIME"):
                        seconds.setdefault(line.split()[1], []).append(float(line.split()[2]))
            for what, name in names.items():
                for end, level in (("", title), ("-mpi", "MPI-IO")):
                    values.setdefault(f"{name}, {level}", []).append(
                        (tasks, middle([tasks * bytes_of[what] / MB / one for one in seconds[what + end]]))
                    )
        panels.append(
            panel(
                f"{run.here()}, {title}, blocks of {cells}^3 cells",
                "tasks",
                "MB/s",
                [curve(name, points, "measured") for name, points in values.items()],
            )
        )
    return panels


@figure("bluegene-6", PAPER, "FLASH: checkpoint, plot files of centres and of corners, at both levels")
def figure_6(run: Runner) -> dict:
    tasks = counts(run)
    found = {kind: {n: flash(run, n, kind)["write"] for n in tasks} for kind in KINDS}
    curves = [curve(f"{kind}, MPI-IO", list(points.items()), "modelled") for kind, points in found.items()]
    curves += printed("FLASH, HDF5", "write", 512)
    curves += [curve(f"{library}, library level", [(512, value)], "paper") for library, value in P["figure 6"].items()]
    top = max(found["checkpoint"].values())
    cells = [
        at_least(f"{kind}, {tasks[-1]} over {tasks[0]} tasks", 2, points[tasks[-1]] / points[tasks[0]], "times")
        for kind, points in found.items()
    ]
    return result(
        [panel("modelled, the MPI-IO calls", "tasks", "MB/s", curves), flash_here(run)],
        claims=[
            claim(
                "the MPI-IO calls of a checkpoint, at best",
                [
                    near(library, P["table 2"][library]["write"], top, cause=best(run, library, "write"))
                    for library in ("FLASH, HDF5", "FLASH, PnetCDF")
                ],
            ),
            claim("the MPI-IO performance scales", cells),
        ],
    )


@measured
def homme_here(run: Runner) -> dict:
    points: dict[str, list] = {}
    for name, pattern in (("collective", "irregular-512"), ("a loop of independent calls", "irregular-loop-512")):
        for tasks in (1, 2, 4):
            for phase, seconds in patterns_here(run, tasks, pattern, {}).items():
                points.setdefault(f"{name}, {phase}", []).append(
                    (tasks, middle([16 * MIB / MB / one for one in seconds]))
                )
    return panel(
        f"{run.here()}, 16 MiB in all",
        "tasks",
        "MB/s",
        [curve(name, values, "measured") for name, values in points.items()],
        log_y=True,
    )


@figure("bluegene-7", PAPER, "HOMME: restart files by a loop of independent calls, and by collective ones")
def figure_7(run: Runner) -> dict:
    tasks = counts(run)
    ways = {"collective": {}, "a loop of independent calls": {"off": "loop"}}
    found = {n: {way: homme(run, n, **more) for way, more in ways.items()} for n in tasks}
    panels = [
        panel(
            f"modelled, {phase}",
            "tasks",
            "MB/s",
            [curve(way, [(n, found[n][way][phase]) for n in tasks], "modelled") for way in ways]
            + printed("HOMME", phase, LARGEST),
            log_y=True,
        )
        for phase in ("write", "read")
    ]
    top = {phase: max(found[n]["collective"][phase] for n in tasks) for phase in ("write", "read")}
    low, high = P["figure 7"]["speed-up"]
    many = tasks[-1]

    def gain(phase: str, **more) -> float:
        return homme(run, many, **more)[phase] / found[many]["a loop of independent calls"][phase]

    gains = [
        between(
            f"{many} tasks, {phase}",
            low,
            high,
            gain(phase),
            "times",
            in_turns(functools.partial(gain, phase, off=TURNS)) if run.quick else layout_of_homme(run, phase),
        )
        for phase in top
    ]
    return result(
        [*panels, homme_here(run)],
        claims=[
            claim(
                "collective calls come close to the base line",
                [
                    near(
                        f"the best, {phase}", P["table 2"]["HOMME"][phase], top[phase], cause=best(run, "HOMME", phase)
                    )
                    for phase in top
                ],
            ),
            claim("10 to 15 fold speed-up over the loop of independent calls", gains),
        ],
    )
