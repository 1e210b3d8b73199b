"""Figures of "Scalable massively parallel I/O to task-local files" (SC'09)."""
from __future__ import annotations

import json

from .registry import figure, measured, result
from .running import MACHINES, PRINTED, Runner, claim, curve, middle, panel, table

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
    lines = [dict(word.split("=", 1) for word in line.split()[1:]) for line in text.splitlines() if line.startswith("RESULT ")]
    return {line["name"]: line for line in lines}


@measured
def create_here(run: Runner) -> dict:
    """Measures the creation of files, with every task a fiber of one process. The peer creates a file per task
    sequentially, because creations in one directory are sequential anyway."""
    counts = [4, 64, 512, 4096] if run.quick else [4, 32, 256, 2048, 16384, 65536, 294912]
    ways = [("multifile, 1 file", ["--files", 1]), ("multifile, 16 files", ["--files", 16]), ("multifile, 32 files", ["--files", 32])]
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
                lines = result_lines(run.output_of([run.programs.program("bench_create_fibers"), "--dir", run.local, "--tasks", tasks,
                                                    "--pairs", 1, *words, *more]))
                found.append(lines["create.parallel/files"])
            ours[name].append((tasks, middle([float(one["ours"]) for one in found])))
            if words[1] < 32:
                peer = IN_DIRECTORIES if more else "a file per task"
                peers[peer].append((tasks, middle([float(one["peer"]) for one in found])))
    curves = [curve(name, points, "measured") for name, points in (peers | ours).items() if points]
    return panel("this machine, every task a fiber", "tasks", "seconds to create and open", curves, log_y=True)


@figure("sc09-3", PAPER, "creating task-local files, and a multifile")
def figure_3(run: Runner) -> dict:
    jugene = [4096, 16384, 65536, 262144] if run.quick else [1024, 4096, 16384, 32768, 65536, 131072, 262144, 294912]
    ways = [("a file per task", "task-files", {}), (IN_DIRECTORIES, "task-files", {"directories": 1})]
    ways += [(f"multifile, {files} file{'s' if files > 1 else ''}", "multifile", {"files": files}) for files in (1, 16, 32)]
    # A quick run omits the largest number of tasks, except for the two curves that the paper compares.
    told = {"a file per task", "multifile, 16 files"}
    curves = [curve(name, [(n, open_seconds("jugene-2009", program, run, n, **more))
                           for n in (jugene[:-1] if run.quick and name not in told else jugene)], "simulated")
              for name, program, more in ways]
    curves += [curve(name, [(P["figure 3"][f"JUGENE, {name}"]["tasks"], P["figure 3"][f"JUGENE, {name}"]["seconds"])], "paper")
               for name in ("a file per task", "multifile, 16 files")]
    jaguar = [1024, 4096, 12288] if run.quick else [256, 1024, 2048, 4096, 8192, 12288]
    others = [("a file per task, 64 servers", "jaguar", "task-files", {}), ("a file per task, 4 servers", "jaguar-narrow", "task-files", {}),
              ("multifile, 32 files, 64 servers", "jaguar", "multifile", {"files": 32})]
    more = [curve(name, [(n, open_seconds(machine, program, run, n, **words)) for n in jaguar], "simulated") for name, machine, program, words in others]
    more += [curve(name.removeprefix("Jaguar, "), [(one["tasks"], one["seconds"])], "paper") for name, one in P["figure 3"].items() if "Jaguar" in name]
    many = max(jugene)
    files, ours = (open_seconds("jugene-2009", program, run, many, **words) for program, words in (("task-files", {}), ("multifile", {"files": 16})))
    return result([panel("JUGENE, simulated", "tasks", "seconds to create and open", curves, log_y=True),
                   panel("Jaguar, simulated", "tasks", "seconds to create and open", more, log_y=True), create_here(run)],
                  claims=[claim(f"creating for {many} tasks: minutes become seconds", "33 min and 8 s (262,144 tasks)",
                                f"{files / 60:.0f} min and {ours:.1f} s", files > 300 and ours < 30)])


@measured
def physical_files_here(run: Runner) -> dict:
    size = "8M" if run.quick else "64M"
    found = [(files, run.rates(8, "-n", files, "-s", size, "-b", "1M", "-q", -1, "-r", "64M", "-Z", 1)) for files in (1, 2, 4, 8)]
    curves = [curve(operation, [(files, one[0, operation]) for files, one in found], "measured") for operation in ("write", "read")]
    return panel(f"{run.here()}, 8 tasks", "physical files", "MB/s", curves)


