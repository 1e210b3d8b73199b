"""Figures of "High performance file I/O for the Blue Gene/L supercomputer"."""
from __future__ import annotations

from .registry import figure, measured, result
from .running import PRINTED, Runner, claim, curve, middle, panel, table

PAPER = "Blue Gene/L"
P = PRINTED["bluegene"]
MIB = 1 << 20
MB = 1e6
# Words for SHEAF_MPIIO_OFF.
OPTIMISATIONS = {"optimised": "", "a new plan for every call": "reuse", "a round after the other": "overlap", "neither": "reuse,overlap"}


def rates(run: Runner, program: str, total: float, **options) -> dict[str, float]:
    """Returns the MB/s of both phases; with skip= only a part of the data was transferred."""
    seconds = run.simulate("bluegene-l", program, **options)["seconds"]
    part = total / options.get("skip", 1)
    return {phase: part / MB / (seconds[phase] + (seconds["close"] if phase == "write" else 0)) for phase in ("write", "read") if phase in seconds}


def aggregators(tasks: int) -> int:
    """Returns one aggregator per I/O node. Every task counts as a host, and its memory for the exchange
    grows with their number."""
    return max(1, tasks // 8)


def best(program: str, phase: str, tasks: int) -> list[dict]:
    """Returns the values of table 2 of the paper, at the number of tasks for which the text reports the
    best values."""
    value = P["table 2"][program].get(phase)
    return [curve("best", [(tasks, value)], "paper")] if value else []


def patterns_here(run: Runner, tasks: int, pattern: str, more: dict) -> dict[str, list[float]]:
    """Returns the minimum seconds of each phase with the drop-in."""
    environment = {"LD_PRELOAD": run.programs.library("libsheaf_mpiio.so"), **more}
    times: dict[str, list[float]] = {}
    for _ in range(run.repeats()):
        text = run.mpirun(tasks, [run.programs.program("mpiio_patterns_openmpi"), pattern, run.directory / "pattern", 1], environment)
        for line in text.splitlines():
            if line.startswith("TIME"):
                times.setdefault(line.split()[1], []).append(float(line.split()[2]))
    return times


@figure("bluegene-2", PAPER, "balanced and aligned file domains")
def figure_2(run: Runner) -> dict:
    tasks = 256
    blocks = [64, 128, 256, 300, 384, 512, 520, 640, 768, 900, 1024] if run.quick else [64, 128, 192, 256, 260, 320, 384, 448, 512, 520, 640, 768, 896, 1024, 1030, 1280, 1536, 2048]
    curves = []
    for name, off in (("aligned", ""), ("balanced", "aligned")):
        found = [(n, rates(run, "domains", n * MIB, tasks=tasks, points=n, off=off)["write"]) for n in blocks]
        curves.append(curve(name, found, "simulated"))
    better = sum(a >= 0.99 * b for a, b in zip(curves[0]["y"], curves[1]["y"]))
    worst = [min(y for n, y in zip(blocks, one["y"]) if n >= tasks) for one in curves]
    return result([panel("simulated, 256 tasks, 32 I/O nodes", "blocks of 1 MiB", "MB/s", curves)],
                  claims=[claim("aligned domains are faster although they are not equal", "outperforms, and stays flat",
                                f"from {tasks} blocks on at least {worst[0]:.0f} MB/s, balanced {worst[1]:.0f}; at least as fast with {better} of {len(blocks)} numbers of blocks",
                                worst[0] > 1.2 * worst[1] and better > 0.5 * len(blocks))])


@measured
def ior_here(run: Runner) -> list[dict]:
    names = {"contiguous": "contiguous", "contiguous-independent": "contiguous, independent", "strided-1048576": "strided"}
    points: dict[tuple[str, str], list] = {}
    for pattern, name in names.items():
        for tasks in (1, 2, 4) if run.quick else (1, 2, 4, 8):
            total = 16 * MIB * (1 if pattern.startswith("strided") else tasks)
            for phase, seconds in patterns_here(run, tasks, pattern, {}).items():
                points.setdefault((name, phase), []).append((tasks, middle([total / MB / one for one in seconds])))
    return [panel(f"{run.here()}, {phase}", "tasks", "MB/s", [curve(name, points[name, phase], "measured") for name in names.values()])
            for phase in ("write", "read")]


@figure("bluegene-3", PAPER, "IOR: the base line")
def figure_3(run: Runner) -> dict:
    counts = [8, 64, 256] if run.quick else [8, 16, 32, 64, 128, 256]
    each = (8 if run.quick else 32) * MIB
    ways = [("POSIX, a file per task", "task-files", {"call": MIB}), ("POSIX, one file", "posix-shared", {"call": MIB}),
            ("MPI-IO contiguous, independent", "contiguous", {"call": MIB, "off": "independent"}), ("MPI-IO contiguous, collective", "contiguous", {"call": MIB, "off": "automatic"}),
            ("MPI-IO strided, independent", "strided", {"call": MIB, "piece": MIB, "off": "independent"}), ("MPI-IO strided, collective", "strided", {"call": MIB, "piece": MIB})]
    found = {name: [(n, rates(run, program, n * each, tasks=n, bytes=each, aggregators=aggregators(n), **more)) for n in counts] for name, program, more in ways}
    panels = []
    for phase in ("write", "read"):
        curves = [curve(name, [(n, one[phase]) for n, one in points], "simulated") for name, points in found.items()]
        curves.append(curve("at most", [(counts[-1], P["limits"][phase])], "paper"))
        panels.append(panel(f"simulated, {phase}", "tasks", "MB/s", curves))
    top = max(one["write"] for _, one in found["POSIX, one file"])
    return result([*panels, ior_here(run)], claims=[claim("100 MB/s per I/O node, up to the limit of the file system", "flat from 256 tasks on, 2.0 GB/s", f"at most {top:.0f} MB/s", 1500 < top < 2100)])


def bt_points(tasks: int) -> int:
    """Returns the number of points with about 3 MB per task in a dump."""
    return round((tasks * 3e6 / 40) ** (1 / 3))


@measured
def bt_here(run: Runner) -> list[dict]:
    panels = []
    for letter, points in (("A", 64), ("B", 102)) if run.quick else (("A", 64), ("B", 102), ("C", 162)):
        curves = []
        for name, off in OPTIMISATIONS.items():
            # Tasks that share memory need no messages, so every task counts as a host here, as on the paper's
            # machine.
            words = ",".join([*filter(None, off.split(",")), "shared"])
            more = {"SHEAF_MPIIO_OFF": words, "SHEAF_TOPOLOGY": "node=1", "SHEAF_CB_WRITE": "enable", "SHEAF_CB_READ": "enable"}
            values = [(tasks, middle([points ** 3 * 40 / MB / one for one in patterns_here(run, tasks, f"bt-{letter}", more)["write"]]))
                      for tasks in ((4, 9) if run.quick else (4, 9, 16))]
            curves.append(curve(name, values, "measured"))
        panels.append(panel(f"{run.here()}, class {letter}, write", "tasks", "MB/s", curves, log_x=False))
    return panels


@figure("bluegene-4", PAPER, "BT-IO: one optimisation after the other switched off")
def figure_4(run: Runner) -> dict:
    counts = [16, 64] if run.quick else [16, 36, 64, 100]
    dumps = 2 if run.quick else 3
    found: dict[str, list] = {}
    for name, off in OPTIMISATIONS.items():
        for tasks in counts:
            total = dumps * bt_points(tasks) ** 3 * 40
            found.setdefault(name, []).append((tasks, rates(run, "bt", total, tasks=tasks, points=bt_points(tasks), dumps=dumps, off=off, aggregators=aggregators(tasks), buffer=MIB)))
    for name, off, skip in (("simple: independent", "independent", 1), ("a call for every piece", "loop", 16)):
        for tasks in counts[:3]:
            total = bt_points(tasks) ** 3 * 40
            found.setdefault(name, []).append((tasks, rates(run, "bt", total, tasks=tasks, points=bt_points(tasks), off=off, skip=skip)))
    panels = [panel(f"simulated, 3 MB of each task, {dumps} dumps, {phase}", "tasks", "MB/s", [curve(name, [(n, one[phase]) for n, one in points], "simulated")
                    for name, points in found.items()] + best("BT-IO", phase, 1024), log_y=True) for phase in ("write", "read")]
    most, base = (found[name][-1][1]["write"] for name in ("optimised", "neither"))
    gain = most / base
    loop = found["optimised"][len(counts[:3]) - 1][1]["write"] / found["a call for every piece"][-1][1]["write"]
    return result([*panels, bt_here(run)], claims=[claim("all optimisations against none, write", "at least three times from the choice of aggregators alone",
                                                         f"{gain:.1f} times with {counts[-1]} tasks ({most:.0f} and {base:.0f} MB/s)", gain >= 3,
                                                         "what the paper's figure switches off the library cannot do without any more: domains are always aligned, ranges "
                                                         "always reduced"),
                                  claim("collective against a call for every piece", "best with many tasks", f"{loop:.0f} times with {counts[:3][-1]} tasks", loop > 3)])


@measured
def coll_perf_here(run: Runner) -> list[dict]:
    points: dict[tuple[str, str], list] = {}
    for name, way in (("collective", "enable"), ("independent", "disable")):
        for tasks in (1, 2, 4):
            for phase, seconds in patterns_here(run, tasks, "coll_perf", {"SHEAF_CB_WRITE": way, "SHEAF_CB_READ": way}).items():
                points.setdefault((phase, name), []).append((tasks, middle([64 * MIB / MB / one for one in seconds])))
    return [panel(f"{run.here()}, 64 MiB in all, {phase}", "tasks", "MB/s", [curve(name, points[phase, name], "measured") for name in ("collective", "independent")])
            for phase in ("write", "read")]


@figure("bluegene-5", PAPER, "coll_perf: collective and independent")
def figure_5(run: Runner) -> dict:
    counts = [8, 64] if run.quick else [8, 16, 32, 64, 128, 256]
    points = 64 if run.quick else 128
    each = points ** 3 * 4
    found = {name: [(n, rates(run, "coll_perf", n * each, tasks=n, points=points, aggregators=aggregators(n), buffer=MIB, **more)) for n in counts]
             for name, more in (("collective", {}), ("independent, a call for every piece", {"off": "loop", "skip": 16}))}
    panels = [panel(f"simulated, {each >> 20} MiB of each task, {phase}", "tasks", "MB/s", [curve(name, [(n, one[phase]) for n, one in values], "simulated")
                    for name, values in found.items()] + best("coll_perf", phase, 256), log_y=True) for phase in ("write", "read")]
    gain = found["collective"][-1][1]["write"] / found["independent, a call for every piece"][-1][1]["write"]
    return result([*panels, coll_perf_here(run)], claims=[claim("independent calls are poor", "a strong recommendation to use collective ones", f"{gain:.0f} times with {counts[-1]} tasks", gain > 5)])


@measured
def flash_here(run: Runner) -> list[dict]:
    panels = []
    cells = 8 if run.quick else 16  # per block, in each direction; 16 in the paper
    bytes_of = {"write": 24 * 80 * cells ** 3 * 8, "centred": 4 * 80 * cells ** 3 * 4, "corner": 4 * 80 * (cells + 1) ** 3 * 4}
    names = {"write": "checkpoint", "centred": "plot, centred", "corner": "plot, corner"}
    for library, title in (("hdf5", "HDF5"), ("pnetcdf", "PnetCDF")):
        values: dict[str, list] = {}
        for tasks in (2, 4) if run.quick else (1, 2, 4, 8):
            seconds: dict[str, list[float]] = {}
            for _ in range(run.repeats()):
                text = run.mpirun(tasks, [run.programs.program(f"mpiio_flash_{library}_openmpi"), run.directory / "flash", 1, cells],
                                  {"LD_PRELOAD": run.programs.library("libsheaf_mpiio.so")})
                for line in text.splitlines():
                    if line.startswith("TIME"):
                        seconds.setdefault(line.split()[1], []).append(float(line.split()[2]))
            for what, name in names.items():
                for end, level in (("", title), ("-mpi", "MPI-IO")):
                    values.setdefault(f"{name}, {level}", []).append((tasks, middle([tasks * bytes_of[what] / MB / one for one in seconds[what + end]])))
        panels.append(panel(f"{run.here()}, {title}, blocks of {cells}^3 cells", "tasks", "MB/s",
                            [curve(name, points, "measured") for name, points in values.items()]))
    return panels


@figure("bluegene-6", PAPER, "FLASH: checkpoint, plot files of centres and of corners, at both levels")
def figure_6(run: Runner) -> dict:
    counts = [8, 64, 256] if run.quick else [8, 16, 32, 64, 128, 256]
    kinds = {"checkpoint": (80 * 16 ** 3 * 8, 24), "plot, centred": (80 * 16 ** 3 * 4, 4), "plot, corner": (80 * 17 ** 3 * 4, 4)}
    curves = []
    for name, (each, dumps) in kinds.items():
        dumps = min(dumps, 4) if run.quick else dumps
        found = [(n, rates(run, "contiguous", n * each * dumps, tasks=n, bytes=each, dumps=dumps, reads=0, aggregators=aggregators(n), buffer=MIB)["write"]) for n in counts]
        curves.append(curve(f"{name}, MPI-IO", found, "simulated"))
    curves += best("FLASH, HDF5", "write", 512)
    curves += [curve(f"{library}, library level", [(512, value)], "paper") for library, value in P["figure 6"].items()]
    panels = [panel("simulated, the MPI-IO calls", "tasks", "MB/s", curves)]
    top = max(curves[0]["y"])
    return result([*panels, flash_here(run)], claims=[claim("the MPI-IO calls of a checkpoint", f"about {P['table 2']['FLASH, HDF5']['write']} MB/s", f"at most {top:.0f} MB/s", top > 900)])


def homme(run: Runner, tasks: int) -> dict[str, dict[str, float]]:
    """Simulates a restart file of the same size for any number of tasks: one array per variable and level.
    Each task has the elements in its part of the space-filling curve, stored contiguously."""
    arrays, array = 156, 3_276_800
    piece = array // tasks
    options = {"tasks": tasks, "bytes": arrays * piece, "piece": piece}
    total = arrays * piece * tasks
    return {"collective": rates(run, "strided", total, aggregators=aggregators(tasks), buffer=MIB, **options),
            "a loop of independent calls": rates(run, "strided", total, off="loop", **options)}


@measured
def homme_here(run: Runner) -> dict:
    points: dict[str, list] = {}
    for name, pattern in (("collective", "irregular-512"), ("a loop of independent calls", "irregular-loop-512")):
        for tasks in (1, 2, 4):
            for phase, seconds in patterns_here(run, tasks, pattern, {}).items():
                points.setdefault(f"{name}, {phase}", []).append((tasks, middle([16 * MIB / MB / one for one in seconds])))
    return panel(f"{run.here()}, 16 MiB in all, checkpoint and restart", "tasks", "MB/s", [curve(name, values, "measured") for name, values in points.items()], log_y=True)


@figure("bluegene-7", PAPER, "HOMME: restart files by a loop of independent calls, and by collective ones")
def figure_7(run: Runner) -> dict:
    counts = [8, 64, 256] if run.quick else [8, 16, 32, 64, 128, 256]
    found: dict[str, list] = {}
    for tasks in counts:
        for name, values in homme(run, tasks).items():
            found.setdefault(name, []).append((tasks, values))
    panels = [panel(f"simulated, {phase}", "tasks", "MB/s", [curve(name, [(n, one[phase]) for n, one in values], "simulated") for name, values in found.items()] + best("HOMME", phase, 1024), log_y=True)
              for phase in ("write", "read")]
    gain = [found["collective"][-1][1][phase] / found["a loop of independent calls"][-1][1][phase] for phase in ("write", "read")]
    here = f"writing {gain[0]:.1f}, reading {gain[1]:.1f} times with {counts[-1]} tasks"
    return result([*panels, homme_here(run)], claims=[claim("collective calls against the loop", "10 to 15 times", here, gain[0] > 10)])


@figure("bluegene-table2", PAPER, "the best bandwidths")
def table_2(run: Runner) -> dict:
    tasks = 64
    each = 8 * MIB
    points = 64 if run.quick else 128
    common = {"aggregators": aggregators(tasks), "buffer": MIB}
    found = {"IOR": rates(run, "contiguous", tasks * each, tasks=tasks, bytes=each, call=MIB, off="independent"),
             "coll_perf": rates(run, "coll_perf", tasks * points ** 3 * 4, tasks=tasks, points=points, **common),
             "BT-IO": rates(run, "bt", bt_points(tasks) ** 3 * 40, tasks=tasks, points=bt_points(tasks), **common),
             "FLASH, HDF5": rates(run, "contiguous", tasks * 4 * 80 * 16 ** 3 * 8, tasks=tasks, bytes=80 * 16 ** 3 * 8, dumps=4, **common),
             "HOMME": homme(run, tasks)["collective"]}
    rows = [[name, *(f"{values[phase]:.0f}" for phase in ("write", "read")), *(P["table 2"][name].get(phase, "") for phase in ("write", "read"))] for name, values in found.items()]
    rows.insert(4, ["FLASH, PnetCDF", "as HDF5", "as HDF5", P["table 2"]["FLASH, PnetCDF"]["write"], ""])
    return result(tables=[table(f"simulated, MPI-IO calls, {tasks} tasks, MB/s", ["program", "write", "read", "paper write", "paper read"], rows)])
