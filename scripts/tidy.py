#!/usr/bin/env python3
"""tidy.py BUILD [--jobs N] [--changed REVISION] [FOLDER ...]: runs clang-tidy on the sources in src/, in the
translation units that BUILD compiles, N at a time. Prints findings on stdout; exit code 1 if there are any. The checks
are those of .clang-tidy. --changed: only translation units of folders with a file that changed since REVISION. FOLDER,
for example `cli comm`: only translation units with sources below src/FOLDER. BUILD must be configured, but not
built."""

import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

from compile_commands import sources, words_for_clang

TOP = pathlib.Path(__file__).resolve().parent.parent
SRC = TOP / "src"


def units(commands):
    """Returns one translation unit for each set of sources, by that set. Omits units that compile the same sources
    again, for another library or MPI."""
    found = {}
    for entry in commands:
        files = frozenset(path for path in sources(entry) if path.is_relative_to(SRC) and path.suffix in {".c", ".cpp"})
        if files:
            found.setdefault(files, entry)
    return found


def wanted_folders(options):
    if options.folders:
        return {SRC / name for name in options.folders}
    if options.changed:
        names = subprocess.run(["git", "-C", TOP, "diff", "--name-only", options.changed, "--", "src"], check=True,
                               capture_output=True, text=True).stdout.split()
        return {(TOP / name).parent for name in names}
    return {SRC}


def tidy(unit):
    words = words_for_clang(unit["command"])[1:]
    # As in cmake/Posix.cmake: a table of the preload library exceeds Clang's default limit.
    words.append("-fconstexpr-steps=16777216")
    run = subprocess.run(["clang-tidy-16", "--quiet", unit["file"], "--", *words], cwd=unit["directory"],
                         capture_output=True, text=True)
    return run.returncode, run.stdout + (run.stderr if run.returncode and not run.stdout else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--changed", metavar="REVISION")
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    options = parser.parse_intermixed_args()
    folders = wanted_folders(options)
    commands = json.loads((options.build / "compile_commands.json").read_text())
    chosen = [unit for files, unit in units(commands).items()
              if any(file.is_relative_to(folder) for file in files for folder in folders)]
    told = set()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for code, text in pool.map(tidy, chosen):
            failed += code != 0
            for finding in re.split(r"(?m)^(?=/.*: (?:error|warning): )", text):
                if finding.strip() and finding not in told:  # a header is part of many units
                    told.add(finding)
                    print(finding.rstrip(), flush=True)
    print(f"tidy: {len(chosen)} translation units, {failed} with findings")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
