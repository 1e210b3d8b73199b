"""Figures of "Massively parallel I/O on GPFS at petascale" (JUGENE): a storage building block, an I/O node."""

from __future__ import annotations

from .judging import at_least, at_most, claim, near
from .registry import figure, measured, result
from .running import PRINTED, Runner, curve, panel, table
from .sc09 import bandwidth

PAPER = "JUGENE"
P = PRINTED["jugene"]
MIB = 1 << 20
SIZES = (1, 2, 4)  # MiB


@figure("jugene-table1", PAPER, "blocks, RAID stripes and I/O sizes of a storage building block")
def table_1(run: Runner) -> dict:
    each = (64 if run.quick else 256) * MIB

    def gigabytes(block: int, stripe: int, size: int) -> dict[str, float]:
        seconds = run.simulate(
            "ds5300", "task-files", tasks=32, bytes=each, call=size * MIB, block=block * MIB, raid=stripe * MIB
        )["seconds"]
        return {phase: bandwidth(seconds, phase, 32 * each) / 1000 for phase in ("read", "write")}

    rows, cells, best = [], [], {}
    for block in SIZES:
        found = {(stripe, size): gigabytes(block, stripe, size) for stripe in SIZES for size in SIZES}
        paper = P["table 1"][str(block)]
        for phase in ("read", "write"):
            values = [one[phase] for one in found.values()]
            cells += [
                near(f"{block} MiB, {phase}, {name}", printed, value, "GB/s")
                for name, printed, value in zip(("least", "most"), paper[phase], (min(values), max(values)))
            ]
            best[block, phase] = max(values)
        rows += [
            [
                block,
                stripe,
                size,
                *(f"{one[phase]:.1f}" for phase in ("read", "write")),
                *(f"{paper[phase][0]} to {paper[phase][1]}" for phase in ("read", "write")),
            ]
            for (stripe, size), one in found.items()
        ]
    whole = {block: gigabytes(block, block, block) for block in SIZES}
    return result(
        tables=[
            table(
                "modelled, GB/s",
                ["block MiB", "stripe MiB", "I/O MiB", "read", "write", "paper read", "paper write"],
                rows,
            )
        ],
        claims=[
            claim("the ranges show the effect of I/O size and RAID stripe (table 1)", cells),
            claim(
                "the highest bandwidth is only achieved with 4 MiB blocks and sizes that fit",
                [
                    near(
                        "4 MiB everywhere, write, over the most",
                        1,
                        whole[4]["write"] / max(best[block, "write"] for block in SIZES),
                        "",
                    )
                ],
            ),
            claim(
                "25 % (read) to 40 % (write) more with 4 MiB than with 2 MiB",
                [
                    near(f"{phase}, 4 MiB over 2 MiB", gain, whole[4][phase] / whole[2][phase], "times")
                    for phase, gain in P["table 1, 4 MiB over 2 MiB"].items()
                ],
            ),
        ],
    )


@measured
def tasks_of_a_node_here(run: Runner, organisations: list[tuple[str, list]]) -> dict:
    counts = [1, 2, 4, 8] if run.quick else [1, 2, 4, 8, 16]
    size = "8M" if run.quick else "64M"
    curves = []
    for name, words in organisations:
        found = [
            (tasks, run.rates(tasks, "-s", size, "-b", "4M", "-r", "64M", "-q", -1, "-Z", 1, *words))
            for tasks in counts
        ]
        for operation in ("write", "read"):
            curves.append(
                curve(f"{name}, {operation}", [(tasks, one[words[1], operation]) for tasks, one in found], "measured")
            )
    return panel(run.here(), "tasks of the node", "MB/s", curves)


PHASES = ("write", "read")
POOLS = {384: 96, 1024: 256}  # MiB, and blocks of 4 MiB
MODES = {"SMP": 128, "VN": 512}  # tasks of an I/O node
NodeRates = dict[tuple[int, int, str, int], float]  # MB/s by page pool and CIOD buffer in MiB, phase and tasks


def node_rates(run: Runner, counts: list[int]) -> NodeRates:
    each = (16 if run.quick else 64) * MIB
    found: NodeRates = {}
    for pool, buffers in POOLS.items():
        for size in SIZES:
            options = {"bytes": each, "call": 4 * MIB, "fragment": size * MIB, "buffers": buffers}
            for n in counts:
                seconds = run.simulate("jugene-2012", "task-files", tasks=n, **options)["seconds"]
                found |= {(pool, size, phase, n): bandwidth(seconds, phase, n * each) for phase in PHASES}
    return found


def node_panel(found: NodeRates, pool: int, phase: str) -> dict:
    curves = [
        curve(
            f"CIOD buffers of {size} MiB",
            [(n, y) for (*key, n), y in found.items() if key == [pool, size, phase]],
            "modelled",
        )
        for size in SIZES
    ]
    curves.append(curve("SMP and VN mode", [(n, P["figure 4"][phase][mode]) for mode, n in MODES.items()], "paper"))
    return panel(f"modelled, page pool {pool} MiB, {phase}", "tasks of one I/O node", "MB/s", curves)


def onset(found: NodeRates, *key) -> int:
    """Returns the largest number of tasks before the bandwidth falls by a fifth, more than the seventh of VN mode."""
    points = {n: y for (*mine, n), y in found.items() if mine == list(key)}
    return max(n for n, y in points.items() if y > 0.8 * max(points.values()))


def node_claims(found: NodeRates) -> list[dict]:
    best = [
        near(
            f"page pool {pool} MiB, {n} tasks, {phase}",
            P["figure 4"][phase][mode],
            found[pool, 4, phase, n],
            tolerance=1.1,
        )
        for pool in POOLS
        for mode, n in MODES.items()
        for phase in PHASES
    ]
    cut = [(size, phase) for size in (1, 2) for phase in PHASES]
    small = [
        at_most(
            f"page pool {pool} MiB, buffers of {size} MiB, {phase}, over whole blocks",
            0.8,
            found[pool, size, phase, 512] / found[pool, 4, phase, 512],
        )
        for pool in POOLS
        for size, phase in cut
    ]
    shifts = [
        at_least(
            f"buffers of {size} MiB, {phase}: tasks before the fall, 1024 over 384 MiB",
            1.5,
            onset(found, 1024, size, phase) / onset(found, 384, size, phase),
            "times",
        )
        for size, phase in cut
    ]
    alike = [
        near(f"512 tasks, {phase}", 1, found[1024, 4, phase, 512] / found[384, 4, phase, 512], "", tolerance=1.1)
        for phase in PHASES
    ]
    return [
        claim("about 450 MB/s for reading and 350 for writing in SMP mode, 50 less in VN mode (3.1)", best),
        claim("a strong effect of too small CIOD buffers", small),
        claim("a larger page pool shifts the onset of the degradation to more tasks", shifts),
        claim("with 4 MiB buffers both page pools perform alike", alike),
    ]


@figure("jugene-4", PAPER, "bandwidth of an I/O node against its tasks")
def figure_4(run: Runner) -> dict:
    found = node_rates(run, [1, 8, 64, 128, 256, 512] if run.quick else [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
    panels = [node_panel(found, pool, phase) for pool in POOLS for phase in PHASES]
    here = tasks_of_a_node_here(run, [("a file per task", ["-T", 3])])
    return result([*panels, here], claims=node_claims(found))
