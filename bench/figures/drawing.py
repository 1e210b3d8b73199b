"""Draws a figure in the paper's form: panels and tables."""
from __future__ import annotations

import itertools
import json
import math
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plot  # noqa: E402
from matplotlib.ticker import LogLocator  # noqa: E402

MARKERS = "os^vD<>ph"
STYLES = ["-", "--", "-.", ":"]
STARS = ["gold", "white", "silver"]  # values of a paper that belong to no curve
LEGEND_ROW = 0.21  # inches
PANEL_WIDTH, PANEL_HEIGHT = 6.6, 3.6


def label(value: float) -> str:
    """Formats powers of two with binary prefixes, other numbers in decimal."""
    for size, letter in ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
        if value >= size and value % size == 0 and value // size < 1024:
            return f"{value // size:.0f} {letter}"
    for size, word in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 10 * size or value == size:
            return f"{value / size:g} {word}"
    return f"{value:g}"


def ticks(axes, panel: dict) -> None:
    """Sets ticks at the values of x, except those too close to the preceding one; always at the last one."""
    values = sorted({x for one in panel["curves"] for x in one["x"]})
    place = math.log2 if panel["log_x"] else float
    width = max(place(values[-1]) - place(values[0]), 1e-9)
    kept = values[-1:]
    for value in reversed(values[:-1]):
        if (place(kept[0]) - place(value)) / width >= 0.07:
            kept.insert(0, value)
    axes.set_xticks(kept, [label(x) for x in kept], fontsize=8)
    axes.minorticks_off()


def draw_panel(axes, panel: dict) -> None:
    """Draws later curves thinner and with smaller marks, so that earlier ones remain visible. A paper's
    value has the colour of the curve with the same name, if there is one."""
    curves = [one for one in panel["curves"] if one["kind"] != "paper"]
    colours = {one["name"]: f"C{number % 10}" for number, one in enumerate(curves)}
    for number, one in enumerate(curves):
        error = [[y - low for y, low in zip(one["y"], one["least"])], [high - y for y, high in zip(one["y"], one["most"])]]
        spread = any(map(any, error))
        share = number / max(len(curves) - 1, 1)
        axes.errorbar(one["x"], one["y"], yerr=error if spread else None, marker=MARKERS[number % len(MARKERS)],
                      markersize=8 - 4 * share, linewidth=2.6 - 1.4 * share, capsize=2, elinewidth=0.8,
                      linestyle=STYLES[number % len(STYLES)], color=colours[one["name"]], label=one["name"])
    colours |= zip([one["name"] for one in panel["curves"] if one["name"] not in colours],
                   itertools.cycle(STARS))
    for one in panel["curves"]:
        if one["kind"] == "paper":
            axes.plot(one["x"], one["y"], "*", markersize=13, color="black",
                      markerfacecolor=colours[one["name"]], label=one["name"] + " (paper)", zorder=5)
    if panel["log_x"]:
        axes.set_xscale("log", base=2)
    if panel["log_y"]:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        # Within a few powers of ten, these ticks alone are too few to read values.
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,), numticks=20))
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    else:
        axes.set_ylim(0, axes.get_ylim()[1] * 1.03)
    ticks(axes, panel)
    axes.set_title(panel["title"], fontsize=10)
    axes.set(xlabel=panel["x"], ylabel=panel["y"])
    axes.grid(True, alpha=0.3)
    handles, names = axes.get_legend_handles_labels()
    order = sorted(range(len(names)), key=lambda i: names[i].endswith("(paper)"))
    axes.legend([handles[i] for i in order], [names[i] for i in order], fontsize=7, ncol=2, loc="upper center",
                bbox_to_anchor=(0.5, -0.16), frameon=False, handlelength=3.5)


def draw_table(axes, table: dict) -> None:
    axes.axis("off")
    axes.set_title(table["title"], fontsize=10)
    drawn = axes.table(cellText=[[str(cell) for cell in row] for row in table["rows"]], colLabels=table["columns"], loc="center")
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(8)
    for (row, column), cell in drawn.get_celld().items():
        cell.get_text().set_horizontalalignment("center" if row == 0 else "left" if column == 0 else "right")
    drawn.auto_set_column_width(range(len(table["columns"])))
    drawn.scale(1, 1.4)


def draw(result: dict, path: pathlib.Path) -> None:
    parts = [(draw_panel, one) for one in result["panels"]] + [(draw_table, one) for one in result["tables"]]
    # Tables are wide and low, so they are stacked. Panels are side by side, with their legends below them.
    columns = min(2, len(parts)) if result["panels"] else 1
    rows = (len(parts) + columns - 1) // columns
    if result["panels"]:
        height = PANEL_HEIGHT + 0.5 + LEGEND_ROW * max((len(one["curves"]) + 1) // 2 for one in result["panels"])
    else:
        height = 0.8 + 0.32 * max(len(one["rows"]) for one in result["tables"])
    width = PANEL_WIDTH * columns if columns == 2 else 9
    figure, axes = plot.subplots(rows, columns, figsize=(width, height * rows + 0.5), squeeze=False)
    for place, (drawer, part) in zip(axes.flat, parts):
        drawer(place, part)
    for place in list(axes.flat)[len(parts):]:
        place.axis("off")
    figure.suptitle(f"{result['name']} ({result['paper']}): {result['title']} - {result['form']} form", fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plot.close(figure)


if __name__ == "__main__":
    draw(json.load(sys.stdin), pathlib.Path(sys.argv[1]))
