#!/usr/bin/env python3
"""Makes frozen multifiles in frozen/GENERATION with the current library.

    freeze.py GENERATION [NAME ...]

Run it by hand, once, before a change of the written bytes. Every later version must read the result
(test_frozen.py).
Requires $SHEAF_BIN, the directory of the built programs, including those for Open MPI.

The script never changes existing files. Without names, it makes those files of frozen_cases.py that no generation
has. With names, it makes the named files, and fails if the generation already has one of them. It keeps a file
only if the independent reader finds the intended content in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "python"), str(Path(__file__).resolve().parent)]

from frozen_cases import Frozen, all_files  # noqa: E402
from frozen_reader import independent_streams  # noqa: E402

FROZEN = Path(__file__).resolve().parent / "frozen"
BIN = Path(os.environ.get("SHEAF_BIN") or REPO / "build" / "bin")
VOLATILE = ("file", "allocated_bytes", "efficiency")  # not a property of the multifile in `sheaf info`


def tool(*arguments: object, root: Path | None = None) -> bytes:
    environment = os.environ | ({"SHEAF_SFIO_ROOT": str(root)} if root else {})
    done = subprocess.run([str(BIN / "sheaf"), *map(str, arguments)], capture_output=True, check=False, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"sheaf {arguments}: {done.stderr.decode()}")
    return done.stdout


def write(frozen: Frozen, folder: Path) -> list[str]:
    """Runs the writer programs of all cases in a folder. Returns the descriptions that the programs got."""
    scripts = []
    for case in frozen.cases:
        scripts.append(case.script())
        program, processes = {
            "serial": ("sion_conformance_writer", 0),
            "mpi": ("sion_conformance_writer_mpi_openmpi", case.ntasks),
            "mapped": ("sion_conformance_writer_mapped_mpi_openmpi", 1 + max(case.owners or [0])),
        }[frozen.writer]
        script = folder / "script.txt"
        script.write_text(case.script())
        command = [str(BIN / program)]
        if processes:
            command = [str(REPO / "scripts/mpirun.sh"), "openmpi", str(processes), *command, script.name]
        with script.open() as text:
            subprocess.run(command, stdin=text, cwd=folder, check=True, env=os.environ | {"SHEAF_FLAGS": frozen.flags})
        script.unlink()
    if frozen.then:
        frozen.then(folder, tool)
    return scripts


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def described(frozen: Frozen, folder: Path, scripts: list[str]) -> dict[str, Any]:
    """Returns the manifest. Raises RuntimeError if the independent reader does not find the intended
    content."""
    expected = frozen.expected()
    manifest: dict[str, Any] = {
        "name": frozen.name, "about": frozen.about, "main": frozen.main, "state": frozen.state,
        "repairable": frozen.repairable, "keyval": "keyval" in frozen.cases[0].words, "writer": frozen.writer,
        "flags": frozen.flags, "scripts": scripts, "written_with": json.loads(tool("info", "--json"))["version"],
        "files": [{"name": str(path.relative_to(folder)), "size": path.stat().st_size, "sha256": digest(path.read_bytes())}
                  for path in sorted(folder.rglob("*")) if path.is_file()],
        "tasks": [{"length": len(stream), "sha256": digest(stream),
                   "records": [{"key": key, "length": len(value), "sha256": digest(value)} for key, value in records]}
                  for stream, records in zip(expected.streams, expected.records, strict=True)],
    }
    main = f"sfio:{frozen.main}" if frozen.name == "striped" else str(folder / frozen.main)
    if frozen.state != "refused":
        manifest["info"] = {key: value for key, value in json.loads(tool("info", "--json", main, root=folder)).items()
                            if key not in VOLATILE}
        manifest["dump"] = json.loads(tool("dump", "--json", "-K", main, root=folder))
        if frozen.name != "striped" and independent_streams(folder / frozen.main, frozen.state) != expected.streams:
            raise RuntimeError(f"{frozen.name}: the independent reader finds something else")
        if tool("cat", main, root=folder) != b"".join(expected.streams):
            raise RuntimeError(f"{frozen.name}: the library finds something else")
    return manifest


def freeze(frozen: Frozen, target: Path) -> None:
    frozen.expected()  # sets the existing content of the appending cases
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        manifest = described(frozen, folder, write(frozen, folder))
        shutil.copytree(folder, target, ignore=shutil.ignore_patterns("script.txt"))
    (target / "manifest.json").write_text(json.dumps(manifest, separators=(",", ":")) + "\n")
    print(f"{target.relative_to(FROZEN)}: {sum(file['size'] for file in manifest['files'])} bytes")


def main(arguments: list[str]) -> int:
    if not arguments or not arguments[0].isdigit():
        print(__doc__, file=sys.stderr)
        return 2
    generation, names = FROZEN / arguments[0], arguments[1:]
    there = {path.parent.name for path in FROZEN.glob("*/*/manifest.json")}
    chosen = [frozen for frozen in all_files() if (frozen.name in names if names else frozen.name not in there)]
    if refused := [frozen.name for frozen in chosen if (generation / frozen.name).exists()]:
        print(f"{generation} has {', '.join(refused)} already: frozen files are never made again", file=sys.stderr)
        return 1
    if missing := set(names) - {frozen.name for frozen in chosen}:
        print(f"frozen_cases.py has no {', '.join(sorted(missing))}", file=sys.stderr)
        return 1
    for frozen in chosen:
        freeze(frozen, generation / frozen.name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
