"""The programs of the Blue Gene/L paper on its modelled machine and on this one."""

from __future__ import annotations

from .running import PRINTED, Runner, curve

PAPER = "Blue Gene/L"
P = PRINTED["bluegene"]
MIB = 1 << 20
MB = 1e6
LARGEST = 1024  # tasks of the paper's largest runs
# Figure 4: words of SHEAF_MPIIO_OFF. In the paper, exchange and file phases take turns (3.3); the library overlaps
# them.
CONFIGURATIONS = {
    "Optimized": "overlap",
    "No Allreduce": "overlap,allreduce",
    "No Alltoall": "overlap,alltoall",
    "No Aligned": "overlap,aligned",
    "Pset only": "overlap,allreduce,alltoall,aligned",
}
OVERLAPPED = "Optimized, and phases overlap"  # the library's own
# The paper's methods of exchange (3.5).
EXCHANGE = "alltoallv,allreduce"


def counts(run: Runner, cheap: bool = False, square: bool = False) -> list[int]:
    """Returns the numbers of tasks of a curve. Patterns of small pieces take minutes with 1,024 tasks, so a quick run
    omits them unless they are `cheap`. `square`: numbers that BT-IO accepts."""
    if square:
        return [64, 256] if run.quick else [64, 144, 256, 576, LARGEST]
    if run.quick:
        return [8, 64, 256, LARGEST] if cheap else [8, 64, 256]
    return [8, 16, 32, 64, 128, 256, 512, LARGEST]


def rates(run: Runner, program: str, total: float, **options) -> dict[str, float]:
    """Returns the MB/s of both phases; with skip= only a part of the data was transferred."""
    seconds = run.simulate("bluegene-l", program, **options)["seconds"]
    part = total / options.get("skip", 1)
    return {
        phase: part / MB / (seconds[phase] + (seconds["close"] if phase == "write" else 0))
        for phase in ("write", "read")
        if phase in seconds
    }


def collective(tasks: int) -> dict:
    """Returns the options of collective calls: one aggregator per I/O node, which reads ahead. More of them give the
    same rates and need more memory. The library moves an eighth of the bytes."""
    return {"aggregators": max(1, tasks // 8), "buffer": MIB, "scale": 8, "exchange": EXCHANGE}


def ior(run: Runner, tasks: int, way: str) -> dict[str, float]:
    """IOR (5.1): calls of 1 MB, 384 of each task. Collective calls of whole blocks do not interleave, so the tasks make
    them alone."""
    each = (64 if run.quick else 384) * MIB
    program, more = {
        "POSIX, a file per task": ("task-files", {}),
        "POSIX, one file": ("posix-shared", {}),
        "contig. non-coll.": ("contiguous", {"off": "independent"}),
        "contig. coll.": ("contiguous", {"off": "automatic"}),
        "non-contig. non-coll.": ("strided", {"off": "independent", "piece": MIB}),
        "non-contig. coll.": ("strided", {"off": "automatic", "piece": MIB}),
    }[way]
    return rates(run, program, tasks * each, tasks=tasks, bytes=each, call=MIB, aggregators=max(1, tasks // 8), **more)


def bt_points(tasks: int) -> int:
    """Returns the number of points with about 3 MB per task in a dump."""
    return round((tasks * 3e6 / 40) ** (1 / 3))


def dumps_of_bt(run: Runner, tasks: int, off: str, **more) -> dict[str, float]:
    dumps = 1 if run.quick else 2
    points = bt_points(tasks)
    return rates(
        run,
        "bt",
        dumps * points**3 * 40,
        tasks=tasks,
        points=points,
        dumps=dumps,
        off=off,
        **(collective(tasks) | more),
    )


def coll_perf(run: Runner, tasks: int, **more) -> dict[str, float]:
    points = 64 if run.quick else 256
    return rates(run, "coll_perf", tasks * points**3 * 4, tasks=tasks, points=points, **(collective(tasks) | more))


KINDS = {
    "checkpoint": 80 * 16**3 * 8,
    "plot, centred": 80 * 16**3 * 4,
    "plot, corner": 80 * 17**3 * 4,
}  # bytes of a task in a call


def flash(run: Runner, tasks: int, kind: str, **more) -> dict[str, float]:
    """FLASH writes 24 variables into a checkpoint and 4 into each plot file."""
    each = KINDS[kind]
    dumps = 24 if kind == "checkpoint" and not run.quick else 4
    return rates(
        run,
        "contiguous",
        tasks * each * dumps,
        tasks=tasks,
        bytes=each,
        dumps=dumps,
        reads=0,
        **(collective(tasks) | more),
    )


def homme(run: Runner, tasks: int, arrays: int = 156, **more) -> dict[str, float]:
    """Simulates a restart file of the same size for any number of tasks: by default one array per variable and level.
    Each task has the elements in its part of the space-filling curve, stored contiguously. A dump is one
    collective call unless `more` selects other calls."""
    piece = 511_180_800 // arrays // tasks
    options = {"tasks": tasks, "bytes": arrays * piece, "piece": piece}
    alone = more.get("off") == "loop"
    return rates(run, "strided", arrays * piece * tasks, **(({} if alone else collective(tasks)) | options | more))


def printed(program: str, phase: str, tasks: int) -> list[dict]:
    """Returns the value of table 2 of the paper, at the number of tasks with the best value."""
    value = P["table 2"][program].get(phase)
    return [curve("best", [(tasks, value)], "paper")] if value else []


def patterns_here(run: Runner, tasks: int, pattern: str, more: dict) -> dict[str, list[float]]:
    """Returns the minimum seconds of each phase with the drop-in."""
    environment = {"LD_PRELOAD": run.programs.library("libsheaf_mpiio.so"), **more}
    times: dict[str, list[float]] = {}
    for _ in range(run.repeats()):
        text = run.mpirun(
            tasks, [run.programs.program("mpiio_patterns_openmpi"), pattern, run.directory / "pattern", 1], environment
        )
        for line in text.splitlines():
            if line.startswith("TIME"):
                times.setdefault(line.split()[1], []).append(float(line.split()[2]))
    return times
