"""Draws a figure for the width of a column: panels and tables below each other, then the verdict on each claim."""

from __future__ import annotations

import itertools
import json
import math
import pathlib
import sys
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plot  # noqa: E402
from matplotlib.ticker import LogLocator  # noqa: E402

from .judging import EXPLAINED, FAILS, HOLDS, tally, verdict  # noqa: E402

MARKERS = "os^vD<>ph"
STYLES = ["-", "--", "-.", ":"]
STARS = ["gold", "white", "silver"]  # values of a paper that belong to no curve
COLOURS = {HOLDS: "#1a7f37", EXPLAINED: "#9a6700", FAILS: "#cf222e"}
WIDTH = 3.5  # inches: a column of a printed page
PANEL = 2.1  # inches, without legend
LINE = 0.115  # inches of a line of 6.5 points
TEXT_COLUMNS = 74  # characters of a line of text
CELLS_SHOWN = 3  # failing cells of a claim in the picture; the page has all
SMALL, USUAL = 6.5, 7.5  # points


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
        if (place(kept[0]) - place(value)) / width >= 0.13:
            kept.insert(0, value)
    axes.set_xticks(kept, [label(x) for x in kept], fontsize=SMALL)
    axes.minorticks_off()


def draw_curve(axes, one: dict, number: int, of: int) -> None:
    """Draws later curves thinner and with smaller marks, so that earlier ones remain visible."""
    error = [[y - low for y, low in zip(one["y"], one["least"])], [high - y for y, high in zip(one["y"], one["most"])]]
    share = number / max(of - 1, 1)
    axes.errorbar(
        one["x"],
        one["y"],
        yerr=error if any(map(any, error)) else None,
        marker=MARKERS[number % len(MARKERS)],
        markersize=5 - 2.5 * share,
        linewidth=1.8 - share,
        capsize=1.5,
        elinewidth=0.6,
        linestyle=STYLES[number % len(STYLES)],
        color=f"C{number % 10}",
        label=one["name"],
    )


def draw_panel(axes, panel: dict) -> None:
    """A paper's value has the colour of the curve with the same name, if there is one."""
    curves = [one for one in panel["curves"] if one["kind"] != "paper"]
    for number, one in enumerate(curves):
        draw_curve(axes, one, number, len(curves))
    colours = {one["name"]: f"C{number % 10}" for number, one in enumerate(curves)}
    colours |= zip([one["name"] for one in panel["curves"] if one["name"] not in colours], itertools.cycle(STARS))
    for one in panel["curves"]:
        if one["kind"] == "paper":
            values = ", ".join(f"{y:g}" for y in dict.fromkeys(one["y"]))
            axes.plot(
                one["x"],
                one["y"],
                "*",
                markersize=9,
                markeredgewidth=0.6,
                color="black",
                markerfacecolor=colours[one["name"]],
                label=f"paper: {one['name']}, {values}",
                zorder=5,
            )
    if panel["log_x"]:
        axes.set_xscale("log", base=2)
    if panel["log_y"]:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        # Within a few powers of ten, these ticks alone are too few to read values.
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,), numticks=20))
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    else:
        axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    ticks(axes, panel)
    axes.set_title(panel["title"], fontsize=USUAL, loc="left")
    axes.set_xlabel(panel["x"], fontsize=SMALL, labelpad=1)
    axes.set_ylabel(panel["y"], fontsize=SMALL, labelpad=1)
    axes.tick_params(labelsize=SMALL, length=2)
    axes.grid(True, alpha=0.3, linewidth=0.5)
    axes.legend(
        fontsize=SMALL,
        loc="upper left",
        bbox_to_anchor=(-0.02, -0.17),
        frameon=False,
        handlelength=2.8,
        borderaxespad=0,
        labelspacing=0.25,
    )


def draw_table(axes, table: dict) -> None:
    axes.axis("off")
    axes.set_title(textwrap.fill(table["title"], TEXT_COLUMNS), fontsize=USUAL, loc="left")
    heads = [textwrap.fill(column, 9) for column in table["columns"]]
    drawn = axes.table(
        cellText=[[textwrap.fill(str(cell), 14) for cell in row] for row in table["rows"]],
        colLabels=heads,
        bbox=(0, 0, 1, 1),
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(5.5)
    for (row, column), cell in drawn.get_celld().items():
        cell.get_text().set_horizontalalignment("center" if row == 0 else "left" if column == 0 else "right")
        cell.set_linewidth(0.4)
        cell.PAD = 0.04


def verdict_lines(claims: list[dict]) -> list[tuple[str, str]]:
    """Returns the lines of the verdicts, each with its colour: every claim, and the first cells that do not hold."""
    lines = []
    for one in claims:
        judged, found = verdict([one]), tally([one])
        held = f"{found[HOLDS]} of {len(one['cells'])}"
        lines += [
            (text, COLOURS[judged])
            for text in textwrap.wrap(
                f"{judged.upper()} ({held}): {one['what']}", TEXT_COLUMNS, subsequent_indent="   "
            )
        ]
        cells = [cell for cell in one["cells"] if cell["verdict"] != HOLDS] or one["cells"][:1]
        for cell in cells[:CELLS_SHOWN]:
            text = f"{cell['what']}: {cell['here']} {cell['unit']}, paper {cell['paper']}"
            if "cause" in cell:
                text += f"; {cell['cause']['change']}: {cell['cause']['here']}"
            lines += [
                (line, "black")
                for line in textwrap.wrap(text, TEXT_COLUMNS - 3, initial_indent="   ", subsequent_indent="     ")
            ]
        if len(cells) > CELLS_SHOWN:
            lines.append((f"   and {len(cells) - CELLS_SHOWN} more cells", "black"))
    return lines


def draw(result: dict, path: pathlib.Path) -> None:
    """Draws to `path`. The height follows from the panels, the lines of their legends, the tables and the verdicts."""
    lines = verdict_lines(result["claims"])
    parts = [(draw_panel, one, PANEL, 0.45 + LINE * 1.15 * len(one["curves"])) for one in result["panels"]]
    parts += [
        (draw_table, one, 0.3 + 0.19 * sum(1 + max(len(str(cell)) for cell in row) // 15 for row in one["rows"]), 0.15)
        for one in result["tables"]
    ]
    head, top = 0.42, 0.28  # inches above the first part, and of the title of each
    height = head + sum(top + tall + below for _, _, tall, below in parts) + LINE * (len(lines) + 2)
    figure = plot.figure(figsize=(WIDTH, height))
    title = textwrap.fill(f"{result['name']} ({result['paper']}): {result['title']}", 58)
    figure.text(
        0.02,
        1 - 0.1 / height,
        f"{title}\n{result['form']} form, {result['date']}",
        fontsize=SMALL,
        va="top",
        weight="bold",
    )
    at = height - head
    for drawer, part, tall, below in parts:
        at -= top + tall
        drawer(
            figure.add_axes(
                (0.165, at / height, 0.805, tall / height)
                if drawer is draw_panel
                else (0.03, at / height, 0.94, tall / height)
            ),
            part,
        )
        at -= below
    for number, (text, colour) in enumerate(lines):
        figure.text(
            0.02, (at - LINE * (number + 1)) / height, text, fontsize=5.8, color=colour, va="top", family="DejaVu Sans"
        )
    figure.savefig(path, dpi=220)
    plot.close(figure)


if __name__ == "__main__":
    draw(json.load(sys.stdin), pathlib.Path(sys.argv[1]))
