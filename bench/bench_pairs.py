"""Common parts of the benchmark scripts: alternating pairs of runs, the minimum of several runs on each
side, the median of the ratios within a pair, and the machine-readable line. bench_common.hpp explains the
reasons."""
import contextlib
import pathlib
import statistics
import subprocess
import sys


def file_system(directory):
    found = subprocess.run(["stat", "-f", "-c", "%T", directory], capture_output=True, text=True)
    return found.stdout.strip().replace("ext2/ext3", "ext4")


@contextlib.contextmanager
def kept_memory(wanted):
    """Disables the reporting of free pages to the host. The kernel reports pages of the given order and
    above; none are above the largest, 4 MiB."""
    order = pathlib.Path("/sys/module/page_reporting/parameters/page_reporting_order")
    if not wanted:
        yield
        return
    try:
        before = order.read_text()
        order.write_text("11")
    except OSError as error:
        sys.exit(f"--keep-memory: this kernel does not let it ({error}); run without")
    try:
        yield
    finally:
        order.write_text(before)


def result(name, directory, ratios, ours, peer, target):
    ratio = statistics.median(ratios)
    print(f"RESULT name={name} fs={file_system(directory)} ratio={ratio:.4g} min={min(ratios):.4g} "
          f"max={max(ratios):.4g} ours={statistics.median(ours):.4g} peer={statistics.median(peer):.4g} "
          + (f"target=<={target:g} pass={'yes' if ratio <= target else 'no'}" if target else "target=- pass=-"),
          flush=True)


def compare(rows, directory, pairs, ours, peer, repeats=4):
    """Compares `ours` and `peer`: callables that run once and return the seconds of each row. In its turn
    each runs `repeats` times. `rows`: names and maximum ratios (0: reported only)."""
    own, other = [], []
    for pair in range(1, pairs + 1):
        times = {}
        for which in ((ours, peer) if pair % 2 == 0 else (peer, ours)):
            times[which] = [min(row) for row in zip(*(which() for _ in range(repeats)))]
        own.append(times[ours])
        other.append(times[peer])
        for (name, _), a, b in zip(rows, own[-1], other[-1]):
            print(f"  {name:28s} pair {pair:2d}  ours {1e3 * a:9.3f} ms  peer {1e3 * b:9.3f} ms  ratio {a / b:.4f}",
                  flush=True)
    for row, (name, target) in enumerate(rows):
        a, b = [times[row] for times in own], [times[row] for times in other]
        result(name, directory, [x / y for x, y in zip(a, b)], a, b, target)
