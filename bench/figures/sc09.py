"""Figures of "Scalable massively parallel I/O to task-local files" (SC'09): creating files."""

from __future__ import annotations

import os

from .judging import Cause, at_least, at_most, claim, near
from .registry import figure, measured, result
from .running import PRINTED, Runner, curve, middle, panel

PAPER = "SC'09"
IN_DIRECTORIES = "a file per task, in directories made before"
P = PRINTED["sc09"]
MB = 1e6


def open_seconds(machine: str, program: str, run: Runner, tasks: int, **more) -> float:
    return run.simulate(machine, program, tasks=tasks, data=0, **more)["seconds"]["open"]


def bandwidth(seconds: dict, phase: str, total: float) -> float:
    """Returns the MB/s of a phase that moves `total` bytes. A write includes the close, which also writes."""
    spent = seconds[phase] + (seconds["close"] if phase == "write" else 0)
    return total / MB / spent


def result_lines(text: str) -> dict[str, dict[str, str]]:
    lines = [
        dict(word.split("=", 1) for word in line.split()[1:])
        for line in text.splitlines()
        if line.startswith("RESULT ")
    ]
    return {line["name"]: line for line in lines}


@measured
def create_here(run: Runner) -> dict:
    """Measures the creation of files, with every task a fiber of one process. The peer creates a file per task
    sequentially, because creations in one directory are sequential anyway."""
    counts = [4, 64, 512, 4096] if run.quick else [4, 32, 256, 2048, 16384, 65536, 294912]
    ways = [
        ("multifile, 1 file", ["--files", 1]),
        ("multifile, 16 files", ["--files", 16]),
        ("multifile, 32 files", ["--files", 32]),
    ]
    ours = {name: [] for name, _ in ways}
    peers = {"a file per task": [], IN_DIRECTORIES: []}
    for tasks in counts:
        for name, words in ways:
            if words[1] > tasks:
                continue
            more = ["--directories"] if words[1] == 16 else []
            if words[1] == 32:
                more = ["--alone"]
            found = []
            for _ in range(run.repeats() if tasks <= 16384 else 1):
                run.say(f"{name}, {tasks} tasks here")
                lines = result_lines(
                    run.output_of(
                        [
                            run.programs.program("bench_create_fibers"),
                            "--dir",
                            run.local,
                            "--tasks",
                            tasks,
                            "--pairs",
                            1,
                            *words,
                            *more,
                        ]
                    )
                )
                found.append(lines["create.parallel/files"])
            ours[name].append((tasks, middle([float(one["ours"]) for one in found])))
            if words[1] < 32:
                peer = IN_DIRECTORIES if more else "a file per task"
                peers[peer].append((tasks, middle([float(one["peer"]) for one in found])))
    curves = [curve(name, points, "measured") for name, points in (peers | ours).items() if points]
    title = f"measured, {os.cpu_count()} cores, every task a fiber"
    return panel(title, "tasks", "seconds to create and open", curves, log_y=True)


def cheaper_opens(run: Runner, tasks: int, peer: float) -> Cause:
    """Returns the cause of a gain that is too small with few tasks. `peer`: seconds with a file per task."""
    less = {"open": 1e-3, "open_again": 0.2e-3}
    return Cause(
        "with few tasks most of the time is spent on opening the files; what an open costs is assumed, not printed: "
        "10 ms, and 2 ms again from the same client",
        "a tenth of that",
        lambda: peer / open_seconds("jugene-2009", "multifile", run, tasks, files=16, **less),
    )


@figure("sc09-3", PAPER, "creating task-local files, and a multifile")
def figure_3(run: Runner) -> dict:
    jugene = [4096, 16384, 65536, 262144] if run.quick else [1024, 4096, 16384, 32768, 65536, 131072, 262144, 294912]
    ways = [("a file per task", "task-files", {}), (IN_DIRECTORIES, "task-files", {"directories": 1})]
    ways += [
        (f"multifile, {files} file{'s' if files > 1 else ''}", "multifile", {"files": files}) for files in (1, 16, 32)
    ]
    # A quick run omits the largest number of tasks, except for the two curves that the paper compares.
    told = {"a file per task", "multifile, 16 files"}
    curves = [
        curve(
            name,
            [
                (n, open_seconds("jugene-2009", program, run, n, **more))
                for n in (jugene[:-1] if run.quick and name not in told else jugene)
            ],
            "modelled",
        )
        for name, program, more in ways
    ]
    curves += [
        curve(name, [(P["figure 3"][f"JUGENE, {name}"]["tasks"], P["figure 3"][f"JUGENE, {name}"]["seconds"])], "paper")
        for name in ("a file per task", "multifile, 16 files")
    ]
    jaguar = [1024, 4096, 12288] if run.quick else [256, 1024, 2048, 4096, 8192, 12288]
    others = [
        ("a file per task, 64 servers", "jaguar", "task-files", {}),
        ("a file per task, 4 servers", "jaguar-narrow", "task-files", {}),
        ("multifile, 32 files, 64 servers", "jaguar", "multifile", {"files": 32}),
    ]
    more = [
        curve(name, [(n, open_seconds(machine, program, run, n, **words)) for n in jaguar], "modelled")
        for name, machine, program, words in others
    ]
    more += [
        curve(name.removeprefix("Jaguar, "), [(one["tasks"], one["seconds"])], "paper")
        for name, one in P["figure 3"].items()
        if "Jaguar" in name
    ]
    by_name = {one["name"]: dict(zip(one["x"], one["y"])) for one in curves + more if one["kind"] == "modelled"}
    task, ours, servers = (
        by_name["a file per task"],
        by_name["multifile, 16 files"],
        by_name["multifile, 32 files, 64 servers"],
    )
    printed = P["figure 3"]
    apart = by_name["a file per task, 64 servers"]
    return result(
        [
            panel("JUGENE, modelled", "tasks", "seconds to create and open", curves, log_y=True),
            panel("Jaguar, modelled", "tasks", "seconds to create and open", more, log_y=True),
            create_here(run),
        ],
        claims=[
            claim(
                "JUGENE, 256 Ki tasks: files took about 33 minutes, a multifile of 16 files only 8 s",
                [
                    near("a file per task", printed["JUGENE, a file per task"]["seconds"], task[262144], "s"),
                    at_most(
                        "multifile of 16 files", printed["JUGENE, multifile, 16 files"]["seconds"], ours[262144], "s"
                    ),
                ],
            ),
            claim(
                "a multifile takes at least an order of magnitude less time",
                [
                    at_least(f"JUGENE, {n} tasks", 10, task[n] / ours[n], "times", cheaper_opens(run, n, task[n]))
                    for n in ours
                ],
            ),
            claim(
                "Jaguar, 12 Ki tasks: 5 min with 64 servers, 4 s with 4, 10 s for a multifile, 30 times less",
                [
                    near(
                        "a file per task, 64 servers",
                        printed["Jaguar, a file per task, 64 servers"]["seconds"],
                        apart[12288],
                        "s",
                    ),
                    near(
                        "a file per task, 4 servers",
                        printed["Jaguar, a file per task, 4 servers"]["seconds"],
                        by_name["a file per task, 4 servers"][12288],
                        "s",
                    ),
                    near(
                        "multifile of 32 files",
                        printed["Jaguar, multifile, 32 files, 64 servers"]["seconds"],
                        servers[12288],
                        "s",
                    ),
                    at_least(
                        "64 servers, file per task over multifile", 30 / 1.35, apart[12288] / servers[12288], "times"
                    ),
                ],
            ),
        ],
    )
