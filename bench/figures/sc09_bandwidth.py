"""Figures of the SC'09 paper: physical files, alignment, and task-local files."""

from __future__ import annotations

import functools
import statistics
from typing import Callable, NamedTuple

from .judging import Cause, at_least, at_most, between, claim, near
from .registry import figure, measured, result
from .running import PRINTED, Runner, curve, panel, table
from .sc09 import PAPER, bandwidth

P = PRINTED["sc09"]


@measured
def physical_files_here(run: Runner) -> dict:
    size = "8M" if run.quick else "64M"
    found = [
        (files, run.rates(8, "-n", files, "-s", size, "-b", "1M", "-q", -1, "-r", "64M", "-Z", 1))
        for files in (1, 2, 4, 8)
    ]
    curves = [
        curve(operation, [(files, one[0, operation]) for files, one in found], "measured")
        for operation in ("write", "read")
    ]
    return panel(f"{run.here()}, 8 tasks", "physical files", "MB/s", curves)


PHASES = ("write", "read")
WIDTHS = {"narrow": ("jaguar-narrow", "4 servers, 1 MiB"), "wide": ("jaguar", "72 servers, 8 MiB")}
MEASUREMENTS = 5  # "averages of typically three to five measurements" (4), each with new files on other servers
LIMITS = {name: P["figure 4"][f"{name} limit MB/s"] for name in ("JUGENE", "Jaguar")}


def over_files(
    run: Runner, machine: str, tasks: int, each: int, counts: list[int], **more
) -> dict[str, dict[int, float]]:
    """Returns the MB/s of each phase by the number of physical files, if every task has `each` bytes."""
    found: dict[str, dict[int, float]] = {phase: {} for phase in PHASES}
    for files in counts:
        seconds = run.simulate(machine, "multifile", tasks=tasks, bytes=each, files=files, **more)["seconds"]
        for phase in PHASES:
            found[phase][files] = bandwidth(seconds, phase, tasks * each)
    return found


def over_placements(run: Runner, tasks: int, each: int, counts: list[int]) -> dict[str, dict[int, float]]:
    """Returns over_files() with narrow stripes, averaged over placements of the files on the servers."""
    found = [over_files(run, WIDTHS["narrow"][0], tasks, each, counts, scattered=n + 1) for n in range(MEASUREMENTS)]
    return {
        phase: {files: statistics.mean(one[phase][files] for one in found) for files in counts} for phase in PHASES
    }


def files_panel(title: str, curves: dict[str, dict[int, float]], machine: str) -> dict:
    drawn = [curve(name, list(points.items()), "modelled") for name, points in curves.items()]
    last = max(max(points) for points in curves.values())
    drawn.append(curve("limit of the file system", [(last, LIMITS[machine])], "paper"))
    return panel(title, "physical files", "MB/s", drawn)


def jugene_file_claims(found: dict[str, dict[int, float]]) -> list[dict]:
    top = {phase: max(points.values()) for phase, points in found.items()}
    enough = {
        phase: next(files for files, y in points.items() if y > 0.9 * top[phase]) for phase, points in found.items()
    }
    return [
        claim("JUGENE: limited to about 4.7 GB/s", [near(phase, LIMITS["JUGENE"], top[phase]) for phase in PHASES]),
        claim(
            "JUGENE: saturated between 8 and 16 physical files",
            [
                between(f"{phase}, files with nine tenths of the most", 8, 16, enough[phase], "files")
                for phase in PHASES
            ],
        ),
    ]


def jaguar_file_claims(narrow: dict[str, dict[int, float]], wide: dict[str, dict[int, float]]) -> list[dict]:
    counts = list(narrow["write"])
    rises = [
        at_least(f"{phase}, {b} over {a} files", 1.05, narrow[phase][b] / narrow[phase][a], "times")
        for phase in PHASES
        for a, b in zip(counts, counts[1:])
    ]
    benefits = [
        near(f"{phase}, most over one file", 1, max(wide[phase].values()) / wide[phase][1], "times") for phase in PHASES
    ]
    superior = [
        at_least(f"{n} files, {phase}, 72 over 4 servers", 1, wide[phase][n] / narrow[phase][n], "times")
        for n in counts
        for phase in PHASES
    ]
    return [
        claim("Jaguar, 4 servers: a steady increase to about 256 files", rises),
        claim("Jaguar, 72 servers: good already for a single file, no significant benefit of more", benefits),
        claim("Jaguar: more servers are always superior", superior),
    ]


@figure("sc09-4", PAPER, "bandwidth against physical files")
def figure_4(run: Runner) -> dict:
    tasks = 16384 if run.quick else 294912
    jugene = over_files(run, "jugene-2009", tasks, 4 << 20, [1, 2, 4, 8, 16, 32, 128, 512, 2048])
    clients, share = (1024, 32 << 20) if run.quick else (2048, 128 << 20)
    counts = [1, 4, 16, 64, 256] if run.quick else [1, 2, 4, 8, 16, 32, 64, 128, 256]
    jaguar = {
        "narrow": over_placements(run, clients, share, counts),
        "wide": over_files(run, WIDTHS["wide"][0], clients, share, counts),
    }

    curves = {f"{WIDTHS[name][1]}, {phase}": jaguar[name][phase] for name in WIDTHS for phase in PHASES}
    return result(
        [
            files_panel(f"JUGENE, modelled, {tasks} tasks", jugene, "JUGENE"),
            files_panel(f"Jaguar, modelled, {clients} tasks", curves, "Jaguar"),
            physical_files_here(run),
        ],
        claims=[*jugene_file_claims(jugene), *jaguar_file_claims(jaguar["narrow"], jaguar["wide"])],
    )


