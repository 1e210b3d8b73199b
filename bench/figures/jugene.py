"""Figures of "Massively parallel I/O on GPFS at petascale" (JUGENE)."""
from __future__ import annotations

from .registry import figure, measured, result
from .running import PRINTED, Runner, claim, curve, panel, table
from .sc09 import bandwidth, IN_DIRECTORIES, open_seconds

PAPER = "JUGENE"
P = PRINTED["jugene"]
MIB = 1 << 20


@figure("jugene-table1", PAPER, "blocks, RAID stripes and I/O sizes of a storage building block")
def table_1(run: Runner) -> dict:
    rows, best = [], {}
    for block in (1, 2, 4):
        found = {"write": [], "read": []}
        for stripe in (1, 2, 4):
            for size in (1, 2, 4):
                seconds = run.simulate("ds5300", "task-files", tasks=32, bytes=(64 if run.quick else 256) * MIB, call=size * MIB,
                                       block=block * MIB, raid=stripe * MIB)["seconds"]
                for phase in found:
                    found[phase].append(bandwidth(seconds, phase, 32 * (64 if run.quick else 256) * MIB) / 1000)
        best[block] = max(found["write"])
        paper = P["table 1"][str(block)]
        rows.append([block, *(f"{min(found[one]):.1f} to {max(found[one]):.1f}" for one in ("read", "write")),
                     *(f"{paper[one][0]} to {paper[one][1]}" for one in ("read", "write"))])
    return result(tables=[table("simulated; over stripes and I/O sizes of 1, 2, 4 MiB", ["block MiB", "read GB/s", "write GB/s", "paper read", "paper write"], rows)],
                  claims=[claim("the largest blocks are the fastest, if stripes and requests fit", "8.2 GB/s with 4 MiB, 4.0 with 1 MiB",
                                f"{best[4]:.1f} and {best[1]:.1f} GB/s", best[4] > 1.5 * best[1])])


@measured
def tasks_of_a_node_here(run: Runner, organisations: list[tuple[str, list]]) -> dict:
    counts = [1, 2, 4, 8] if run.quick else [1, 2, 4, 8, 16]
    size = "8M" if run.quick else "64M"
    curves = []
    for name, words in organisations:
        found = [(tasks, run.rates(tasks, "-s", size, "-b", "4M", "-r", "64M", "-q", -1, "-Z", 1, *words)) for tasks in counts]
        for operation in ("write", "read"):
            curves.append(curve(f"{name}, {operation}", [(tasks, one[words[1], operation]) for tasks, one in found], "measured"))
    return panel(run.here(), "tasks of the node", "MB/s", curves)


@measured
def limits_here(run: Runner) -> dict:
    size = "8M" if run.quick else "64M"
    found = [(limit, run.rates(8, "-s", size, "-b", "4M", "-r", "64M", "-q", -1, "-Z", 1, "--iotasks", limit)) for limit in (1, 2, 4, 8)]
    curves = [curve(operation, [(limit, one[0, operation]) for limit, one in found], "measured") for operation in ("write", "read")]
    return panel(f"{run.here()}, 8 tasks, a multifile", "tasks at work (iotasks=K)", "MB/s", curves)


