"""Figures of the SC'09 paper: its two applications, MP2C and Scalasca."""

from __future__ import annotations

import functools
import json

from .judging import Cause, at_least, claim, near
from .registry import figure, measured, result
from .running import PRINTED, Runner, curve, middle, panel, table
from .sc09 import MB, PAPER, bandwidth, open_seconds

P = PRINTED["sc09"]


@measured
def particles_here(run: Runner) -> dict:
    counts = [10_000, 100_000, 1_000_000] if run.quick else [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000]
    ways = {"single": "one task", "multifile": "multifile", "tasklocal": "task-local files"}
    points = {(way, step): [] for way in ways for step in ("write", "read")}
    for particles in counts:
        found = {key: [] for key in points}
        for _ in range(1 if run.quick else 3):
            report = run.local / "particles.json"
            report.unlink(missing_ok=True)
            run.mpirun(
                8,
                [
                    run.programs.program("particles"),
                    "--particles",
                    particles,
                    "--steps",
                    2,
                    "--checkpoint-every",
                    1,
                    "--io",
                    "all",
                    "--dir",
                    run.directory,
                    "--read-back",
                    "--json",
                    report,
                    "--quiet",
                ],
            )
            for line in map(json.loads, report.read_text().splitlines()):
                if "way" in line:
                    found[line["way"], "write"].append(line["write_s"])
                    found[line["way"], "read"].append(line["read_s"])
        for key, values in found.items():
            points[key].append((particles, middle(values)))
    run.remove("restart*")
    curves = [curve(f"{ways[way]}, {step}", values, "measured") for (way, step), values in points.items()]
    return panel(f"{run.here()}, 8 tasks", "particles", "seconds", curves, log_y=True)


SMALL_CALL = 4096  # bytes: assumed buffer of the Fortran runtime of the original program


def restart_seconds(run: Runner, program: str, particles: int, **more) -> dict[str, float]:
    """Simulates restart files of one rack: one task per node, and 8 I/O nodes."""
    seconds = run.simulate(
        "jugene-2009", program, tasks=1000, bytes=particles * 56 // 1000, tasks_per_client=128, tasks_per_node=1, **more
    )["seconds"]
    return {
        "write": seconds["open"] + seconds["write"] + seconds["close"],
        "read": seconds["open for reading"] + seconds["read"] + seconds["close after reading"],
    }


@figure("sc09-6", PAPER, "restart files of the particle simulation")
def figure_6(run: Runner) -> dict:
    counts = [10_000, 100_000, 1_000_000, 10_000_000, 33_000_000]
    phases = ("write", "read")
    ways = {
        "one task, all of a task in a call": ("one-task", {}),
        f"one task, calls of {SMALL_CALL} bytes": ("one-task", {"call": SMALL_CALL}),
        "multifile": ("multifile", {"files": 1}),
        "task-local files": ("task-files", {}),
    }
    found = {
        way: {n: restart_seconds(run, program, n, **more) for n in counts} for way, (program, more) in ways.items()
    }
    panels = [
        panel(
            f"JUGENE, modelled, 1000 tasks, {phase}",
            "particles",
            "seconds",
            [curve(way, [(n, one[phase]) for n, one in points.items()], "modelled") for way, points in found.items()],
            log_y=True,
        )
        for phase in phases
    ]
    large = []
    for tasks in (16384,) if run.quick else (16384, 65536):
        values = {}
        for particles in (100_000_000, 1_000_000_000, 10_000_000_000):
            seconds = run.simulate("jugene-2009", "multifile", tasks=tasks, bytes=particles * 56 // tasks, files=16)[
                "seconds"
            ]
            for phase, steps in (
                ("write", ("open", "write", "close")),
                ("read", ("open for reading", "read", "close after reading")),
            ):
                values.setdefault(phase, []).append((particles, sum(seconds[step] for step in steps)))
        large += [curve(f"{tasks} tasks, {phase}", points, "modelled") for phase, points in values.items()]
    low = P["figure 6"]["at 33 million particles"][0]
    whole, small = list(ways)[:2]
    last, first = counts[-1], counts[0]

    def gain(way: str, phase: str) -> float:
        return found[way][last][phase] / found["multifile"][last][phase]

    calls = {
        phase: Cause(
            "the paper does not print how the one task writes; here it writes all data of a task in a call",
            f"calls of {SMALL_CALL} bytes",
            functools.partial(gain, small, phase),
        )
        for phase in phases
    }
    return result(
        [
            *panels,
            panel("JUGENE, modelled, multifile of 16 files", "particles", "seconds", large, log_y=True),
            particles_here(run),
        ],
        claims=[
            claim(
                "33 million particles: 1 to 2 orders of magnitude faster with the multifile",
                [
                    *(
                        at_least(f"{phase}, {whole}", low, gain(whole, phase), "times", calls[phase])
                        for phase in phases
                    ),
                    *(at_least(f"{phase}, {small}", low, gain(small, phase), "times") for phase in phases),
                ],
            ),
            claim(
                "the advantage materialises only for larger problems",
                [
                    at_least(
                        f"{first:,} particles, {phase}, multifile over one task",
                        1,
                        found["multifile"][first][phase] / found[whole][first][phase],
                        "times",
                    )
                    for phase in phases
                ],
            ),
        ],
    )


