"""The figures there are, by the names under which they are asked for."""
from __future__ import annotations

from typing import Callable, NamedTuple


class Figure(NamedTuple):
    name: str
    paper: str
    title: str
    make: Callable  # (Runner) -> {"panels": [...], "tables": [...], "claims": [...]}


FIGURES: dict[str, Figure] = {}


def figure(name: str, paper: str, title: str):
    def keep(make: Callable) -> Callable:
        FIGURES[name] = Figure(name, paper, title, make)
        return make
    return keep


def result(panels=(), tables=(), claims=()) -> dict:
    return {"panels": list(panels), "tables": list(tables), "claims": list(claims)}