@figure("sc09-4", PAPER, "bandwidth against physical files")
def figure_4(run: Runner) -> dict:
    tasks, each = (16384, 4 << 20) if run.quick else (65536, 8 << 20)
    counts = [1, 2, 4, 8, 16, 32, 128, 512, 2048]
    curves = []
    for phase in ("write", "read"):
        found = [(files, bandwidth(run.simulate("jugene-2009", "multifile", tasks=tasks, bytes=each, files=files)["seconds"], phase, tasks * each))
                 for files in counts]
        curves.append(curve(phase, found, "simulated"))
    curves.append(curve("limit of the file system", [(counts[-1], P["figure 4"]["JUGENE limit MB/s"])], "paper"))
    lustre = []
    clients, share = (1024, 32 << 20) if run.quick else (2048, 128 << 20)
    for name, machine in (("4 servers, stripes of 1 MiB", "jaguar-narrow"), ("72 servers, stripes of 8 MiB", "jaguar")):
        for phase in ("write", "read"):
            found = [(files, bandwidth(run.simulate(machine, "multifile", tasks=clients, bytes=share, files=files)["seconds"], phase, clients * share))
                     for files in (1, 4, 16, 64, 256)]
            lustre.append(curve(f"{name}, {phase}", found, "simulated"))
    lustre.append(curve("limit of the file system", [(256, P["figure 4"]["Jaguar limit MB/s"])], "paper"))
    one, many = curves[0]["y"][0], max(curves[0]["y"])
    enough = next(files for files, y in zip(counts, curves[0]["y"]) if y > 0.9 * many)
    return result([panel(f"JUGENE, simulated, {tasks} tasks", "physical files", "MB/s", curves),
                   panel(f"Jaguar, simulated, {clients} tasks", "physical files", "MB/s", lustre), physical_files_here(run)],
                  claims=[claim("one file does not use the file system of JUGENE, 8 to 16 do", "saturated between 8 and 16 files",
                                f"one file {one:.0f}, at most {many:.0f} MB/s, nine tenths of that with {enough} files", one < 0.5 * many and 4 <= enough <= 32)])


@measured
def alignment_here(run: Runner) -> dict:
    rows = []
    for name, words in (("4 KiB", ["-q", 4096]), ("512 bytes, from an odd place", ["-q", 512, "-r", 8388608 + 512, "-O", 1000])):
        found = run.rates(8, "-s", "8M" if run.quick else "64M", "-b", "1M", "-r", "8M", "-Z", 1, *words)
        one, other = found[0, "write"], found[0, "read"]
        rows.append([name, *(f"{value['value']:.0f} ({value['least']:.0f} to {value['most']:.0f})" for value in (one, other))])
    return table(f"{run.here()}, 8 tasks, MB/s", ["blocks of", "write", "read"], rows)


@figure("sc09-table1", PAPER, "chunks aligned with blocks of the file system, and not")
def table_1(run: Runner) -> dict:
    tasks, each = 32768, 8 << 20
    rows, found = [], {}
    for name, told in (("2 MiB", 0), ("16 KiB", 16384)):
        seen = run.simulate("jugene-2009", "multifile", tasks=tasks, bytes=each, files=16, told=told)
        found[name] = [bandwidth(seen["seconds"], phase, tasks * each) for phase in ("write", "read")]
        paper = P["table 1"]["aligned" if told == 0 else "16 KiB"]
        rows.append([name, *(f"{one:.0f}" for one in found[name]), paper["write"], paper["read"], seen["counts"]["revoked"], seen["counts"]["partial_blocks"]])
    ratios = [a / b for a, b in zip(found["2 MiB"], found["16 KiB"])]
    rows.append(["ratio", *(f"{one:.2f}" for one in ratios), P["table 1"]["write ratio"], P["table 1"]["read ratio"], "", ""])
    return result(tables=[table(f"JUGENE, simulated, {tasks} tasks, 16 files, MB/s", ["blocks of", "write", "read", "paper write", "paper read", "blocks taken", "partial blocks"], rows),
                          alignment_here(run)],
                  claims=[claim("aligned chunks are written about twice as fast", "1.95 times", f"{ratios[0]:.2f} times", 1.5 < ratios[0] < 3)])


