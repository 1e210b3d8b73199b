"""`sheaf plot`: the plot shows the contents of the file."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sheaf

pytest.importorskip("matplotlib", reason="matplotlib is not here")

from sheaf.__main__ import main  # noqa: E402
from sheaf.plot import draw, survey  # noqa: E402


def test_damage_is_found_where_it_is(path):
    with sheaf.open(path, "w", tasks=5, chunk_size=1 << 18) as f:
        for stream in f:
            stream.write(np.full(400_000, stream.task, "u1"))
    assert survey(path).damage == []
    with sheaf.open(path) as f:
        chunk = f[3].chunks[1]
    with open(path, "r+b") as file:
        file.seek(chunk.offset + 70_000)
        file.write(b"damage")
    layout = survey(path)
    assert [(d.task, d.file) for d in layout.damage] == [(3, 0)]
    found = layout.damage[0]
    assert (
        found.place <= chunk.offset + 70_000 < found.place + (64 << 10)
        and found.offset == found.place - chunk.offset + chunk.size
    )
    figure = draw(layout)
    assert "1 damaged piece" in figure._suptitle.get_text() and len(figure.axes) == 3
    assert layout.sizes.tolist() == [400_000] * 5 and layout.chunk_task.tolist() == [
        t for t in range(5) for _ in range(2)
    ]
    assert 0.7 < layout.fill < 0.8 and not survey(path, check=False).damage


@pytest.mark.parametrize("tasks", [0, 1, 5000])
def test_few_and_many_tasks(path, tmp_path, tasks):
    with sheaf.open(path, "w", tasks=tasks, chunk_size=10, block_size=512) as f:
        if tasks:
            f[-1].write(b"x")
    layout = survey(path)
    assert len(layout.shown) == min(tasks, 4096)
    draw(layout).savefig(tmp_path / "a.png")


def test_the_command(path, tmp_path, capsys):
    with sheaf.open(path, "w", tasks=2) as f:
        f[1].write(b"x" * 1000)
    for ending, begin in (
        (".png", b"\x89PNG"),
        (".svg", b"<?xml"),
        (".pdf", b"%PDF"),
        (".html", b"<!doctype html>"),
    ):
        out = tmp_path / f"out{ending}"
        assert main(["plot", path, "-o", str(out)]) == 0
        data = out.read_bytes()
        assert data.startswith(begin)
        assert ending != ".html" or (
            b"All data are as their checksums say" in data and b"src=\"data:" in data and b"http" not in data
        )  # no external resources
    phase = {"test": "multifile", "operation": "write", "transfer_mib_per_second": 2.0, "mib_per_second": 1.0}
    results = tmp_path / "r.json"
    results.write_text(json.dumps({"program": "sheaf-partest", "mpi": "M", "tasks": 2, "phases": [phase]}))
    assert main(["plot", str(results)]) == 0
    assert (tmp_path / "r.json.png").exists()
    for words, status, text in (
        ([path, "-o", "a.txt"], 2, ".png"),
        ([str(tmp_path / "none")], 1, "none"),
        ([str(tmp_path / "out.png")], 1, "neither a multifile"),
    ):
        try:
            found = main(["plot", *words])
        except SystemExit as ended:
            found = ended.code
        assert found == status and text in capsys.readouterr().err
