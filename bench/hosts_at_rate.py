"""bench_hosts.py --rate: patterns on hosts with links of a limited rate, so that the network is the limit."""
import dataclasses
import statistics

from context import BIN
from links import Link, Links, Recorder
from rack import TimedOut

# Smaller than without a limit: each takes about a second.
PATTERNS = ("contiguous-1048576-4194304", "contiguous-65536-4194304", "strided-4096", "coll_perf", "view",
            "irregular-1024", "e3sm")


@dataclasses.dataclass
class Measured:
    """A phase of a run."""
    seconds: float
    links: dict[str, Link]
    idle: float  # share of the time of all processors

    def busiest(self):
        return max(link.busiest() for link in self.links.values())


def floor_bytes(fs, name, size, hosts):
    """Returns the bytes that must cross the busiest link in one direction if nothing is wasted. `size`: bytes of the
    file. A pattern that needs an exchange moves all but 1/hosts of each host's bytes to another host, unless the
    file system stores everything on one host: then that host accesses the file."""
    share = size / hosts
    if fs.one_server:
        return size - share
    return share if name.startswith("contiguous") else share * (1 + (hosts - 1) / hosts)


def run(context, links, args, name, settings, phase, file):
    """Returns what the phase has taken; None if the run failed or read wrong bytes. Each host reads bytes of
    a different host, so that none come from its own cache."""
    program = ["env", *settings, BIN / "mpiio_patterns_openmpi", name, file, phase]
    hosts = context.rack.hosts if phase == "write" else context.rack.hosts[1:] + context.rack.hosts[:1]
    with Recorder(links) as recorder:
        try:
            code, output = context.mpirun(args.tasks, program, args.placement, None, args.patience, hosts)
        except TimedOut:
            return None
    spans = {words[1]: (float(words[2]), float(words[3])) for words in map(str.split, output.splitlines())
             if words[:1] == ["SPAN"]}
    if code != 0 or "WRONG" in output or phase not in spans:
        return None
    begin, end = spans[phase]
    return Measured(end - begin, *recorder.traffic(begin, end))


def right_ones(context, links, args, name, implementations):
    """Lets each implementation write the file and read it. Returns those that agree on its bytes, by name, and the
    size of the file. The first implementation that reads back what it wrote decides."""
    found = {}
    for who, settings in implementations.items():
        file = context.directory() / "data"
        done = [run(context, links, args, name, settings, phase, file) for phase in ("write", "read")]
        if None in done:
            print(f"{context.fs.name} {name}: {who} fails, or reads wrong bytes", flush=True)
            continue
        words = context.rack.on("h1", f"sha256sum {file}; stat -c %s {file}; rm {file}").split()
        found[who] = words[0], int(words[2])
    if not found:
        return {}, 0
    right = next(iter(found.values()))
    for who in [who for who, digest in found.items() if digest != right]:
        print(f"{context.fs.name} {name}: {who} writes other bytes", flush=True)
        del found[who]
    return {who: implementations[who] for who in found}, right[1]


def row_of(fs, links, name, phase, runs, floor):
    row = {"fs": fs.name, "pattern": name, "phase": phase, "rate": links.rate, "floor_bytes": floor,
           "floor_seconds": 8 * floor / links.rate, "runs": {}}
    for who, measured in runs.items():
        row["runs"][who] = [{"seconds": m.seconds, "idle": m.idle, "busiest": m.busiest(),
                             "links": {host: dataclasses.asdict(link) for host, link in m.links.items()}}
                            for m in measured]
    medians = {who: statistics.median(m.seconds for m in measured) for who, measured in runs.items() if measured}
    peers = [seconds for who, seconds in medians.items() if who != "sheaf"]
    if "sheaf" in medians:
        row["to_floor"] = medians["sheaf"] / row["floor_seconds"]
        if peers:
            row["ratio"] = medians["sheaf"] / min(peers)
    return row


def show(row):
    floor = row["floor_bytes"]
    text = f"{row['fs']} {row['pattern']} {row['phase']}: floor {row['floor_seconds']:.3f} s"
    if "to_floor" in row:
        text += f", sheaf {row['to_floor']:.2f} x floor"
    text += f", ratio {row['ratio']:.2f}" if "ratio" in row else ", no ratio"
    for who, runs in row["runs"].items():
        times = [one["seconds"] for one in runs]
        median = statistics.median_low(times)
        one = runs[times.index(median)]
        traffic = "  ".join(f"{host} {link['out_bytes'] / 1e6:.1f}/{link['in_bytes'] / 1e6:.1f} MB"
                            f" {link['out_packets']:.0f}/{link['in_packets']:.0f}" for host, link in one["links"].items())
        text += (f"\n  {who:6} {statistics.median(times):.3f} s ({min(times):.3f} to {max(times):.3f})"
                 f"  idle {one['idle']:.0%}  busiest {one['busiest'] / floor:.2f} x floor  out/in {traffic} packets")
    print(text, flush=True)


def measure(context, args, rate, names, implementations):
    """Runs the patterns with the links limited, and prints a block per pattern and phase. Returns the rows."""
    links = Links(context.rack)
    links.limit_to_reachable(rate)
    print(f"{context.fs.name}: links of {links.rate / 1e6:.0f} Mbit/s", flush=True)
    rows = []
    for name in names:
        right, size = right_ones(context, links, args, name, implementations)
        found = {phase: {who: [] for who in right} for phase in ("write", "read")}
        for _ in range(args.runs):
            for who, settings in right.items():
                file = context.directory() / "data"
                for phase, runs in found.items():
                    if measured := run(context, links, args, name, settings, phase, file):
                        runs[who].append(measured)
                context.rack.on("h1", f"rm -f {file}")
        for phase, runs in found.items():
            rows.append(row_of(context.fs, links, name, phase, {who: all for who, all in runs.items() if all},
                               floor_bytes(context.fs, name, size, len(context.rack.hosts))))
            show(rows[-1])
    return rows
