"""Figures of "Massively parallel I/O on GPFS at petascale" (JUGENE): many I/O nodes."""

from __future__ import annotations

from .judging import Cause, at_most, claim, near
from .jugene_node import MIB, PAPER, P, tasks_of_a_node_here
from .registry import figure, measured, result
from .running import MACHINES, Runner, curve, panel
from .sc09 import IN_DIRECTORIES, bandwidth, open_seconds


@measured
def limits_here(run: Runner) -> dict:
    size = "8M" if run.quick else "64M"
    found = [
        (limit, run.rates(8, "-s", size, "-b", "4M", "-r", "64M", "-q", -1, "-Z", 1, "--iotasks", limit))
        for limit in (1, 2, 4, 8)
    ]
    curves = [
        curve(operation, [(limit, one[0, operation]) for limit, one in found], "measured")
        for operation in ("write", "read")
    ]
    return panel(f"{run.here()}, 8 tasks, a multifile", "tasks at work (iotasks=K)", "MB/s", curves)


@figure("jugene-5", PAPER, "creating files: one per task, one per I/O node")
def figure_5(run: Runner) -> dict:
    counts = [4096, 32768, 262144] if run.quick else [1024, 4096, 16384, 65536, 131072, 262144]
    ways = [
        ("a file per task", "task-files", {}),
        (IN_DIRECTORIES, "task-files", {"directories": 1}),
        ("a file per I/O node", "multifile", {"files": 0}),
    ]
    curves = [
        curve(name, [(n, open_seconds("jugene-2012", program, run, n, **more)) for n in counts], "modelled")
        for name, program, more in ways
    ]
    curves += [curve(name, [(one["tasks"], one["seconds"])], "paper") for name, one in P["figure 5"].items()]
    files, ours = curves[0]["y"][-1], curves[2]["y"][-1]
    return result(
        [panel("JUGENE, modelled", "tasks", "seconds to create and open", curves, log_y=True)],
        claims=[
            claim(
                "creating 256 Ki files took about 33 minutes, 512 SION files less than 10 seconds",
                [
                    near("a file per task", P["figure 5"]["a file per task"]["seconds"], files, "s"),
                    at_most("a file per I/O node", P["figure 5"]["a file per I/O node"]["seconds"], ours, "s"),
                ],
            )
        ],
    )


ORGANISATIONS = [
    ("a file per task", "task-files", {}),
    ("a file per I/O node", "multifile", {"files": 0}),
    ("one shared POSIX file", "posix-shared", {}),
]


@figure("jugene-6", PAPER, "bandwidth per I/O node, three organisations")
def figure_6(run: Runner) -> dict:
    nodes = [1, 4, 16] if run.quick else [1, 2, 4, 8, 16, 32, 64]
    each = 8 * MIB
    panels, found = [], {}
    for phase in ("write", "read"):
        curves = []
        for name, program, more in ORGANISATIONS:
            for n in nodes:
                found[name, phase, n] = (
                    bandwidth(
                        run.simulate("jugene-2012", program, tasks=512 * n, bytes=each, call=4 * MIB, **more)[
                            "seconds"
                        ],
                        phase,
                        512 * n * each,
                    )
                    / n
                )
            curves.append(curve(name, [(n, found[name, phase, n]) for n in nodes], "modelled"))
        one = bandwidth(run.simulate("jugene-2012", "one-task", tasks=512, bytes=each)["seconds"], phase, 512 * each)
        panels.append(
            panel(
                f"modelled, {phase}",
                "I/O nodes (512 tasks each)",
                "MB/s per I/O node",
                [*curves, curve("one task for all", [(1, one)], "modelled")],
            )
        )
    here = tasks_of_a_node_here(
        run,
        [
            ("a file per task", ["-T", 3]),
            ("multifile per node", ["-T", 0, "-n", 0]),
            ("one shared POSIX file", ["-T", 5]),
            ("one task", ["-T", 4]),
        ],
    )
    task, node, shared = (name for name, _, _ in ORGANISATIONS)
    last = nodes[-1]
    return result(
        [*panels, here],
        claims=[
            claim(
                "no decay of the bandwidth per I/O node with individual files",
                [
                    near(
                        f"{n} I/O nodes over one, {phase}",
                        1,
                        found[task, phase, n] / found[task, phase, 1],
                        "",
                        tolerance=1.1,
                    )
                    for n in nodes[1:]
                    for phase in ("write", "read")
                ],
            ),
            claim(
                "a file per I/O node writes comparably to individual files",
                [
                    near(f"{n} I/O nodes", 1, found[node, "write", n] / found[task, "write", n], "", tolerance=1.1)
                    for n in nodes
                ],
            ),
            claim(
                "a pronounced degradation when several I/O nodes write into one shared file",
                [
                    at_most(
                        f"{last} I/O nodes over one", 0.5, found[shared, "write", last] / found[shared, "write", 1], ""
                    )
                ],
            ),
        ],
    )


