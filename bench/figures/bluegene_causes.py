"""Causes of what does not hold in the figures of the Blue Gene/L paper, each with the run that varies only it."""

from __future__ import annotations

import functools
from typing import Callable

from .bluegene_runs import CONFIGURATIONS, coll_perf, counts, dumps_of_bt, flash, homme
from .judging import Cause
from .running import MACHINES, Runner

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


def layout_of_homme(run: Runner, phase: str) -> Cause:
    """Returns why collective calls gain more than in the paper with the largest number of tasks."""
    tasks, arrays = counts(run)[-1], 26

    def gain() -> float:
        return homme(run, tasks, arrays)[phase] / homme(run, tasks, arrays, off="loop")[phase]

    return Cause(
        "the paper does not describe the file; here each level of each of 6 variables is an array, over whose blocks "
        "all tasks are spread. The fewer arrays, the fewer tasks compete for a block in the loop",
        f"the variables of a level stored together, {arrays} arrays",
        gain,
    )


def loss_of_bt(run: Runner, tasks: int, configuration: str, phase: str = "write", **more) -> float:
    """Returns the share of the bandwidth of BT-IO that a configuration loses compared with Optimized. `more`: numbers of
    the machine and options of the program that differ."""
    optimized, found = (
        dumps_of_bt(run, tasks, CONFIGURATIONS[name], **more)[phase] for name in ("Optimized", configuration)
    )
    return 1 - found / optimized


def gain_of_bt(run: Runner, tasks: int, other: str = "") -> Cause:
    """Returns why the modelled losses of BT-IO differ from the paper's. The value is the gain over Pset only; with
    `other`, the loss without Aligned over that without this optimisation; with "read", the loss of Pset only in writing
    over that in reading."""
    # A compute node is its own client of the file system, with its share of the I/O node; all are aggregators. A RAID
    # reads and writes data and parity of a part of a block.
    some = min(tasks, 256)
    apart = {
        "aggregators": some,
        "tasks_per_client": 1,
        "client_write": 100e6 / 8,
        "client_read": 110e6 / 8,
        "partial": 4,
    }

    loss = functools.partial(loss_of_bt, run, some, **apart)

    def varied() -> float:
        if not other:
            return 1 / (1 - loss("Pset only"))
        if other == "read":
            return loss("Pset only") / max(loss("Pset only", "read"), 1e-9)
        return loss("No Aligned") / max(loss(other), 1e-9)

    return Cause(
        "what a shared block costs is assumed: tasks of an I/O node share its client of the file system, and a part of "
        "a block costs two. The paper says that neighbouring aggregators compete for the lock of a block (3.4)",
        f"every compute node a client and an aggregator, a part of a block costs four, {some} tasks",
        varied,
    )


def growth_of_loss(run: Runner, name: str, small: int, large: int) -> Cause:
    """Returns why a loss of BT-IO does not grow with the tasks. The value is the loss with `large` tasks over the loss
    with `small`."""
    numbers = MACHINES["bluegene-l"]["numbers"]
    fast = {one: 4 * numbers[one] for one in ("server_write", "server_read")}
    fast["server_request"] = numbers["server_request"] / 4

    def loss(tasks: int) -> float:
        return loss_of_bt(run, tasks, name, **fast)

    return Cause(
        "in the model the servers are the limit with so many tasks, and a longer exchange does not show; in the paper BT-IO "
        "writes 870 MB/s, less than half of what its servers can (2.0 GB/s)",
        "servers four times as fast",
        lambda: loss(large) / max(loss(small), 1e-9),
    )
