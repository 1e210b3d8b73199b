"""Figures of "SFIO, parallel file striping for MPI-I/O"."""
from __future__ import annotations

import json

from .registry import figure, measured, result
from .running import PRINTED, Runner, claim, curve, middle, panel, table

PAPER = "SFIO"
P = PRINTED["sfio"]
NETWORKS = {"ethernet": "Fast Ethernet: a full crossbar of 12.5 MB/s per port", "tnet": "TNET: eight crossbars of 12 ports, 50 MB/s per port"}


def simulate(run: Runner, network: str, what: str, **options) -> dict:
    key = ("sfio", network, what, *(f"--{name}={value}" for name, value in options.items()))
    if key not in run.known:
        run.say(f"{network}: {what} " + " ".join(key[3:]))
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        run.known[key] = json.loads(run.output_of([run.programs.program("sheaf_simulate_sfio"), what, "--network", network, *words]))
    return run.known[key]


def spread(one: dict) -> dict:
    return {"value": one["mean"], "least": one["least"], "most": one["most"]}


def network_alone(run: Runner, network: str) -> dict:
    nodes = list(range(2, 33, 2))
    ways = {"nodes one after the other": 1} | ({"nodes by chance": 5 if run.quick else P["runs"]} if network == "tnet" else {})
    curves = []
    for name, runs in ways.items():
        points = [(n, spread(simulate(run, network, "network", nodes=n, bytes=1 << 20, runs=runs)["MB/s"])) for n in nodes]
        curves.append(curve(name, points, "simulated"))
    return panel(f"simulated, {NETWORKS[network]}", "nodes, half of them sending", "MB/s in all", curves, log_x=False)


@figure("sfio-6", PAPER, "the network alone: Fast Ethernet")
def figure_6(run: Runner) -> dict:
    alone = network_alone(run, "ethernet")
    last = alone["curves"][0]["y"][-1]
    return result([alone], claims=[claim("a full crossbar", "throughput grows with the nodes", f"{last:.0f} MB/s with 32 nodes, of which 16 send 12.5", last > 180)])


@figure("sfio-9", PAPER, "the network alone: TNET")
def figure_9(run: Runner) -> dict:
    alone = network_alone(run, "tnet")
    rates = dict(zip(alone["curves"][0]["x"], alone["curves"][0]["y"]))
    steps = {n: rates[n + 2] / rates[n] for n in (8, 16, 24)}
    told = ", ".join(f"{n} to {n + 2}: {one:.2f} times" for n, one in steps.items())
    return result([alone], claims=[claim("the network of crossbars does not grow smoothly", "a significant increase from 8 to 10, 16 to 18, 24 to 26 nodes",
                                         told, min(steps.values()) > 1.1)])


def striped(run: Runner, network: str) -> tuple[list[dict], list[dict]]:
    nodes = [1, 2, 4, 8, 16, 31] if run.quick else [1, 2, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31]
    # In a crossbar all placements are equivalent.
    runs = 1 if network == "ethernet" else 3 if run.quick else P["runs"]
    curves: dict[str, list[dict]] = {"write": [], "read": []}
    # turns: every task starts with a different listener, as local calls do; flow: collective calls; none: all start
    # with the first listener.
    for operation, schedule, name in (("write", "turns", "write"), ("read", "turns", "read"), ("write", "none", "write, no schedule"),
                                      ("write", "flow", "collective write"), ("read", "flow", "collective read")):
        found = [(n, simulate(run, network, operation, nodes=n, bytes=8 << 20, unit=P["unit"], runs=runs, schedule=schedule)["MB/s"]) for n in nodes]
        curves[operation].append(curve(f"{name}, average" if runs > 1 else name, [(n, spread(one)) for n, one in found],
                                       "simulated"))
        if runs > 1:
            curves[operation].append(curve(f"{name}, maximum", [(n, one["most"]) for n, one in found], "simulated"))
    written = curves["write"][0]["y"]
    last = written[-1] / written[0] / nodes[-1]
    places = f", {runs} placements by chance" if runs > 1 else ""
    return ([panel(f"simulated, {operation}, units of {P['unit']} bytes{places}", "compute and I/O nodes", "MB/s in all", ones,
                   log_x=False) for operation, ones in curves.items()],
            [claim(f"throughput grows with the listeners ({network})", "scales well; Fast Ethernet falls for reasons unknown to the authors",
                   f"{nodes[-1]} nodes reach {100 * last:.0f} % of {nodes[-1]} times one node", last > 0.9)])