@figure("jugene-4", PAPER, "bandwidth of an I/O node against its tasks")
def figure_4(run: Runner) -> dict:
    counts = [1, 4, 16, 64, 256, 512] if run.quick else [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    each = (16 if run.quick else 64) * MIB
    panels = []
    for buffers, pool in ((96, 384), (256, 1024)):
        curves = []
        for fragment in (1, 2, 4):
            for phase in ("write", "read"):
                found = [(n, bandwidth(run.simulate("jugene-2012", "task-files", tasks=n, bytes=each, call=4 * MIB, fragment=fragment * MIB,
                                                    buffers=buffers)["seconds"], phase, n * each)) for n in counts]
                curves.append(curve(f"{fragment} MiB pieces, {phase}", found, "simulated"))
        curves.append(curve("write, read at most", [(512, P["figure 4"]["write MB/s"]), (512, P["figure 4"]["read MB/s"])], "paper"))
        panels.append(panel(f"simulated, page pool of {pool} MiB", "tasks of one I/O node", "MB/s", curves))
    small, whole = (panels[0]["curves"][2 * i]["y"][-1] for i in (0, 2))
    return result([*panels, tasks_of_a_node_here(run, [("a file per task", ["-T", 3])])],
                  claims=[claim("pieces smaller than a block cost an I/O node with many tasks its bandwidth", "strong effect of CIOD buffers that are too small",
                                f"512 tasks: {small:.0f} MB/s in pieces of 1 MiB, {whole:.0f} MB/s in whole blocks", small < 0.7 * whole)])


@figure("jugene-5", PAPER, "creating files: one per task, one per I/O node")
def figure_5(run: Runner) -> dict:
    counts = [4096, 32768, 262144] if run.quick else [1024, 4096, 16384, 65536, 131072, 262144]
    ways = [("a file per task", "task-files", {}), (IN_DIRECTORIES, "task-files", {"directories": 1}),
            ("a file per I/O node", "multifile", {"files": 0})]
    curves = [curve(name, [(n, open_seconds("jugene-2012", program, run, n, **more)) for n in counts], "simulated") for name, program, more in ways]
    curves += [curve(name, [(one["tasks"], one["seconds"])], "paper") for name, one in P["figure 5"].items()]
    files, ours = curves[0]["y"][-1], curves[2]["y"][-1]
    return result([panel("JUGENE, simulated", "tasks", "seconds to create and open", curves, log_y=True)],
                  claims=[claim("512 files in place of 262,144", "33 min and less than 10 s", f"{files / 60:.0f} min and {ours:.1f} s", files > 600 and ours < 15)])


ORGANISATIONS = [("a file per task", "task-files", {}), ("a file per I/O node", "multifile", {"files": 0}), ("one shared POSIX file", "posix-shared", {})]


@figure("jugene-6", PAPER, "bandwidth per I/O node, three organisations")
def figure_6(run: Runner) -> dict:
    nodes = [1, 4, 16] if run.quick else [1, 2, 4, 8, 16, 32, 64]
    each = (4 if run.quick else 8) * MIB
    panels, last = [], {}
    for phase in ("write", "read"):
        curves = []
        for name, program, more in ORGANISATIONS:
            found = [(n, bandwidth(run.simulate("jugene-2012", program, tasks=512 * n, bytes=each, **more)["seconds"], phase, 512 * n * each) / n) for n in nodes]
            curves.append(curve(name, found, "simulated"))
            last[name, phase] = found[-1][1]
        one = [(1, bandwidth(run.simulate("jugene-2012", "one-task", tasks=512, bytes=each)["seconds"], phase, 512 * each))]
        curves.append(curve("one task for all", one, "simulated"))
        panels.append(panel(f"simulated, {phase}", "I/O nodes (512 tasks each)", "MB/s per I/O node", curves))
    here = tasks_of_a_node_here(run, [("a file per task", ["-T", 3]), ("multifile per node", ["-T", 0, "-n", 0]), ("one shared POSIX file", ["-T", 5]),
                                      ("one task", ["-T", 4])])
    task, node, shared = (last[name, "write"] for name, _, _ in ORGANISATIONS)
    return result([*panels, here], claims=[claim("a file per I/O node writes as a file per task does; one shared file does not", "comparable; a pronounced degradation",
                                                 f"{nodes[-1]} I/O nodes: {node:.0f}, {task:.0f} and {shared:.0f} MB/s each", node > 0.9 * task and shared < 0.5 * task)])


@figure("jugene-7", PAPER, "total bandwidth against tasks, with so many tasks of an I/O node at work")
def figure_7(run: Runner) -> dict:
    counts = [4096, 16384, 65536, 131072] if run.quick else [4096, 8192, 16384, 32768, 49152, 65536, 131072, 294912]
    each = (4 if run.quick else 8) * MIB
    panels = []
    for phase in ("write", "read"):
        curves = []
        for writers in (64, 512) if run.quick else (64, 128, 256, 512):
            found = [(n, bandwidth(run.simulate("jugene-2012", "multifile", tasks=n, bytes=each, files=0, writers=writers)["seconds"], phase, n * each))
                     for n in counts]
            curves.append(curve(f"{writers} tasks of an I/O node", found, "simulated"))
        curves.append(curve("limit of the file system", [(65536, P["figure 7"]["limit MB/s"])], "paper"))
        panels.append(panel(f"simulated, {phase}", "tasks", "MB/s", curves))
    top = max(max(one["y"]) for one in panels[0]["curves"][:-1])
    return result([*panels, limits_here(run)], claims=[claim("linear up to the limit of the file system, then flat", "33 GB/s from 48 to 64 Ki tasks on",
                                        f"at most {top / 1000:.1f} GB/s with {counts[-1]} tasks", top > 28000)])
