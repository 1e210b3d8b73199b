"""The available figures by name."""
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
    """Marks a figure that is measured here; it has no results if only modelled machines are requested
    (--simulated)."""
    @functools.wraps(make)
    def maybe(run, *rest):
        return make(run, *rest) if run.measures else None
    return maybe


def result(panels=(), tables=(), claims=()) -> dict:
    """Combines the parts of a result. Panels and tables may contain None and nested lists."""
    def flat(parts):
        return [one for part in parts if part is not None for one in (part if isinstance(part, list) else [part])]
    return {"panels": flat(panels), "tables": flat(tables), "claims": list(claims)}
