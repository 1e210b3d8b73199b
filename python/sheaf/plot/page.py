"""A self-contained page about a multifile: its plot and its numbers in one HTML file."""

from __future__ import annotations

import base64
import html
import io
from typing import Any, List, Sequence

import numpy as np

from .pictures import as_bytes, draw
from .survey import Layout

_MOST_ROWS = 20
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem; color: #1c2733; background: #fff }
h1 { font-size: 1.5rem; overflow-wrap: anywhere } h2 { font-size: 1.1rem; margin-top: 2rem }
img { width: 100%; height: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .2rem 1rem .2rem 0; border-bottom: 1px solid #d3d9e2; overflow-wrap: anywhere }
td.n, th.n { text-align: right } .bad { color: #b3261e; font-weight: 600 } .good { color: #1f7a41 }
"""


def write_page(layout: Layout, path: str) -> None:
    """Writes the page."""
    picture = io.BytesIO()
    save(draw(layout), picture)
    encoded = base64.b64encode(picture.getvalue()).decode()
    name = html.escape(layout.path)
    body = [
        f"<h1>{name}</h1>",
        _verdict(layout),
        _table(["", ""], _facts(layout)),
        f'<p><img alt="Where the chunks of each task lie, how much each task has and how full chunks are" '
        f'src="data:image/png;base64,{encoded}"></p>',
        "<h2>Physical files</h2>",
        _table(["number", "name", "bytes", "tasks", "data"], _file_rows(layout)),
        "<h2>Largest tasks</h2>",
        _table(["task", "file", "bytes", "chunk size", "chunks"], _task_rows(layout)),
    ]
    if layout.damage:
        rows = [
            [d.task, f"{d.offset:,}", layout.files[d.file][0], f"{d.place:,}", d.message]
            for d in layout.damage[:_MOST_ROWS]
        ]
        body += [
            "<h2>Damage</h2>",
            _table(["task", "offset in its stream", "file", "offset in the file", "what"], rows),
        ]
        if len(layout.damage) > _MOST_ROWS:
            body.append(f"<p>{len(layout.damage) - _MOST_ROWS} more pieces are damaged.</p>")
    text = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def save(figure: Any, where: Any) -> None:
    """Writes a figure to a path, or as PNG to a file object."""
    figure.savefig(where, dpi=140)


def _verdict(layout: Layout) -> str:
    if layout.damage:
        tasks = len({damage.task for damage in layout.damage})
        return f'<p class="bad">Damaged pieces: {len(layout.damage)}; tasks with some: {tasks}.</p>'
    if not layout.info.closed:
        return '<p class="bad">It was never closed: shown is what its journals tell. <code>sheaf repair</code> makes it complete.</p>'
    if not layout.checked:
        return "<p>Its data were not read.</p>"
    return (
        '<p class="good">All data are as their checksums say.</p>'
        if layout.info.checksums
        else "<p>All data can be read; there are no checksums to compare them with.</p>"
    )


def _facts(layout: Layout) -> List[List[Any]]:
    info, sizes = layout.info, layout.sizes
    spread = (
        []
        if not len(sizes)
        else [
            [
                "bytes of a task",
                f"{as_bytes(float(sizes.min()))} to {as_bytes(float(sizes.max()))}, "
                f"median {as_bytes(float(np.median(sizes)))}",
            ]
        ]
    )
    return [
        ["tasks", f"{info.tasks:,}"],
        ["data", f"{as_bytes(info.bytes)} ({info.bytes:,} bytes)"],
        *spread,
        ["chunks of a task", f"at most {info.rounds:,}"],
        ["space in chunks that is used", f"{100 * layout.fill:.3g} %"],
        ["block size", as_bytes(info.block_size)],
        ["user data", f"{info.byteorder}-endian"],
        ["streams", "key-value records" if info.keyval else "bytes"],
        ["compressed", "yes" if info.compressed else "no"],
        ["checksums", "yes" if info.checksums else "no"],
    ]


def _file_rows(layout: Layout) -> List[List[Any]]:
    rows: List[List[Any]] = []
    for number, (name, size) in enumerate(layout.files[:_MOST_ROWS]):
        mine = layout.task_files == number
        rows.append(
            [number, name, f"{size:,}", f"{int(mine.sum()):,}", as_bytes(float(layout.sizes[mine].sum()))]
        )
    return rows


def _task_rows(layout: Layout) -> List[List[Any]]:
    order = np.argsort(-layout.sizes, kind="stable")[:10]
    return [
        [
            int(t),
            int(layout.task_files[t]),
            f"{int(layout.sizes[t]):,}",
            f"{int(layout.chunk_sizes[t]):,}",
            int(layout.rounds[t]),
        ]
        for t in order
    ]


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    def cell(tag: str, value: Any) -> str:
        text = html.escape(str(value))
        number = text.replace(",", "").lstrip("-").isdigit()
        return f'<{tag}{" class=n" if number else ""}>{text}</{tag}>'

    top = "<tr>" + "".join(cell("th", head) for head in heads) + "</tr>" if any(heads) else ""
    return (
        "<table>"
        + top
        + "".join("<tr>" + "".join(cell("td", value) for value in row) + "</tr>" for row in rows)
        + "</table>"
    )
