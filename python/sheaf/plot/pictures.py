"""The plot of a multifile: locations and fill of the chunks of all tasks, bytes per task, and damaged
pieces."""

from __future__ import annotations

import os
from typing import Any, List, Tuple

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from .survey import Layout, Longs

RESERVED, USED, DAMAGED = "#d3d9e2", "#2f6db5", "#d0342c"
MOST_FILES = 4  # physical files with a panel of their own
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def draw(layout: Layout) -> Figure:
    """Draws all panels in one figure."""
    files = list(range(min(len(layout.files), MOST_FILES)))
    heights = [3.4] * len(files) + [2.6]
    made = Figure(figsize=(10, sum(heights) + 1.3), layout="constrained")
    figure: Any = made
    grid = figure.add_gridspec(len(files) + 1, 2, height_ratios=heights)
    figure.suptitle(_title(layout), fontsize=12)
    for file in files:
        draw_places(figure.add_subplot(grid[file, :]), layout, file)
    draw_sizes(figure.add_subplot(grid[-1, 0]), layout)
    draw_fill(figure.add_subplot(grid[-1, 1]), layout)
    return made


def _title(layout: Layout) -> str:
    info = layout.info
    words = [
        f"{info.tasks:,} tasks",
        f"{info.files} file{'s' if info.files != 1 else ''}",
        f"{as_bytes(info.bytes)} of data",
    ]
    words += [
        word
        for word, on in (
            ("key-value records", info.keyval),
            ("compressed", info.compressed),
            ("never closed: what its journals tell", not info.closed),
        )
        if on
    ]
    if layout.damage:
        words.append(f"{len(layout.damage)} damaged piece{'s' if len(layout.damage) != 1 else ''}")
    elif layout.checked and info.checksums:
        words.append("checksums right")
    return f"{os.path.basename(layout.path)}\n{', '.join(words)}"


def as_bytes(size: float) -> str:
    """Formats a size: 1536 as 1.5 KiB."""
    for unit in _UNITS:
        if abs(size) < 1024 or unit == _UNITS[-1]:
            return f"{size:.4g} {unit}"
        size /= 1024
    return ""


def _bytes_axis(axis: Any, largest: float) -> None:
    """Sets round numbers in one unit."""
    power = min(int(np.log2(largest)) // 10, len(_UNITS) - 1) if largest >= 1 else 0
    scale = 1024.0**power
    axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 4, 5, 8, 10]))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.sheaf_scale = scale
    axis.sheaf_unit = _UNITS[power]


def draw_places(axes: Any, layout: Layout, file: int) -> None:
    """Draws one row per task: its reserved space in a physical file, the used part, and damaged pieces."""
    name, size = layout.files[file]
    here = layout.chunk_file == file
    end = int((layout.chunk_offset + layout.chunk_size)[here].max(initial=size))
    _bytes_axis(axes.xaxis, end)
    scale = axes.xaxis.sheaf_scale
    tasks = layout.chunk_task[here]
    first, last = (int(tasks.min()), int(tasks.max())) if len(tasks) else (0, 0)
    thick = max(1.0, (last - first + 1) / max(len(layout.shown), 1))
    minimum = end / 1500  # wide enough to be visible
    _add_boxes(
        axes,
        layout.chunk_offset[here],
        layout.chunk_size[here],
        tasks,
        thick=thick,
        scale=scale,
        minimum=minimum,
        color=RESERVED,
    )
    used = here & (layout.chunk_bytes > 0)
    _add_boxes(
        axes,
        layout.chunk_offset[used],
        np.minimum(layout.chunk_bytes, layout.chunk_size)[used],
        layout.chunk_task[used],
        thick=thick,
        scale=scale,
        minimum=minimum,
        color=USED,
    )
    bad = [(damage.place / scale, damage.task) for damage in layout.damage if damage.file == file]
    if bad:
        axes.plot(
            *zip(*bad), linestyle="", marker="x", markersize=7, markeredgewidth=2, color=DAMAGED, zorder=3
        )
    axes.set_xlim(0, end / scale)
    axes.set_ylim(last + 0.5 * thick, first - 0.5 * thick)
    axes.yaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 5, 10]))
    title = f"Where the chunks lie in {name}"
    if len(layout.files) > MOST_FILES and file == MOST_FILES - 1:
        title += f" ({len(layout.files) - MOST_FILES} more files are not shown)"
    if len(layout.shown) < len(layout.sizes):
        title += f" ({len(layout.shown):,} of {len(layout.sizes):,} tasks)"
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel(f"offset in the file ({axes.xaxis.sheaf_unit})")
    axes.set_ylabel("task")
    handles: List[Any] = [Patch(color=USED, label="used"), Patch(color=RESERVED, label="reserved")]
    if bad:
        handles.append(
            Line2D([], [], linestyle="", marker="x", markeredgewidth=2, color=DAMAGED, label="damaged")
        )
    axes.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=3,
        fontsize=8,
        frameon=False,
        borderaxespad=0.2,
    )