@figure("sc09-table2", PAPER, "activation of a trace measurement (figure 7: the trace tool)")
def table_2(run: Runner) -> dict:
    paper = P["table 2"]
    tasks = paper["tasks"]  # not reduced in a quick run, because only the time of creation grows with the tasks
    many = 8192 if run.quick else tasks  # tasks that write
    # Time of the activation without the files. According to the paper, creating the multifile takes one second.
    beside = paper["multifile"]["activation"] - 1
    each = int(paper["GB"] * 1e9 / paper["tasks"])
    rows, seen, rate = [], {}, {}
    for name, program, more in (("task-local", "task-files", {}), ("multifile", "multifile", {"files": 16})):
        seen[name] = open_seconds("jugene-2009", program, run, tasks, **more)
        rate[name] = bandwidth(
            run.simulate("jugene-2009", program, tasks=many, bytes=each, reads=0, **more)["seconds"],
            "write",
            many * each,
        )
        rows.append(
            [
                name,
                tasks,
                f"{seen[name]:.1f}",
                f"{seen[name] + beside:.1f}",
                f"{rate[name]:.0f}",
                paper[name]["activation"],
                paper[name]["MB/s"],
            ]
        )
    tables = [
        table(
            f"JUGENE, modelled, {tasks} tasks; MB/s with {many}",
            ["files", "tasks", "create s", "activation s", "MB/s", "paper activation s", "paper MB/s"],
            rows,
        ),
        trace_here(run),
    ]
    ratio = (seen["task-local"] + beside) / (seen["multifile"] + beside)
    slight = paper["multifile"]["MB/s"] / paper["task-local"]["MB/s"]
    return result(
        tables=tables,
        claims=[
            claim(
                "activation (table 2)",
                [
                    *(near(name, paper[name]["activation"], seen[name] + beside, "s") for name in seen),
                    near("task-local over multifile", paper["ratio"], ratio, "times"),
                ],
            ),
            claim("write bandwidth (table 2)", [near(name, paper[name]["MB/s"], rate[name]) for name in rate]),
            claim(
                f"the write bandwidth was even slightly improved ({slight:.2f} times): no penalty",
                [at_least("multifile over task-local", 0.99, rate["multifile"] / rate["task-local"], "times")],
            ),
        ],
    )


@measured
def trace_here(run: Runner) -> dict:
    tasks, events = (8, 100_000) if run.quick else (16, 1_000_000)
    rows = []
    for way in ("tasklocal", "multifile"):
        found = []
        for _ in range(run.repeats()):
            text = run.mpirun(
                tasks,
                [
                    run.programs.program("trace_record"),
                    "--dir",
                    run.directory,
                    "--files",
                    way,
                    "--events",
                    events,
                    "--json",
                ],
            )
            found.append(json.loads(text[text.index("{") :]))
            text = run.mpirun(tasks // 2, [run.programs.program("trace_analyse"), "--dir", run.directory, "--json"])
            found[-1]["analysis"] = json.loads(text[text.index("{") :])
        activation = middle([1e3 * one["activation_s"] for one in found])
        rows.append(
            [
                way,
                tasks,
                found[0]["files"],
                f"{activation['value']:.2f} ({activation['least']:.2f} to {activation['most']:.2f})",
                f"{middle([one['raw_bytes'] / MB / one['write_s'] for one in found])['value']:.0f}",
                f"{found[0]['raw_bytes'] / found[0]['stored_bytes']:.1f}",
                f"{middle([one['analysis']['seconds'] for one in found])['value']:.3f}",
            ]
        )
        run.remove("trace*")
    return table(
        f"{run.here()}: examples/trace",
        ["files", "tasks", "files on disk", "activation ms", "MB/s of events", "gzip", "analysis s"],
        rows,
    )
