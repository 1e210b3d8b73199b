#!/usr/bin/env python3
"""paper_figures.py [--bin DIR] [--dir DIR] [--out DIR] [--repeats 5]: redraws figures 2 and 4 of the Blue
Gene/L paper with measurements of this machine. fig2.png: balanced against aligned file domains over the
number of blocks. fig4.png: BT-IO with one optimisation after the other disabled (SHEAF_MPIIO_OFF). Prints
the numbers, too."""
import argparse
import os
import pathlib
import subprocess

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plot  # noqa: E402

root = pathlib.Path(__file__).resolve().parents[2]
BLOCK = 256 << 10
# Words for SHEAF_MPIIO_OFF.
CONFIGURATIONS = {"optimised": "", "a plan for every call": "reuse", "one round after the other": "overlap", "neither": "reuse,overlap"}


def seconds(args, tasks, pattern, off, more):
    """Returns the minimum time of each phase."""
    words = [f"LD_PRELOAD={args.bin.parent}/lib/libsheaf_mpiio.so", f"SHEAF_MPIIO_OFF={off}", "SHEAF_CB_WRITE=enable",
             "SHEAF_CB_READ=enable", *more]
    command = [root / "scripts/mpirun.sh", "openmpi", tasks, "env", *words, args.bin / "mpiio_patterns_openmpi", pattern,
               args.dir / f"figures.{os.getpid()}", args.repeats]
    found = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True, timeout=600)
    return {line.split()[1]: float(line.split()[2]) for line in found.stdout.splitlines() if line.startswith("TIME")}


def figure_2(args):
    tasks, numbers = 4, range(4, 21)
    curves = {}
    for name, block, buffer in (("aligned", BLOCK, BLOCK), ("balanced", 1, 250_001)):
        more = [f"SHEAF_BLOCK_SIZE={block}", f"SHEAF_CB_BUFFER_SIZE={buffer}", f"SHEAF_CB_NODES={tasks}", "SHEAF_TOPOLOGY=node=1"]
        curves[name] = [n * BLOCK / 1e6 / seconds(args, tasks, f"region-{n}", "", more)["write"] for n in numbers]
    figure, axes = plot.subplots(figsize=(6, 4))
    for name, curve in curves.items():
        axes.plot(list(numbers), curve, marker="o", label=name)
        print(f"figure 2, {name}, MB/s:", *(f"{n}:{bandwidth:.0f}" for n, bandwidth in zip(numbers, curve)))
    axes.set(xlabel=f"blocks of {BLOCK >> 10} KiB, {tasks} tasks", ylabel="write bandwidth (MB/s)",
             title="Balanced and aligned file domains", ylim=(0, None))
    axes.legend()
    figure.savefig(args.out / "fig2.png", dpi=120, bbox_inches="tight")


def figure_4(args):
    counts, size = (4, 9, 16), 8 * 5 * 64**3
    figure, both = plot.subplots(1, 2, figsize=(10, 4), sharey=True)
    for name, off in CONFIGURATIONS.items():
        # Tasks that share memory need no messages, so every task counts as a host here, as on the paper's machine.
        found = [seconds(args, tasks, "bt-A", off, ["SHEAF_TOPOLOGY=node=1"]) for tasks in counts]
        for axes, phase in zip(both, ("write", "read")):
            curve = [size / 1e6 / times[phase] for times in found]
            axes.plot(counts, curve, marker="o", label=name)
            axes.set(title=f"BT-IO class A, {phase}", xlabel="tasks")
            print(f"figure 4, {phase}, {name}, MB/s:", *(f"{n}:{bandwidth:.0f}" for n, bandwidth in zip(counts, curve)))
    both[0].set(ylabel="bandwidth (MB/s)", ylim=(0, None))
    both[1].legend()
    figure.savefig(args.out / "fig4.png", dpi=120, bbox_inches="tight")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=root / "build/bin")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("/dev/shm"))
    parser.add_argument("--out", type=pathlib.Path, default=root / "bench/plots")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    figure_2(args)
    figure_4(args)


if __name__ == "__main__":
    main()
