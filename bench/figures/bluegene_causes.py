"""Causes of what does not hold in the figures of the Blue Gene/L paper, each with the run that varies only it."""

from __future__ import annotations

from typing import Callable

from .bluegene_runs import CONFIGURATIONS, coll_perf, counts, dumps_of_bt, flash, homme
from .judging import Cause
from .running import Runner

TURNS = "overlap"  # the word of SHEAF_MPIIO_OFF


def in_turns(varied: Callable[[], float]) -> Cause:
    """Returns why the library is faster than the paper. `varied`: the value without overlap."""
    why = "in the paper's two-phase I/O, exchange and file phases take turns (3.3); the library overlaps them"
    return Cause(why, "without overlap", varied)


def best(run: Runner, name: str, phase: str) -> Cause | None:
    """Returns why the library exceeds the best bandwidth of a program that the paper prints."""
    programs = {
        "coll_perf": lambda n: coll_perf(run, n, off=TURNS),
        "HOMME": lambda n: homme(run, n, off=TURNS),
        "FLASH, HDF5": lambda n: flash(run, n, "checkpoint", off=TURNS),
        "FLASH, PnetCDF": lambda n: flash(run, n, "checkpoint", off=TURNS),
    }
    if name == "BT-IO":
        why = "the model has no processor time for packing pieces of some hundred bytes at 700 MHz"
        many = counts(run, square=True)[-1]
        packing = {"port": 50e6}
        change = "tasks exchange 50 instead of 150 MB/s, without overlap"
        return Cause(why, change, lambda: dumps_of_bt(run, many, TURNS, **packing)[phase])
    if name not in programs:
        return None
    tasks = counts(run)
    return in_turns(lambda: max(programs[name](n)[phase] for n in tasks[-2:]))


def gain_of_bt(run: Runner, tasks: int, other: str = "") -> Cause | None:
    """Returns why the modelled gain of BT-IO is smaller than the paper's. `other`: an optimisation with which the loss
    without Aligned is compared."""
    # A compute node is its own client of the file system, with its share of the I/O node; all are aggregators.
    apart = {"aggregators": min(tasks, 256), "tasks_per_client": 1, "client_write": 100e6 / 8, "client_read": 110e6 / 8}
    small = min(tasks, 256)

    def write(configuration: str) -> float:
        return dumps_of_bt(run, small, CONFIGURATIONS[configuration], **apart)["write"]

    def varied() -> float:
        if not other:
            return write("Optimized") / write("Pset only")
        best_rate = write("Optimized")
        return (1 - write("No Aligned") / best_rate) / max(1 - write(other) / best_rate, 1e-9)

    return Cause(
        "tasks of an I/O node share its client of the file system, so only borders between I/O nodes conflict; the "
        "paper says that neighbouring aggregators compete for the lock of a block (3.4)",
        f"every compute node a client and an aggregator, {small} tasks",
        varied,
    )