@measured
def organisations_here(run: Runner) -> dict:
    counts = [1, 2, 4, 8] if run.quick else [1, 2, 4, 8, 16]
    words = ["-T", "0,3", "-s", "8M" if run.quick else "64M", "-b", "1M", "-r", "64M", "-q", -1, "-Z", 1]
    found = [(tasks, run.rates(tasks, *words, more={"SHEAF_FLAGS": "files=auto"})) for tasks in counts]
    curves = [curve(f"{name}, {operation}", [(tasks, one[kind, operation]) for tasks, one in found], "measured")
              for kind, name in ((0, "multifile"), (3, "a file per task")) for operation in ("write", "read")]
    return panel(run.here(), "tasks", "MB/s", curves)


@figure("sc09-5", PAPER, "a multifile and task-local files over tasks")
def figure_5(run: Runner) -> dict:
    # Every task has at least one block.
    total = (128 << 30) if run.quick else (256 << 30)
    machines = {"JUGENE": ([1024, 4096, 16384, 65536] if run.quick else [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072],
                           "jugene-2009", "jugene-2009"),
                "Jaguar": ([256, 1024, 4096] if run.quick else [128, 256, 512, 1024, 2048, 4096, 8192], "jaguar", "jaguar-narrow")}
    panels, claims = [], []
    for name, (counts, ours, theirs) in machines.items():
        curves = []
        for label, machine, program, more in (("multifile, 32 files", ours, "multifile", {"files": 32}), ("a file per task", theirs, "task-files", {})):
            for phase in ("write", "read"):
                found = [(n, bandwidth(run.simulate(machine, program, tasks=n, bytes=total // n, **more)["seconds"], phase, total)) for n in counts]
                curves.append(curve(f"{label}, {phase}", found, "simulated"))
        curves.append(curve("limit of the file system", [(counts[-1], P["figure 4"][f"{name} limit MB/s"])], "paper"))
        panels.append(panel(f"{name}, simulated, {total >> 30} GiB", "tasks", "MB/s", curves))
        best, peer = max(curves[0]["y"]), max(curves[2]["y"])
        claims.append(claim(f"{name}: no penalty of the multifile when writing", "none on JUGENE, better on Jaguar",
                            f"at most {best:.0f} MB/s against {peer:.0f} MB/s", best > 0.95 * peer))
    return result([*panels, organisations_here(run)], claims=claims)


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
            run.mpirun(8, [run.programs.program("particles"), "--particles", particles, "--steps", 2, "--checkpoint-every", 1, "--io", "all",
                           "--dir", run.directory, "--read-back", "--json", report, "--quiet"])
            for line in map(json.loads, report.read_text().splitlines()):
                if "way" in line:
                    found[line["way"], "write"].append(line["write_s"])
                    found[line["way"], "read"].append(line["read_s"])
        for key, values in found.items():
            points[key].append((particles, middle(values)))
    run.remove("restart*")
    curves = [curve(f"{ways[way]}, {step}", values, "measured") for (way, step), values in points.items()]
    return panel(f"{run.here()}, 8 tasks", "particles", "seconds", curves, log_y=True)


@figure("sc09-6", PAPER, "restart files of the particle simulation")
def figure_6(run: Runner) -> dict:
    counts = [10_000, 100_000, 1_000_000, 10_000_000, 33_000_000]
    ways = (("one task", "one-task", {}), ("multifile", "multifile", {"files": 1}), ("task-local files", "task-files", {}))
    curves = []
    for name, program, more in ways:
        for phase in ("write", "read"):
            opening = "open" if phase == "write" else "open for reading"
            found = []
            for particles in counts:
                # Models one rack: one task per node, and 8 I/O nodes.
                seconds = run.simulate("jugene-2009", program, tasks=1000, bytes=particles * 56 // 1000, tasks_per_client=128, tasks_per_node=1, **more)["seconds"]
                closing = "close" if phase == "write" else "close after reading"
                found.append((particles, seconds[opening] + seconds[phase] + seconds[closing]))
            curves.append(curve(f"{name}, {phase}", found, "simulated"))
    single, ours = curves[0], curves[2]
    crossing = next((x for x, a, b in zip(counts, single["y"], ours["y"]) if b < a), None)
    gain = [curves[i]["y"][-1] / curves[2 + i]["y"][-1] for i in (0, 1)]
    rate = 33e6 * 56 / MB / single["y"][-1]
    large = []
    for tasks in (16384,) if run.quick else (16384, 65536):
        for phase in ("write", "read"):
            found = []
            for particles in (100_000_000, 1_000_000_000, 10_000_000_000):
                seconds = run.simulate("jugene-2009", "multifile", tasks=tasks, bytes=particles * 56 // tasks, files=16)["seconds"]
                opening, closing = ("open", "close") if phase == "write" else ("open for reading", "close after reading")
                found.append((particles, seconds[opening] + seconds[phase] + seconds[closing]))
            large.append(curve(f"{tasks} tasks, {phase}", found, "simulated"))
    return result([panel("JUGENE, simulated, 1000 tasks", "particles", "seconds", curves, log_y=True),
                   panel("JUGENE, simulated, multifile of 16 files", "particles", "seconds", large, log_y=True), particles_here(run)],
                  claims=[claim("restart files of 33 million particles, multifile against one task", P["figure 6"]["at 33 million particles"],
                                f"writing {gain[0]:.1f}, reading {gain[1]:.1f} times faster; the multifile is faster from {crossing:,} particles on",
                                min(gain) > 10,
                                f"one task gathers and writes {rate:.0f} MB/s in the model, which assumes 100 MB/s for a task's own calls; "
                                f"10 times needs {rate * gain[0] / 10:.0f} MB/s. The paper does not print what the one task reached")])


@figure("sc09-table2", PAPER, "activation of a trace measurement (figure 7: the trace tool)")
def table_2(run: Runner) -> dict:
    paper = P["table 2"]
    tasks = paper["tasks"]  # not reduced in a quick run, because only the time of creation grows with the tasks
    many = 8192 if run.quick else tasks  # tasks that write
    # Time of the activation without the files. According to the paper, creating the multifile takes one second.
    beside = paper["multifile"]["activation"] - 1
    each = paper["GB"] * 1e9 / paper["tasks"]
    rows, seen = [], {}
    for name, program, more, key in (("task-local", "task-files", {}, "task-local"), ("multifile", "multifile", {"files": 16}, "multifile")):
        seen[name] = open_seconds("jugene-2009", program, run, tasks, **more)
        seconds = run.simulate("jugene-2009", program, tasks=many, bytes=int(each), reads=0, **more)["seconds"]
        rows.append([name, tasks, f"{seen[name]:.1f}", f"{seen[name] + beside:.1f}", f"{bandwidth(seconds, 'write', many * int(each)):.0f}",
                     paper[key]["activation"], paper[key]["MB/s"]])
    ratio = (seen["task-local"] + beside) / (seen["multifile"] + beside)
    tables = [table(f"JUGENE, simulated, {tasks} tasks; MB/s with {many}", ["files", "tasks", "create s", "activation s", "MB/s", "paper activation s", "paper MB/s"], rows)]
    tables.append(trace_here(run))
    return result(tables=tables, claims=[claim("activation of the trace tool", f"{paper['ratio']} times faster",
                                               f"{ratio:.1f} times at {tasks} tasks; the files alone {seen['task-local'] / seen['multifile']:.0f} times", ratio > 8)])


@measured
def trace_here(run: Runner) -> dict:
    tasks, events = (8, 100_000) if run.quick else (16, 1_000_000)
    rows = []
    for way in ("tasklocal", "multifile"):
        found = []
        for _ in range(run.repeats()):
            text = run.mpirun(tasks, [run.programs.program("trace_record"), "--dir", run.directory, "--files", way, "--events", events, "--json"])
            found.append(json.loads(text[text.index("{"):]))
            text = run.mpirun(tasks // 2, [run.programs.program("trace_analyse"), "--dir", run.directory, "--json"])
            found[-1]["analysis"] = json.loads(text[text.index("{"):])
        activation = middle([1e3 * one["activation_s"] for one in found])
        rows.append([way, tasks, found[0]["files"], f"{activation['value']:.2f} ({activation['least']:.2f} to {activation['most']:.2f})",
                     f"{middle([one['raw_bytes'] / MB / one['write_s'] for one in found])['value']:.0f}",
                     f"{found[0]['raw_bytes'] / found[0]['stored_bytes']:.1f}", f"{middle([one['analysis']['seconds'] for one in found])['value']:.3f}"])
        run.remove("trace*")
    return table(f"{run.here()}: examples/trace", ["files", "tasks", "files on disk", "activation ms", "MB/s of events", "gzip", "analysis s"], rows)