@measured
def alignment_here(run: Runner) -> dict:
    rows = []
    for name, words in (
        ("4 KiB", ["-q", 4096]),
        ("512 bytes, from an odd place", ["-q", 512, "-r", 8388608 + 512, "-O", 1000]),
    ):
        found = run.rates(8, "-s", "8M" if run.quick else "64M", "-b", "1M", "-r", "8M", "-Z", 1, *words)
        one, other = found[0, "write"], found[0, "read"]
        rows.append(
            [name, *(f"{value['value']:.0f} ({value['least']:.0f} to {value['most']:.0f})" for value in (one, other))]
        )
    return table(f"{run.here()}, 8 tasks, MB/s", ["blocks of", "write", "read"], rows)


@figure("sc09-table1", PAPER, "chunks aligned with blocks of the file system, and not")
def table_1(run: Runner) -> dict:
    tasks, each = 32768, 8 << 20
    ways = {"aligned": ("2 MB", 0), "16 KiB": ("16 KB", 16384)}

    def megabytes(told: int, **more) -> tuple[dict[str, float], dict]:
        seen = run.simulate("jugene-2009", "multifile", tasks=tasks, bytes=each, files=16, told=told, **more)
        return {phase: bandwidth(seen["seconds"], phase, tasks * each) for phase in ("write", "read")}, seen["counts"]

    rows, found = [], {}
    for key, (name, told) in ways.items():
        found[key], counted = megabytes(told)
        paper = P["table 1"][key]
        rows.append(
            [
                name,
                *(f"{found[key][phase]:.0f}" for phase in ("write", "read")),
                paper["write"],
                paper["read"],
                counted["revoked"],
                counted["partial_blocks"],
                counted["blocks_read"],
            ]
        )
    ratios = {phase: found["aligned"][phase] / found["16 KiB"][phase] for phase in ("write", "read")}
    rows.append(
        [
            "ratio",
            *(f"{one:.2f}" for one in ratios.values()),
            P["table 1"]["write ratio"],
            P["table 1"]["read ratio"],
            "",
            "",
            "",
        ]
    )

    def longer(phase: str) -> float:
        """Returns the ratio if I/O nodes pass requests on in pieces of two blocks."""
        return megabytes(0, fragment=4 << 20)[0][phase] / megabytes(16384, fragment=4 << 20)[0][phase]

    return result(
        tables=[
            table(
                f"JUGENE, modelled, {tasks} tasks, 16 files, MB/s",
                [
                    "blocks of",
                    "write",
                    "read",
                    "paper write",
                    "paper read",
                    "blocks taken",
                    "partial blocks",
                    "blocks read",
                ],
                rows,
            ),
            alignment_here(run),
        ],
        claims=[
            claim(
                "256 GB, 32 Ki tasks, 16 files (table 1)",
                [
                    near(
                        f"{ways[key][0]}, {phase}",
                        P["table 1"][key][phase],
                        found[key][phase],
                        cause=production(run, key, phase, megabytes),
                    )
                    for key in ways
                    for phase in ("write", "read")
                ],
            ),
            claim(
                "the benefit of the alignment",
                [
                    near(
                        f"{phase}, aligned over not",
                        P["table 1"][f"{phase} ratio"],
                        ratios[phase],
                        "times",
                        Cause(
                            "the paper does not print the size of the pieces in which I/O nodes pass requests on; here "
                            "it is a block. An unaligned piece touches one block more, and 512 tasks evict it "
                            "from the page pool",
                            "pieces of two blocks",
                            functools.partial(longer, phase),
                        ),
                    )
                    for phase in ratios
                ],
            ),
        ],
    )


def production(run: Runner, key: str, phase: str, megabytes) -> Cause:
    """Returns the cause of lower printed values: the paper measured under normal production conditions."""
    share = P["table 2"]["task-local"]["MB/s"] / P["figure 4"]["JUGENE limit MB/s"]
    rate = 392e6 * share
    return Cause(
        "measured under normal production conditions, with other users of the servers",
        f"servers with {share:.2f} of their rate (table 2 over figure 4)",
        lambda: megabytes(0 if key == "aligned" else 16384, server_write=rate, server_read=rate)[0][phase],
    )


