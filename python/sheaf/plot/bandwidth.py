"""Bandwidths measured by ``sheaf-partest --json``, of one run or of several."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Sequence, Tuple, Union, cast

import numpy as np
from matplotlib.figure import Figure

from ..errors import InvalidArgumentError

COLORS = ("#2f6db5", "#e08a1e", "#3a9a5b", "#8e5bb0", "#7d6b5d")
Path = Union[str, "os.PathLike[str]"]


def load(path: Path) -> Dict[str, Any]:
    """Returns the report of a run."""
    name = os.fspath(path)
    with open(name, encoding="utf-8", errors="replace") as file:
        text = file.read()
    try:
        report: Any = json.loads(text)
    except ValueError:
        report = None
    facts = cast("Dict[str, Any]", report) if isinstance(report, dict) else {}
    if "phases" not in facts or facts.get("program") != "sheaf-partest":
        raise InvalidArgumentError(
            f"'{name}' is neither a multifile nor what `sheaf-partest --json` prints", path=name
        )
    return facts


def draw_bandwidths(paths: Sequence[Path]) -> Figure:
    """Draws bars of bandwidth by kind of file, or curves over the number of tasks if the runs differ in
    it. One panel per operation: the bandwidth of the transfer alone, and including open and close."""
    reports = [load(path) for path in paths]
    operations = [
        op
        for op in ("write", "read")
        if any(phase["operation"] == op for r in reports for phase in r["phases"])
    ]
    if not operations:
        raise InvalidArgumentError(
            f"'{os.fspath(paths[0])}' has no phases that write or read", path=os.fspath(paths[0])
        )
    made = Figure(figsize=(5 * len(operations), 4), layout="constrained")
    figure: Any = made
    all_axes = figure.subplots(1, len(operations), sharey=True, squeeze=False)[0]
    curves = len({report["tasks"] for report in reports}) > 1
    for axes, operation in zip(all_axes, operations):
        points = _points(reports, operation)
        (_draw_curves if curves else _draw_bars)(axes, points)
        axes.set_title(operation, loc="left", fontsize=10)
    largest = max(
        max(p["transfer_mib_per_second"], p["mib_per_second"]) for r in reports for p in r["phases"]
    )
    all_axes[0].set_ylim(0, 1.1 * largest)
    all_axes[0].set_ylabel("bandwidth (MiB/s)")
    all_axes[-1].legend(fontsize=8, frameon=False)
    first = reports[0]
    tasks = "" if curves else f"{first['tasks']} tasks, "
    figure.suptitle(f"sheaf-partest: {tasks}{first['mpi'].splitlines()[0]}", fontsize=12)
    return made


Points = Dict[str, List[Tuple[int, float, float]]]


def _points(reports: Sequence[Dict[str, Any]], operation: str) -> Points:
    """Returns by kind of file: tasks, bandwidth of the transfer, and bandwidth including open and close."""
    found: Points = {}
    for report in reports:
        for phase in report["phases"]:
            if phase["operation"] == operation:
                found.setdefault(phase["test"], []).append(
                    (report["tasks"], phase["transfer_mib_per_second"], phase["mib_per_second"])
                )
    return {name: sorted(points) for name, points in found.items()}


def _draw_bars(axes: Any, points: Points) -> None:
    names = list(points)
    at = np.arange(len(names))
    transfer = [float(np.median([value for _, value, _ in points[name]])) for name in names]
    whole = [float(np.median([value for _, _, value in points[name]])) for name in names]
    axes.bar(at - 0.2, transfer, 0.38, color=COLORS[0], label="transfer")
    axes.bar(at + 0.2, whole, 0.38, color=COLORS[1], label="with open and close")
    for x, value in [*zip(at - 0.2, transfer), *zip(at + 0.2, whole)]:
        axes.annotate(f"{value:.0f}", (x, value), ha="center", va="bottom", fontsize=8)
    axes.set_xticks(at, [name.replace(" ", "\n", 1) if len(name) > 14 else name for name in names])


def _draw_curves(axes: Any, points: Points) -> None:
    for color, (name, values) in zip(COLORS, points.items()):
        tasks = [count for count, _, _ in values]
        axes.plot(tasks, [value for _, value, _ in values], marker="o", color=color, label=name)
        axes.plot(
            tasks,
            [value for _, _, value in values],
            marker="o",
            markersize=3,
            linestyle="--",
            color=color,
            label=f"{name}, with open and close",
        )
    axes.set_xticks(sorted({count for values in points.values() for count, _, _ in values}))
    axes.set_xlabel("tasks")
