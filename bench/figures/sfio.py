"""Figures of "SFIO, parallel file striping for MPI-I/O"."""

from __future__ import annotations

import json
from typing import Callable

from .judging import Cause, at_least, at_most, claim, near
from .registry import figure, measured, result
from .running import PRINTED, Runner, curve, panel

PAPER = "SFIO"
P = PRINTED["sfio"]
NETWORKS = {
    "ethernet": "Fast Ethernet: a full crossbar of 12.5 MB/s per port",
    "tnet": "TNET: eight crossbars of 12 ports, 50 MB/s per port",
}


def simulate(run: Runner, network: str, what: str, **options) -> dict:
    key = ("sfio", network, what, *(f"--{name}={value}" for name, value in options.items()))
    if key not in run.known:
        run.say(f"{network}: {what} " + " ".join(key[3:]))
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        command = [run.programs.program("sheaf_simulate_sfio"), what, "--network", network, *words]
        run.known[key] = json.loads(run.output_of(command, timeout=3600))
    return run.known[key]


def spread(one: dict) -> dict:
    return {"value": one["mean"], "least": one["least"], "most": one["most"]}


def network_alone(run: Runner, network: str) -> dict:
    nodes = list(range(2, 33, 2))
    ways = {"nodes one after the other": 1} | (
        {"nodes by chance": 5 if run.quick else P["runs"]} if network == "tnet" else {}
    )
    curves = []
    for name, runs in ways.items():
        points = [
            (n, spread(simulate(run, network, "network", nodes=n, bytes=1 << 20, runs=runs)["MB/s"])) for n in nodes
        ]
        curves.append(curve(name, points, "modelled"))
    return panel(f"modelled, {NETWORKS[network]}", "nodes, half of them sending", "MB/s in all", curves, log_x=False)


@figure("sfio-6", PAPER, "the network alone: Fast Ethernet")
def figure_6(run: Runner) -> dict:
    alone = network_alone(run, "ethernet")
    rates = dict(zip(alone["curves"][0]["x"], alone["curves"][0]["y"]))
    return result(
        [alone],
        claims=[
            claim(
                "a full crossbar: throughput grows with the nodes",
                [near(f"{n} nodes over 2", n / 2, rates[n] / rates[2], "times") for n in rates if n > 2],
            )
        ],
    )


