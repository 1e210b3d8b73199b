"""Judges what a figure shows against what its paper prints, cell by cell.

A cell is one printed value or one printed statement about one point. A claim is a sentence of the paper with its cells.
If a cell does not hold, its cause may be known: then the figure repeats the run with only that cause changed. If the
changed run holds, the explanation is confirmed. The cell still counts as "does not hold", but the figure is not wrong.
"""

from __future__ import annotations

from typing import Callable, NamedTuple

# Largest ratio between a value and a printed one that agree. The SC'09 paper prints 4.7, 3.65 and 3.48 GB/s for one
# saturated file system, so its own values differ by this factor.
TOLERANCE = 1.35

HOLDS, EXPLAINED, FAILS = "holds", "does not hold, explained", "does not hold"


class Cause(NamedTuple):
    """Why a cell may not hold. `varied` repeats the run with only this cause changed and returns the value that
    replaces that of the cell; `change` describes the change."""

    why: str
    change: str
    varied: Callable[[], float]


def number(value: float) -> str:
    """Formats a value for a picture: three digits, or all digits before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def judged(
    what: str, paper: str, here: float, unit: str, rule: Callable[[float], bool], cause: Cause | None, rule_text: str
) -> dict:
    """Returns a cell. `rule` tells whether a value holds. Runs the changed run of the cause only if it does not."""
    cell = {
        "what": what,
        "paper": paper,
        "here": number(here),
        "value": here,
        "unit": unit,
        "rule": rule_text,
        "verdict": HOLDS,
    }
    if rule(here):
        return cell
    cell["verdict"] = FAILS
    if cause:
        value = cause.varied()
        confirmed = rule(value)
        cell["cause"] = {
            "why": cause.why,
            "change": cause.change,
            "value": value,
            "here": number(value),
            "confirmed": confirmed,
        }
        cell["verdict"] = EXPLAINED if confirmed else FAILS
    return cell


def near(
    what: str, printed: float, here: float, unit: str = "MB/s", cause: Cause | None = None, tolerance: float = TOLERANCE
) -> dict:
    """A printed value: the larger of the two is at most `tolerance` times the other."""
    return judged(
        what,
        number(printed),
        here,
        unit,
        lambda value: printed / tolerance <= value <= printed * tolerance,
        cause,
        f"within a factor of {tolerance:g}",
    )


def at_least(what: str, printed: float, here: float, unit: str = "", cause: Cause | None = None) -> dict:
    return judged(what, f"at least {number(printed)}", here, unit, lambda value: value >= printed, cause, "no less")


def at_most(what: str, printed: float, here: float, unit: str = "", cause: Cause | None = None) -> dict:
    return judged(what, f"at most {number(printed)}", here, unit, lambda value: value <= printed, cause, "no more")


def between(what: str, low: float, high: float, here: float, unit: str = "", cause: Cause | None = None) -> dict:
    return judged(
        what,
        f"{number(low)} to {number(high)}",
        here,
        unit,
        lambda value: low <= value <= high,
        cause,
        "within the range",
    )


def claim(what: str, cells: list[dict]) -> dict:
    """Returns a statement of the paper with the cells that it has here."""
    return {"what": what, "cells": cells}


def verdict(claims: list[dict]) -> str:
    """Returns the worst verdict of the cells of some claims."""
    found = {cell["verdict"] for one in claims for cell in one["cells"]}
    return next((one for one in (FAILS, EXPLAINED) if one in found), HOLDS)


def tally(claims: list[dict]) -> dict[str, int]:
    """Returns the number of cells with each verdict."""
    cells = [cell["verdict"] for one in claims for cell in one["cells"]]
    return {one: cells.count(one) for one in (HOLDS, EXPLAINED, FAILS)}


def sentence(cell: dict) -> str:
    """Returns a cell as text: the value here, the printed one, the rule, and the cause if there is one."""
    unit = f" {cell['unit']}" if cell["unit"] else ""
    text = f"{cell['what']}: {cell['here']}{unit}, paper {cell['paper']} ({cell['rule']})"
    if "cause" in cell:
        cause = cell["cause"]
        confirmed = "confirmed" if cause["confirmed"] else "not confirmed"
        text += f". Cause, {confirmed}: {cause['why']}; {cause['change']}: {cause['here']}{unit}"
    return text