THROTTLES = (64, 128, 256, 512)  # the library's throttle: iotasks=K
PHASES = ("write", "read")
TotalRates = dict[tuple[int, str, int], float]  # MB/s by throttle, phase and tasks


def total_rate(run: Runner, tasks: int, limit: int, each: int = 8 * MIB, **more) -> dict[str, float]:
    """Returns the MB/s of each phase if at most `limit` tasks of an I/O node transfer at once. `each`: bytes."""
    options = {"bytes": each, "call": 4 * MIB, "files": 0, "words": f"iotasks={limit}"}
    seconds = run.simulate("jugene-2012", "multifile", tasks=tasks, **options, **more)["seconds"]
    return {phase: bandwidth(seconds, phase, tasks * each) for phase in PHASES}


def total_panel(found: TotalRates, phase: str) -> dict:
    curves = [
        curve(f"iotasks={limit}", [(n, y) for (k, p, n), y in found.items() if (k, p) == (limit, phase)], "modelled")
        for limit in THROTTLES
    ]
    curves.append(curve("limit of the file system", [(65536, P["figure 7"]["limit MB/s"])], "paper"))
    return panel(f"modelled, {phase}", "tasks (512 of an I/O node)", "MB/s", curves)


def scaling_claims(found: TotalRates, counts: list[int], seeks: Cause) -> list[dict]:
    last = counts[-1]
    doubled = [
        near(
            f"{2 * n} over {n} tasks, {phase}",
            2,
            found[256, phase, 2 * n] / found[256, phase, n],
            "times",
            tolerance=1.1,
        )
        for n in counts
        if 2 * n in counts and 2 * n <= 32768
        for phase in PHASES
    ]
    saturated = [
        near(f"65536 tasks, {phase}", P["figure 7"]["limit MB/s"], found[256, phase, 65536]) for phase in PHASES
    ]
    drop = found[256, "write", last] / found[256, "write", 65536]
    return [
        claim("linear scaling up to the saturation", doubled),
        claim("saturated at 33 GB/s with 48 to 64 Ki tasks", saturated),
        claim(
            "a write performance drop of about 10 % beyond the saturation",
            [near(f"{last} over 65536 tasks", 1 - P["figure 7"]["drop"], drop, "", seeks, tolerance=1.05)],
        ),
    ]


def throttle_claims(run: Runner, found: TotalRates) -> list[dict]:
    def over(limit: int, phase: str, tasks: int, **more) -> float:
        return total_rate(run, tasks, limit, **more)[phase] / total_rate(run, tasks, 256, **more)[phase]

    def in_step(*cell) -> Cause:
        numbers = MACHINES["jugene-2012"]["numbers"]
        rates = {name: numbers[name] * numbers["servers"] / 33 for name in ("server_read", "server_write")}
        return Cause(
            "32 servers and waves of 2^n tasks: all tasks of a wave begin at the same servers",
            "33 servers with the same rate together",
            lambda: over(*cell, servers=33, **rates),
        )

    def waves(*cell) -> Cause:
        return Cause(
            "8 MiB of each task make two waves of 256 tasks, and servers are idle between them",
            "32 MiB of each task",
            lambda: over(*cell, each=32 * MIB),
        )

    over_256 = {(k, phase, n): y / found[256, phase, n] for (k, phase, n), y in found.items()}
    comparable = [
        near(f"{n} tasks, {k} over 256, {phase}", 1, y, "", in_step(k, phase, n), tolerance=1.1)
        for (k, phase, n), y in over_256.items()
        if k < 256
    ]
    slower = [
        at_most(f"{n} tasks, 512 over 256, {phase}", 0.97, y, cause=waves(k, phase, n))
        for (k, phase, n), y in over_256.items()
        if k == 512 and n <= 32768
    ]
    return [
        claim("the curves with 256 or less tasks of an I/O node are roughly comparable", comparable),
        claim("512 tasks of an I/O node are slower", slower),
    ]


@figure("jugene-7", PAPER, "total bandwidth against tasks, with so many tasks of an I/O node at work")
def figure_7(run: Runner) -> dict:
    full = [4096, 8192, 16384, 32768, 49152, 65536, 131072, 294912]
    counts = [4096, 16384, 32768, 65536, 131072] if run.quick else full
    found: TotalRates = {}
    for limit in THROTTLES:
        for n in counts if limit == 256 or not run.quick else [n for n in counts if n <= 16384]:
            found |= {(limit, phase, n): y for phase, y in total_rate(run, n, limit).items()}
    # 0.5 ms more of a server per request, for seeks between the files of more I/O nodes
    seeks = Cause(
        "the authors still investigate it; the model has no cost that grows with the I/O nodes. If requests of more "
        "files cost the servers seeks",
        "0.5 ms more per request",
        lambda: total_rate(run, counts[-1], 256, server_request=0.6e-3)["write"] / found[256, "write", 65536],
    )
    return result(
        [*(total_panel(found, phase) for phase in PHASES), limits_here(run)],
        claims=[*scaling_claims(found, counts, seeks), *throttle_claims(run, found)],
    )
