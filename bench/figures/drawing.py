"""Draws a figure as the paper does: a picture of panels and tables."""
from __future__ import annotations

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plot  # noqa: E402

LINES = {"measured": "-", "simulated": "-", "paper": ""}


def label(value: float) -> str:
    for size, letter in ((1 << 20, "Mi"), (1 << 10, "Ki")):
        if value >= size and value % size == 0:
            return f"{value // size:.0f} {letter}"
    return f"{value:g}"


def ticks(axes, curves) -> None:
    """The values of x themselves, unless there are too many."""
    values = sorted({x for one in curves for x in one["x"] if one["kind"] != "paper"})
    while len(values) > 9:
        values = values[::2]
    axes.set_xticks(values, [label(x) for x in values], rotation=30 if len(values) > 6 else 0, fontsize=8)
    axes.minorticks_off()


def draw_panel(axes, panel: dict) -> None:
    colours = {}
    for number, one in enumerate(panel["curves"]):
        if one["kind"] == "paper":
            axes.plot(one["x"], one["y"], "*", markersize=13, color="black", markerfacecolor="gold", label=one["name"] + " (paper)", zorder=5)
            continue
        colours[one["name"]] = f"C{number % 10}"
        error = [[y - low for y, low in zip(one["y"], one["least"])], [high - y for y, high in zip(one["y"], one["most"])]]
        axes.errorbar(one["x"], one["y"], yerr=error, marker="os^vD<>ph"[number % 9], markersize=4, capsize=2, linestyle="-",
                      color=colours[one["name"]], label=one["name"])
    if panel["log_x"]:
        axes.set_xscale("log", base=2)
    if panel["log_y"]:
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, None)
    ticks(axes, panel["curves"])
    axes.set_title(panel["title"], fontsize=10)
    axes.set(xlabel=panel["x"], ylabel=panel["y"])
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=7)


def draw_table(axes, table: dict) -> None:
    axes.axis("off")
    axes.set_title(table["title"], fontsize=10)
    drawn = axes.table(cellText=[[str(cell) for cell in row] for row in table["rows"]], colLabels=table["columns"], loc="center")
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(8)
    drawn.auto_set_column_width(range(len(table["columns"])))
    drawn.scale(1, 1.4)


def draw(result: dict, path: pathlib.Path) -> None:
    parts = [(draw_panel, one) for one in result["panels"]] + [(draw_table, one) for one in result["tables"]]
    # Tables are wide and low: one below the other; panels side by side.
    columns = min(2, len(parts)) if result["panels"] else 1
    rows = (len(parts) + columns - 1) // columns
    height = 4.2 if result["panels"] else 0.8 + 0.32 * max(len(one["rows"]) for one in result["tables"])
    figure, axes = plot.subplots(rows, columns, figsize=(6.2 * columns if columns == 2 else 9, height * rows + 0.5), squeeze=False)
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
