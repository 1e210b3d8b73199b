"""Saving and loading checkpoints of PyTorch: one multifile (sheaf.torch) against a file per rank and thread (FileSystemWriter).

python bench/torch_checkpoints.py [--ranks 8] [--mib 1024] [--tensors 400] [--rounds 5] [--directory DIR] [--json FILE]

Each round saves and loads once with each kind, in turn, to new files. Prints medians over the rounds. "sync": the save returns when
the checkpoint would survive a power failure; otherwise when it is in the page cache."""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "python")]

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.distributed.checkpoint as dcp  # noqa: E402
import torch.multiprocessing as processes  # noqa: E402
from torch.distributed.tensor import DTensor, Shard, init_device_mesh  # noqa: E402

from sheaf.torch import SheafReader, SheafWriter  # noqa: E402

COLUMNS = 1024
WAYS = ("FileSystemWriter, 1 thread", "FileSystemWriter, 8 threads", "SheafWriter")


def tools_of(way, path, sync):
    if way == "SheafWriter":
        return SheafWriter(path, durable=sync), SheafReader(path)
    threads = 8 if "8" in way else 1
    return dcp.FileSystemWriter(path, thread_count=threads, sync_files=sync), dcp.FileSystemReader(
        path
    )


def state_of(size, options):
    mesh = init_device_mesh("cpu", (size,))
    rows = max(options.mib * 1024 * 1024 // options.tensors // 4 // COLUMNS // size, 1)
    return {
        f"layer.{number}.weight": DTensor.from_local(torch.rand(rows, COLUMNS), mesh, [Shard(0)])
        for number in range(options.tensors)
    }


def timed(call):
    """Returns the seconds from the common start of all ranks to the last end."""
    dist.barrier()
    begun = time.perf_counter()
    call()
    dist.barrier()
    return time.perf_counter() - begun


def count_files(path):
    return sum(len(files) for _, _, files in os.walk(path)) if os.path.isdir(path) else 1


def remove(path):
    shutil.rmtree(path, ignore_errors=True)
    if os.path.exists(path):
        os.remove(path)


def work(rank, options, directory):
    warnings.simplefilter("ignore")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    store = os.path.join(directory, "store")
    dist.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=options.ranks
    )
    state, path, found, files = (
        state_of(options.ranks, options),
        os.path.join(directory, "step"),
        {},
        {},
    )
    for number in range(options.rounds + 1):  # the first one warms up
        for sync in (False, True):
            for way in WAYS:
                if rank == 0:
                    remove(path)
                    os.sync()
                writer, reader = tools_of(way, path, sync)
                took = [timed(lambda: dcp.save(state, storage_writer=writer))]
                took.append(timed(lambda: dcp.load(state, storage_reader=reader)))
                files[way] = count_files(path)
                if number:
                    found.setdefault((way, sync), []).append(took)
    if rank == 0:
        with open(os.path.join(directory, "result"), "w") as file:
            json.dump([[way, sync, files[way], took] for (way, sync), took in found.items()], file)
    dist.barrier()
    dist.destroy_process_group()


def tell(results):
    """Prints a line for each way, and the ratio of the multifile to the best of the others."""
    medians = {
        (way, sync): [statistics.median(column) for column in zip(*took)]
        for way, sync, _, took in results
    }
    files = {way: count for way, _, count, _ in results}
    print(
        f"{'':28} {'files':>5} {'save':>8} {'load':>8} {'save, sync':>11} {'load':>8}   (s, medians)"
    )
    for way in WAYS:
        (save, load), (save_sync, load_sync) = medians[way, False], medians[way, True]
        print(f"{way:28} {files[way]:5} {save:8.3f} {load:8.3f} {save_sync:11.3f} {load_sync:8.3f}")
    ratios = {}
    for sync in (False, True):
        for number, what in enumerate(("save", "load")):
            best = min(medians[way, sync][number] for way in WAYS[:-1])
            ratios[f"{what}{', sync' if sync else ''}"] = medians[WAYS[-1], sync][number] / best
    print(
        "time of SheafWriter / the better other: "
        + "; ".join(f"{what} {one:.2f}" for what, one in ratios.items())
    )
    return {
        "medians": {f"{way}, sync {sync}": took for (way, sync), took in medians.items()},
        "ratios": ratios,
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--mib", type=int, default=1024, help="of all tensors together")
    parser.add_argument("--tensors", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--directory", default=".", help="on the file system to be measured")
    parser.add_argument("--json", help="medians and ratios as a file")
    options = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="sheaf-bench.", dir=os.path.abspath(options.directory))
    try:
        processes.spawn(work, (options, directory), options.ranks)
        with open(os.path.join(directory, "result")) as file:
            told = tell(json.load(file))
    finally:
        shutil.rmtree(directory)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({**vars(options), **told}, file, indent=2)


if __name__ == "__main__":
    main()