def _add_boxes(
    axes: Any,
    offsets: Longs,
    sizes: Longs,
    tasks: Longs,
    *,
    thick: float,
    scale: float,
    minimum: float,
    color: str,
) -> None:
    left, width = offsets / scale, np.where(sizes > 0, np.maximum(sizes, minimum), 0) / scale
    low, high = tasks - 0.45 * thick, tasks + 0.45 * thick
    right = left + width
    corners = np.stack(
        [
            np.stack([left, low], 1),
            np.stack([left, high], 1),
            np.stack([right, high], 1),
            np.stack([right, low], 1),
        ],
        1,
    )
    axes.add_collection(PolyCollection(list(corners), facecolors=color, edgecolors=color, linewidths=0.2))


def draw_sizes(axes: Any, layout: Layout) -> None:
    """Draws the bytes of each task; for many tasks, the range and the mean of groups of adjacent tasks."""
    count = len(layout.sizes)
    largest = float(layout.sizes.max(initial=1))
    _bytes_axis(axes.yaxis, largest)
    sizes = layout.sizes / axes.yaxis.sheaf_scale
    damaged = sorted({damage.task for damage in layout.damage})
    if count <= 256:
        axes.bar(np.arange(count), sizes, width=0.9 if count < 100 else 1.0, color=USED)
    else:
        edges, groups = _groups(sizes)
        axes.fill_between(
            edges,
            [g.min() for g in groups],
            [g.max() for g in groups],
            color=USED,
            alpha=0.3,
            linewidth=0,
            label="smallest to largest",
        )
        axes.plot(edges, [g.mean() for g in groups], color=USED, linewidth=1, label="mean of neighbours")
        axes.legend(fontsize=8, frameon=False, loc="best")
    if damaged:
        axes.plot(damaged, sizes[damaged], linestyle="", marker="x", markeredgewidth=2, color=DAMAGED)
    axes.set_ylim(0, None)
    axes.set_xlim(-0.6, max(count - 0.4, 0.6))
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 5, 10]))
    axes.set(xlabel="task", ylabel=f"bytes stored ({axes.yaxis.sheaf_unit})")
    axes.set_title("How much each task has", loc="left", fontsize=10)


def _groups(values: Any) -> Tuple[Any, List[Any]]:
    bounds = np.linspace(0, len(values), 129).astype(int)
    return (bounds[:-1] + bounds[1:] - 1) / 2, [values[a:b] for a, b in zip(bounds[:-1], bounds[1:])]


def draw_fill(axes: Any, layout: Layout) -> None:
    """Draws a histogram of the fill of the chunks."""
    there = layout.chunk_size > 0
    part = 100 * np.minimum(layout.chunk_bytes[there] / np.maximum(layout.chunk_size[there], 1), 1)
    axes.hist(part, bins=np.linspace(0, 100, 21), color=USED, rwidth=0.9)
    axes.set_xlim(0, 100)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 5, 10]))
    axes.set(xlabel="used part of a chunk (%)", ylabel="chunks")
    axes.set_title(
        f"How full the chunks are ({100 * layout.fill:.3g} % of all space)", loc="left", fontsize=10
    )
