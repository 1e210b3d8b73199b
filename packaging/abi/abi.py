#!/usr/bin/env python3
"""The exported C interface of the built libraries, as libabigail describes it (docs/releasing.md).

    abi.py renew BUILD    writes packaging/abi/*.abixml anew from the libraries of a build with SHEAF_ABI_TYPES

Described are the symbols of the node SHEAF_1 and the types of the public headers."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADERS = HERE.parents[1] / "include"
MPIS = ("openmpi", "mpich")
SERIAL = ("libsheaf", "libsheaf_omp", "libsheaf_fortran", "libsheaf_fortran_omp")
OF_MPI = ("libsheaf_mpi", "libsheaf_sfio", "libsheaf_fortran_mpi", "libsheaf_fortran_sfio")
OPTIONS = ("--drop-private-types", "--exported-interfaces-only", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs",
           "--no-elf-needed", "--no-parameter-names")


def libraries(build: Path) -> dict[str, Path]:
    """Returns the public libraries that the build is configured for, existing or not, by the names of descriptions."""
    lib = build / "lib"
    cache = (build / "CMakeCache.txt").read_text().splitlines()
    compiler = [line for line in cache if line.startswith("CMAKE_Fortran_COMPILER:")]
    fortran = not any(line.endswith("NOTFOUND") for line in compiler)
    mpis = {line.split()[0] for line in (build / "mpi" / "all").read_text().splitlines()}
    paths = {name: lib / f"{name}.so" for name in SERIAL}
    paths |= {f"{name}-{mpi}": lib / mpi / f"{name}.so" for mpi in MPIS if mpi in mpis for name in OF_MPI}
    return {name: path for name, path in paths.items() if fortran or "fortran" not in name}


def interface(library: Path) -> list[str]:
    out = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library], capture_output=True, text=True, check=True)
    symbols = [line.split()[-1] for line in out.stdout.splitlines()]
    return sorted(symbol.split("@")[0] for symbol in symbols if symbol.endswith("@@SHEAF_1"))


def without_places(text: str) -> str:
    """Paths of compiled files relative to the sources or the build."""
    return re.sub(r" path='[^']*/(CMakeFiles/[^']*|src/[^']*)'", r" path='\1'", text)


def describe(library: Path, symbols: list[str] | None = None) -> str:
    """Returns the description of a library, or of some of its symbols."""
    with tempfile.TemporaryDirectory() as place:
        wanted, out = Path(place) / "symbols", Path(place) / "out.abixml"
        wanted.write_text("[abi_whitelist]\n" + "".join(f"  {name}\n" for name in symbols or interface(library)))
        subprocess.run(["abidw", *OPTIONS, "--headers-dir", HEADERS, "--kmi-whitelist", wanted, "--out-file", out, library],
                       check=True, capture_output=True, text=True)
        return without_places(out.read_text())


def difference(before: str, after: str) -> str:
    """Returns the output of abidiff for two descriptions; empty if nothing has changed."""
    with tempfile.TemporaryDirectory() as place:
        files = [Path(place) / "before.abixml", Path(place) / "after.abixml"]
        for file, text in zip(files, (before, after)):
            file.write_text(text)
        done = subprocess.run(["abidiff", *files], capture_output=True, text=True)
    if done.returncode & 3:  # not done, or called wrongly
        raise RuntimeError(f"abidiff failed: {done.stderr}")
    return done.stdout if done.returncode else ""


def committed(name: str) -> Path:
    return HERE / f"{name}.abixml"


def renew(build: Path) -> None:
    if not (build / "CMakeCache.txt").exists():
        raise SystemExit(f"abi.py: {build} is no directory of a build")
    missing = [str(library) for library in libraries(build).values() if not library.exists()]
    if missing:
        raise SystemExit(f"abi.py: not built: {' '.join(missing)}")
    for name, library in libraries(build).items():
        committed(name).write_text(describe(library))
        print(f"{committed(name).relative_to(HERE.parents[1])}: {len(interface(library))} symbols")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "renew":
        raise SystemExit(__doc__)
    renew(Path(sys.argv[2]).resolve())
