"""Runs a function on several ranks: processes forked from one that has loaded PyTorch, connected by gloo."""

import multiprocessing
import os
import tempfile
import traceback
import warnings

import torch
import torch.distributed as dist

torch.set_num_threads(1)  # threads do not survive a fork
warnings.filterwarnings("ignore", message="torch.distributed is disabled")

_forked = multiprocessing.get_context("fork")
PATIENCE = 120  # seconds


def join(rank, size, store):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)


def _one(rank, size, store, function, arguments, answers):
    try:
        join(rank, size, store)
        answers.put((rank, True, function(rank, size, *arguments)))
        dist.barrier()
        dist.destroy_process_group()
    except BaseException:
        answers.put((rank, False, traceback.format_exc()))


def on_ranks(size, function, *arguments):
    """Returns the results of function(rank, size, *arguments) on all ranks, or fails with the traceback of a rank."""
    answers = _forked.Queue()
    with tempfile.TemporaryDirectory() as directory:
        processes = [
            _forked.Process(
                target=_one, args=(rank, size, f"{directory}/store", function, arguments, answers)
            )
            for rank in range(size)
        ]
        for process in processes:
            process.start()
        found = {}
        try:
            while len(found) < size:
                rank, good, answer = answers.get(timeout=PATIENCE)
                assert good, f"rank {rank}: {answer}"
                found[rank] = answer
        finally:
            for process in processes:
                process.join(timeout=20 if len(found) == size else 0)
                if process.is_alive():
                    process.kill()
                    process.join()
    return [found[rank] for rank in range(size)]
