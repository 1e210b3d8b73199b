"""Kills ranks that save checkpoints: kill_test.py [--moments 200] [--ranks 4] [--seed 0].

Ranks save one version after another under one name. At a random time, SIGKILL ends one rank; successive runs choose
the ranks in turn. Afterwards, the name must refer to a complete checkpoint. Its version must be the last one
with a completed save, or the one that was being saved."""

import argparse
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "..", "python")]

import torch  # noqa: E402
import torch.distributed.checkpoint as dcp  # noqa: E402

import sheaf  # noqa: E402
from ranks import join  # noqa: E402
from sheaf.torch import SheafReader, SheafWriter  # noqa: E402

warnings.simplefilter("ignore")
SIZE, TENSORS = 64 * 1024, 4
GRACE = 1  # seconds for the other ranks to detect the failure


def state_of(rank, version):
    """Returns the state of a rank in a version. No two ranks share a tensor."""
    state = {f"t{i}.{rank}": torch.full((SIZE,), float(version + i)) for i in range(TENSORS)}
    return {**state, "version": version, "pad": "x" * (version * 37 % 5000)}


def saving(rank, size, directory, first, durable, told):
    sys.stderr = open(os.devnull, "w")  # suppresses messages of gloo about dead ranks
    os.dup2(sys.stderr.fileno(), 2)
    try:
        join(rank, size, os.path.join(directory, "store"))
        writer = SheafWriter(os.path.join(directory, "step.sion"), durable=durable)
        told.put((rank, 0))
        for version in range(first, first + 1000):
            dcp.save(state_of(rank, version), storage_writer=writer)
            if rank == 0:
                told.put((rank, version))
    except BaseException:
        pass
    os._exit(0)


def version_of(path, ranks):
    """Returns the version of the checkpoint. Fails if the checkpoint is incomplete."""
    found = {f"t{i}.{rank}": torch.empty(SIZE) for i in range(TENSORS) for rank in range(ranks)}
    found.update(version=None, pad=None)
    dcp.load(found, storage_reader=SheafReader(path), no_dist=True)
    version = found["version"]
    for i in range(TENSORS):
        for rank in range(ranks):
            assert bool((found[f"t{i}.{rank}"] == version + i).all()), (
                f"version {version}: rank {rank} is of another one"
            )
    assert len(found["pad"]) == version * 37 % 5000
    return version


class Run:
    """Ranks that save until one is killed."""

    def __init__(self, options, directory, first, durable):
        forked = multiprocessing.get_context("fork")
        self.told = forked.SimpleQueue()
        self.ranks = [
            forked.Process(
                target=saving, args=(rank, options.ranks, directory, first, durable, self.told)
            )
            for rank in range(options.ranks)
        ]
        for process in self.ranks:
            process.start()
        for _ in self.ranks:
            self.told.get()
        begun = time.monotonic()
        self.first = self.told.get()[1]
        self.took = time.monotonic() - begun

    def newest(self):
        """Returns the last version with a completed save."""
        version = self.first
        while not self.told.empty():
            version = self.told.get()[1]
        return version

    def kill(self, rank):
        os.kill(self.ranks[rank].pid, signal.SIGKILL)
        end = time.monotonic() + GRACE
        for process in self.ranks:
            process.join(max(end - time.monotonic(), 0))
        for process in self.ranks:
            if process.is_alive():
                process.kill()
            process.join()


def leftovers(directory):
    """Removes the temporary files of the killed save and the `store` of the ranks. Returns whether there was a
    temporary file. Fails if there are files of other kinds."""
    found = [name for name in os.listdir(directory) if name != "step.sion"]
    for name in found:
        assert name.startswith("step.sion.sheaf-tmp.") or name == "store", f"'{name}' was left"
        os.remove(os.path.join(directory, name))
    return len(found) > 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    directory = tempfile.mkdtemp(prefix="sheaf-kill.")
    path = os.path.join(directory, "step.sion")
    dcp.save(
        {key: value for rank in range(options.ranks) for key, value in state_of(rank, 1).items()},
        storage_writer=SheafWriter(path),
        no_dist=True,
    )
    at, old, new, inside = 1, 0, 0, 0
    for moment in range(options.moments):
        durable = moment % 4 == 0
        run = Run(options, directory, at + 1, durable)
        time.sleep(chance.uniform(0, 2 * run.took))
        run.kill(moment % options.ranks)
        newest = run.newest()
        found = version_of(path, options.ranks)
        assert newest <= found <= newest + 1, (
            f"moment {moment}: version {found}, and the save of {newest} had returned"
        )
        assert sheaf.verify(path).ok
        old, new, at = old + (found == newest), new + (found > newest), found
        inside += leftovers(directory)
    shutil.rmtree(directory)
    print(
        f"{options.moments} moments, {options.ranks} ranks, seed {options.seed}: {old} times the old "
        f"checkpoint, {new} times the "
        f"new one, {inside} times in the middle of writing, never neither"
    )


if __name__ == "__main__":
    main()