@figure("sfio-9", PAPER, "the network alone: TNET")
def figure_9(run: Runner) -> dict:
    alone = network_alone(run, "tnet")
    rates = dict(zip(alone["curves"][0]["x"], alone["curves"][0]["y"]))
    others = [n for n in rates if n + 2 in rates and n not in (8, 16, 24) and n > 2]
    usual = sorted(rates[n + 2] / rates[n] for n in others)[len(others) // 2]
    return result(
        [alone],
        claims=[
            claim(
                "a significant increase when the number of nodes increases from 8 to 10, 16 to 18 and 24 to 26",
                [
                    at_least(
                        f"{n} to {n + 2} nodes, over the usual step of {usual:.2f} times",
                        1.05,
                        rates[n + 2] / rates[n] / usual,
                        "times",
                    )
                    for n in (8, 16, 24)
                ],
            )
        ],
    )


CONTENTION = 0.1  # assumed: part of a message's time, for every other message that waits at its receiver


def striped(run: Runner, network: str, size: Callable[[int], int], ways: tuple) -> tuple[list[dict], dict]:
    """Simulates transfers of size(nodes) bytes per node to all listeners. `ways`: operation, schedule, contention and
    name of each curve. Returns the panels and the rates by name and number of nodes."""
    nodes = [1, 2, 4, 8, 16, 31] if run.quick else [1, 2, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31]
    # A full crossbar has no routes, so that every placement gives the same rates.
    runs = 1 if network == "ethernet" else 3 if run.quick else P["runs"]
    panels: dict[str, list[dict]] = {"write": [], "read": []}
    found = {}
    for operation, schedule, contention, name in ways:
        for n in nodes:
            found[name, n] = simulate(
                run,
                network,
                operation,
                nodes=n,
                bytes=size(n),
                unit=P["unit"],
                runs=runs,
                schedule=schedule,
                contention=contention,
            )["MB/s"]
        panels[operation].append(curve(f"{name}, average", [(n, spread(found[name, n])) for n in nodes], "modelled"))
        panels[operation].append(curve(f"{name}, maximum", [(n, found[name, n]["most"]) for n in nodes], "modelled"))
    return [
        panel(
            f"modelled, {operation}" + (f", {runs} random placements" if runs > 1 else ""),
            "compute and I/O nodes",
            "MB/s in all",
            ones,
            log_x=False,
        )
        for operation, ones in panels.items()
        if ones
    ], found


def sfio_here(run: Runner, rows: list[int], words: list) -> dict[int, dict[str, list[float]]]:
    found: dict[int, dict[str, list[float]]] = {}
    for value in rows:
        tasks, more = (2 * value, words) if not words else (4, [*words, value])
        text = run.mpirun(
            tasks,
            [
                run.programs.program("mpi_bench_sfio_openmpi"),
                "--dir",
                run.directory,
                "--pairs",
                2 if run.quick else 5,
                "--bytes",
                "2M" if run.quick else "16M",
                "--simple",
                "64K" if run.quick else "256K",
                "--only",
                "unoptimised" if words else "limit",
                *more,
            ],
        )
        for line in text.splitlines():
            if line.startswith("RESULT "):
                one = dict(word.split("=", 1) for word in line.split()[1:])
                found.setdefault(value, {}).setdefault(one["name"], []).extend([float(one["ours"]), float(one["peer"])])
    return found


@measured
def listeners_here(run: Runner) -> dict:
    """Measures writing, compared with plain messages of the same size that the receivers write to files."""
    size = (2 if run.quick else 16) * (1 << 20)
    found = sfio_here(run, [1, 2, 4], [])
    curves: dict[str, list] = {}
    for nodes, rows in found.items():
        for name, (ours, peer) in rows.items():
            unit = "64 KiB" if "-64K-" in name else "200 bytes"
            curves.setdefault(f"units of {unit}", []).append((nodes, nodes * size / 1e6 / ours))
            if unit == "64 KiB":
                curves.setdefault("plain messages", []).append((nodes, nodes * size / 1e6 / peer))
    return panel(
        f"{run.here()}, write",
        "compute tasks and listeners",
        "MB/s in all",
        [curve(name, points, "measured") for name, points in curves.items()],
        log_x=False,
    )


@figure("sfio-8", PAPER, "striped files over Fast Ethernet, average and maximum")
def figure_8(run: Runner) -> dict:
    def size(n: int) -> int:
        """Returns the bytes of a node: the whole file has the same size with any number of nodes."""
        return P["figure 8 bytes"] // n // (8 if run.quick else 1)

    ways = (
        ("write", "none", CONTENTION, "no schedule, contention"),
        ("write", "none", 0, "no schedule"),
        ("write", "turns", 0, "schedule"),
    )
    panels, found = striped(run, "ethernet", size, ways)
    contended = {
        n: found["no schedule, contention", n]["mean"] for name, n in found if name == "no schedule, contention"
    }
    top, last = max(contended, key=contended.get), max(contended)

    def fall(**more) -> float:
        rates = {
            n: simulate(
                run, "ethernet", "write", nodes=n, bytes=size(n), unit=P["unit"], runs=1, schedule="none", **more
            )["MB/s"]["mean"]
            for n in (4, 8, 16, last)
        }
        return rates[last] / max(rates.values())

    cause = Cause(
        "the authors suspect collective operations of their MPI that are not efficient for large data; the model has "
        "no such MPI. If every waiting message costs its receiver all of a message's time",
        "contention 1 instead of 0.1",
        lambda: fall(contention=1),
    )
    return result(
        [*panels, listeners_here(run)],
        claims=[
            claim(
                "the performance falls with many nodes",
                [
                    at_most(
                        f"{last} nodes over the most ({top} nodes)", 0.9, contended[last] / contended[top], "", cause
                    )
                ],
            )
        ],
    )


@figure("sfio-11", PAPER, "striped files over TNET, random placements, average and maximum")
def figure_11(run: Runner) -> dict:
    part = P["subfile bytes"] // 16

    def one_run(size: int) -> float:
        return simulate(run, "tnet", "write", nodes=P["nodes"], bytes=size, unit=P["unit"], runs=1)["MB/s"]["mean"]

    ways = (
        ("write", "turns", 0, "write"),
        ("write", "none", 0, "write, no schedule"),
        ("read", "turns", 0, "read"),
        ("read", "none", 0, "read, no schedule"),
    )
    panels, found = striped(run, "tnet", lambda _: part, ways)
    nodes = sorted({n for _, n in found})
    for one in panels:
        one["curves"].append(curve("end of the paper's axis", [(P["nodes"], P["figure 11 axis MB/s"])], "paper"))
    whole = []
    if not run.quick:  # all placements with the paper's size take hours
        ratio = one_run(P["subfile bytes"]) / one_run(part)
        cell = near(f"{P['nodes']} nodes, over {part / 1e6:g} MB a subfile", 1, ratio, "", tolerance=1.05)
        whole.append(claim("1 GB a subfile: the same rate", [cell]))
    return result(
        panels,
        claims=[
            claim(
                "the throughput scales well with the nodes",
                [
                    near(
                        f"{operation}, {n} nodes over one, average",
                        n,
                        found[operation, n]["mean"] / found[operation, 1]["mean"],
                        "times",
                    )
                    for operation in ("write", "read")
                    for n in nodes[1:]
                ],
            ),
            claim(
                "at most 400 MB/s, the end of the axis of figure 11",
                [
                    at_most(
                        f"{operation}, {P['nodes']} nodes, maximum",
                        1.05 * P["figure 11 axis MB/s"],
                        found[operation, P["nodes"]]["most"],
                        "MB/s",
                    )
                    for operation in ("write", "read")
                ],
            ),
            claim(
                "the speed-up varies slightly with the topology",
                [
                    at_most(
                        f"{operation}, {n} nodes, maximum over average",
                        1.35,
                        found[operation, n]["most"] / found[operation, n]["mean"],
                        "times",
                    )
                    for operation in ("write", "read")
                    for n in nodes[1:]
                ],
            ),
            *whole,
        ],
    )


@measured
def units_here(run: Runner, sizes: list[int]) -> dict:
    here: dict[str, list] = {}
    size = 2 * (2 if run.quick else 16) * (1 << 20)
    for unit, rows in sfio_here(run, [unit for unit in sizes if unit >= 64], ["--unit"]).items():
        for name, values in rows.items():
            operation = "read" if "read" in name else "write"
            here.setdefault(f"{operation}c", []).append((unit, size / 1e6 / values[0]))
            here.setdefault(operation, []).append((unit, size / 1e6 / values[1]))
    return panel(
        f"{run.here()}, 2 tasks and 2 listeners",
        "stripe unit (bytes)",
        "MB/s in all",
        [curve(f"m{name}", points, "measured") for name, points in here.items()],
        log_y=True,
    )


@figure("sfio-units", PAPER, "the stripe unit, from a byte to a megabyte")
def units(run: Runner) -> dict:
    sizes = (
        [1, 16, 200, 4096, 65536, 1 << 20]
        if run.quick
        else [1, 4, 16, 64, 200, 1024, 4096, 16384, 65536, 262144, 1 << 20]
    )
    curves = []
    for name, calls in (("mwritec", "optimised"), ("mwrite", "single")):
        found = []
        for unit in sizes:
            # With tiny units a call has as many pieces as bytes, so less data are used.
            size = 1 << 20 if calls == "optimised" and unit >= 16 else min(1 << 20, max(2048 * unit, 4096))
            found.append(
                (
                    unit,
                    simulate(run, "tnet", "write", nodes=4, bytes=size, unit=unit, runs=1, calls=calls)["MB/s"]["mean"],
                )
            )
        curves.append(curve(name, found, "modelled"))
    gain = curves[0]["y"][sizes.index(200)] / curves[1]["y"][sizes.index(200)]
    panels = [panel("modelled, TNET, 4 nodes", "stripe unit (bytes)", "MB/s in all", curves, log_y=True)]
    return result(
        [*panels, units_here(run, sizes)],
        claims=[
            claim(
                "low stripe units increase the cost; the optimised calls merge their messages",
                [at_least("units of 200 bytes, optimised over single requests", 5, gain, "times")],
            )
        ],
    )