def sfio_here(run: Runner, rows: list[int], words: list) -> dict[int, dict[str, list[float]]]:
    found: dict[int, dict[str, list[float]]] = {}
    for value in rows:
        tasks, more = (2 * value, words) if not words else (4, [*words, value])
        text = run.mpirun(tasks, [run.programs.program("mpi_bench_sfio_openmpi"), "--dir", run.directory, "--pairs", 2 if run.quick else 5,
                                  "--bytes", "2M" if run.quick else "16M", "--simple", "64K" if run.quick else "256K", "--only", "unoptimised" if words else "limit", *more])
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
    return panel(f"{run.here()}, write", "compute tasks and listeners", "MB/s in all",
                 [curve(name, points, "measured") for name, points in curves.items()], log_x=False)


@figure("sfio-8", PAPER, "striped files over Fast Ethernet, average and maximum")
def figure_8(run: Runner) -> dict:
    panels, claims = striped(run, "ethernet")
    return result([*panels, listeners_here(run)], claims=claims)


@figure("sfio-11", PAPER, "striped files over TNET, placements by chance, average and maximum")
def figure_11(run: Runner) -> dict:
    panels, claims = striped(run, "tnet")
    return result(panels, claims=claims)


@measured
def units_here(run: Runner, sizes: list[int]) -> dict:
    here: dict[str, list] = {}
    size = 2 * (2 if run.quick else 16) * (1 << 20)
    for unit, rows in sfio_here(run, [unit for unit in sizes if unit >= 64], ["--unit"]).items():
        for name, values in rows.items():
            operation = "read" if "read" in name else "write"
            here.setdefault(f"{operation}c", []).append((unit, size / 1e6 / values[0]))
            here.setdefault(operation, []).append((unit, size / 1e6 / values[1]))
    return panel(f"{run.here()}, 2 tasks and 2 listeners", "stripe unit (bytes)", "MB/s in all", [curve(f"m{name}", points, "measured") for name, points in here.items()], log_y=True)


@figure("sfio-units", PAPER, "the stripe unit, from a byte to a megabyte")
def units(run: Runner) -> dict:
    sizes = [1, 16, 200, 4096, 65536, 1 << 20] if run.quick else [1, 4, 16, 64, 200, 1024, 4096, 16384, 65536, 262144, 1 << 20]
    curves = []
    for name, calls in (("mwritec", "optimised"), ("mwrite", "single")):
        found = []
        for unit in sizes:
            # With tiny units a call has as many pieces as bytes, so less data are used.
            size = 1 << 20 if calls == "optimised" and unit >= 16 else min(1 << 20, max(2048 * unit, 4096))
            found.append((unit, simulate(run, "tnet", "write", nodes=4, bytes=size, unit=unit, runs=1, calls=calls)["MB/s"]["mean"]))
        curves.append(curve(name, found, "simulated"))
    gain = curves[0]["y"][sizes.index(200)] / curves[1]["y"][sizes.index(200)]
    panels = [panel("simulated, TNET, 4 nodes", "stripe unit (bytes)", "MB/s in all", curves, log_y=True)]
    return result([*panels, units_here(run, sizes)], claims=[claim("units of 200 bytes: requests gathered in messages against single ones", "the reason for the optimised calls", f"{gain:.0f} times", gain > 5)])
