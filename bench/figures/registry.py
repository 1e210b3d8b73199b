"""The figures there are, by the names under which they are asked for."""
from __future__ import annotations

import functools
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


def measured(make: Callable) -> Callable:
    """What is measured here gives nothing where only modelled machines are asked for (--simulated)."""
    @functools.wraps(make)
    def maybe(run, *rest):
        return make(run, *rest) if run.measures else None
    return maybe


def result(panels=(), tables=(), claims=()) -> dict:
    """Parts that are None, or lists of parts, are welcome among panels and tables."""
    def flat(parts):
        return [one for part in parts if part is not None for one in (part if isinstance(part, list) else [part])]
    return {"panels": flat(panels), "tables": flat(tables), "claims": list(claims)}
