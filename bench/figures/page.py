"""Writes one HTML page about all figures of a directory: pictures, claims, and what does not hold and why."""

from __future__ import annotations

import html
import json
import pathlib
from typing import Iterable

from .judging import EXPLAINED, FAILS, HOLDS, TOLERANCE, sentence, tally, verdict

STYLE = """body { font: 15px/1.45 sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em; color: #1f2328; }
table { border-collapse: collapse; margin: .6em 0; }
td, th { border: 1px solid #d0d7de; padding: .15em .5em; text-align: left; vertical-align: top; }
section { display: flex; flex-wrap: wrap; gap: 1.5em; border-top: 1px solid #d0d7de; margin-top: 1.5em; }
section > div { flex: 1 1 30em; } img { width: 385px; height: auto; align-self: flex-start; }
.holds { color: #1a7f37; } .explained { color: #9a6700; } .fails { color: #cf222e; }"""
CLASSES = {HOLDS: "holds", EXPLAINED: "explained", FAILS: "fails"}


def mark(judged: str) -> str:
    return f'<span class="{CLASSES[judged]}">{judged}</span>'


def cells_of(one: dict) -> str:
    rows = []
    for cell in one["cells"]:
        unit = html.escape(cell["unit"])
        cause = ""
        if "cause" in cell:
            found = cell["cause"]
            confirmed = "confirmed by a run" if found["confirmed"] else "not confirmed"
            cause = html.escape(f"{found['why']}. {found['change']}: {found['here']} {cell['unit']} ({confirmed})")
        rows.append(
            f"<tr><td>{html.escape(cell['what'])}</td><td>{html.escape(cell['paper'])} {unit}</td>"
            f"<td>{html.escape(cell['here'])} {unit}</td>"
            f"<td>{html.escape(cell['rule'])}</td><td>{mark(cell['verdict'])}</td><td>{cause}</td></tr>"
        )
    return (
        "<table><tr><th>cell</th><th>paper</th><th>here</th><th>holds if</th><th>verdict</th><th>cause</th></tr>"
        + "".join(rows)
        + "</table>"
    )


def section_of(result: dict, has_picture: bool) -> str:
    name = result["name"]
    picture = (
        f'<a href="{name}.png"><img src="{name}.png" alt="{html.escape(result["title"])}"></a>' if has_picture else ""
    )
    claims = "".join(
        f"<p>{mark(verdict([one]))}: {html.escape(one['what'])}</p>{cells_of(one)}" for one in result["claims"]
    )
    return (
        f'<section id="{name}">{picture}<div><h2>{name}: {html.escape(result["title"])}</h2>'
        f'<p>{html.escape(result["paper"])}; {result["form"]} form of {result["date"]}; '
        f'<a href="{name}.json">all values</a></p>{claims}</div></section>'
    )


def write_page(directory: pathlib.Path, names: Iterable[str]) -> pathlib.Path:
    """Writes index.html about those of the figures that the directory has, in the order of `names`. Returns its
    path."""
    results = [
        json.loads((directory / f"{name}.json").read_text()) for name in names if (directory / f"{name}.json").exists()
    ]
    rows, wrong = [], []
    for result in results:
        found = tally(result["claims"])
        rows.append(
            f'<tr><td><a href="#{result["name"]}">{result["name"]}</a></td><td>{html.escape(result["paper"])}</td>'
            f'<td>{html.escape(result["title"])}</td>'
            + "".join(f"<td>{found[one]}</td>" for one in (HOLDS, EXPLAINED, FAILS))
            + f'<td>{result["form"]}, {result["date"]}</td></tr>'
        )
        wrong += [
            f'<li><a href="#{result["name"]}">{result["name"]}</a>, {mark(cell["verdict"])}: '
            f"{html.escape(sentence(cell))}</li>"
            for one in result["claims"]
            for cell in one["cells"]
            if cell["verdict"] != HOLDS
        ]
    machine = html.escape(results[0]["machine"]) if results else ""
    text = f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>The papers' experiments, repeated</title>
<style>{STYLE}</style></head><body>
<h1>The papers' experiments, repeated</h1>
<p>Every picture shows what the modelled machine of a paper does with the library ("modelled"), and what programs do on
this machine ("measured": {machine}). Stars are values that the papers print. A printed value holds if it and the value
here differ at most by a factor of {TOLERANCE:g}, unless its row states another rule. A cell that does not hold is
explained if a run that changes only the named cause holds.</p>
<table><tr><th>figure</th><th>paper</th><th>what</th><th>holds</th><th>explained</th><th>does not hold</th>
<th>made</th></tr>{''.join(rows)}</table>
<h2>What does not hold, and why</h2>
<ul>{''.join(wrong) or '<li>nothing</li>'}</ul>
{''.join(section_of(one, (directory / f"{one['name']}.png").exists()) for one in results)}
</body></html>
"""
    path = directory / "index.html"
    path.write_text(text)
    return path