@measured
def organisations_here(run: Runner) -> dict:
    counts = [1, 2, 4, 8] if run.quick else [1, 2, 4, 8, 16]
    words = ["-T", "0,3", "-s", "8M" if run.quick else "64M", "-b", "1M", "-r", "64M", "-q", -1, "-Z", 1]
    found = [(tasks, run.rates(tasks, *words, more={"SHEAF_FLAGS": "files=auto"})) for tasks in counts]
    curves = [
        curve(f"{name}, {operation}", [(tasks, one[kind, operation]) for tasks, one in found], "measured")
        for kind, name in ((0, "multifile"), (3, "a file per task"))
        for operation in ("write", "read")
    ]
    return panel(run.here(), "tasks", "MB/s", curves)


OURS, THEIRS = "multifile, 32 files", "a file per task"


class TaskCurves(NamedTuple):
    """A machine of figure 5: numbers of tasks, models for multifiles and for files of tasks, bytes of a block."""

    counts: list[int]
    ours: str
    theirs: str
    block: int


def over_tasks(run: Runner, machine: TaskCurves, size: int, whole: bool = False) -> dict[tuple[str, str, int], float]:
    """Returns the MB/s by kind of files, phase and number of tasks, if all tasks have `size` bytes together. `whole`:
    every task has whole blocks."""
    found = {}
    ways = ((OURS, machine.ours, "multifile", {"files": 32}), (THEIRS, machine.theirs, "task-files", {}))
    for label, model, program, more in ways:
        # The paper measured files of tasks with up to 131,072 tasks.
        for n in [n for n in machine.counts if n <= 131072 or label == OURS]:
            each = max(size // n, machine.block)  # every task has at least one block
            if whole:
                each = -(-each // machine.block) * machine.block
            seconds = run.simulate(model, program, tasks=n, bytes=each, call=4 * machine.block, **more)["seconds"]
            found |= {(label, phase, n): bandwidth(seconds, phase, n * each) for phase in PHASES}
    return found


def tasks_panel(name: str, found: dict[tuple[str, str, int], float], size: int) -> dict:
    curves = [
        curve(
            f"{label}, {phase}",
            [(n, y) for (kind, p, n), y in found.items() if (kind, p) == (label, phase)],
            "modelled",
        )
        for label in (OURS, THEIRS)
        for phase in PHASES
    ]
    last = max(n for _, _, n in found)
    curves.append(curve("limit of the file system", [(last, LIMITS[name])], "paper"))
    return panel(f"{name}, modelled, {size >> 30} GiB", "tasks", "MB/s", curves)


def task_claims(jugene: dict, jaguar: dict, whole_blocks: Callable[[str, str, int, float], Cause]) -> list[dict]:
    """`whole_blocks`: why a kind of files may have less than the most in a phase with many tasks."""

    def ratios(found: dict) -> dict[str, float]:
        return {
            f"{n} tasks, {phase}, multifile over files of tasks": found[OURS, phase, n] / y
            for (label, phase, n), y in found.items()
            if label == THEIRS
        }

    top = {phase: max(y for (_, p, _), y in jugene.items() if p == phase) for phase in PHASES}
    saturated = [
        near(
            f"{n} tasks, {label}, {phase}, over the most",
            1,
            y / top[phase],
            "",
            whole_blocks(label, phase, n, top[phase]),
            tolerance=1.1,
        )
        for (label, phase, n), y in jugene.items()
        if n >= P["figure 5"]["JUGENE saturated from"]
    ]
    return [
        claim(
            "JUGENE: no penalty of the multifile",
            [near(name, 1, ratio, "", tolerance=1.1) for name, ratio in ratios(jugene).items()],
        ),
        claim("JUGENE: saturated with 16 Ki or more tasks", saturated),
        claim(
            "Jaguar: always significantly better with the multifile",
            [at_least(name, 1.1, ratio) for name, ratio in ratios(jaguar).items()],
        ),
        claim(
            "Jaguar: in neither case the peak of 40 GB/s",
            [at_most("the most", LIMITS["Jaguar"], max(jaguar.values()), "MB/s")],
        ),
    ]


@figure("sc09-5", PAPER, "a multifile and task-local files over tasks")
def figure_5(run: Runner) -> dict:
    size = (128 << 30) if run.quick else (2 << 40)
    many = [1024, 4096, 16384, 65536] if run.quick else [1024, 4096, 16384, 65536, 131072, 294912]
    fewer = [256, 1024, 4096] if run.quick else [128, 512, 1024, 2048, 4096, 8192, 12288]
    jugene = over_tasks(run, TaskCurves(many, "jugene-2009", "jugene-2009", 2 << 20), size)
    jaguar = over_tasks(run, TaskCurves(fewer, "jaguar", "jaguar-narrow", 8 << 20), size // 8)

    def whole_blocks(label: str, phase: str, tasks: int, top: float) -> Cause:
        machine = TaskCurves([tasks], "jugene-2009", "jugene-2009", 2 << 20)
        return Cause(
            f"{size >> 30} GiB over {tasks} tasks are no whole blocks; the part of a block costs a server two requests",
            "whole blocks",
            lambda: over_tasks(run, machine, size, whole=True)[label, phase, tasks] / top,
        )

    return result(
        [tasks_panel("JUGENE", jugene, size), tasks_panel("Jaguar", jaguar, size // 8), organisations_here(run)],
        claims=task_claims(jugene, jaguar, whole_blocks),
    )
