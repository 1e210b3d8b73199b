#!/usr/bin/env python3
"""compile_commands.py BUILD OUTPUT: writes OUTPUT, a compile_commands.json with an entry for each source that the
build directory BUILD compiles, or would compile for a test. A generated file of a unity build is replaced by the
sources it includes. Compiler launchers and GCC-only options are removed, since most consumers are based on Clang.
BUILD must be configured, but not built."""

import json
import os
import pathlib
import re
import shlex
import sys

LAUNCHERS = {"ccache", "sccache", "distcc"}
# GCC-only options, and GCC's precompiled headers.
FOR_GCC = re.compile(r" -fno-gnu-unique\b| -Winvalid-pch\b| -include \S*/cmake_pch\.hx*\b")


def sources(entry):
    """Returns the sources of a translation unit; for a unity build, those that the generated file includes."""
    path = pathlib.Path(entry["directory"], entry["file"])
    if "Unity" not in path.parts:
        return [path]
    return [pathlib.Path(name) for name in re.findall(r'#include "([^"]+)"', path.read_text())]


def words_for_clang(command):
    """Returns the compiler and its arguments."""
    words = shlex.split(FOR_GCC.sub("", command))
    return words[1:] if pathlib.Path(words[0]).name in LAUNCHERS else words


def of_source(entry, source):
    """Returns the entry of one source of a translation unit."""
    words = [str(source) if word == entry["file"] else word for word in words_for_clang(entry["command"])]
    return {"directory": entry["directory"], "command": shlex.join(words), "file": str(source)}


def main():
    build, output = (pathlib.Path(word) for word in sys.argv[1:])
    commands = json.loads((build / "compile_commands.json").read_text())
    found = {}
    for entry in commands:
        for source in sources(entry):
            if source.name not in ("cmake_pch.hxx.cxx", "cmake_pch.h.c"):
                found.setdefault(source, of_source(entry, source))
    temporary = output.with_name(f"{output.name}.{os.getpid()}")
    temporary.write_text(json.dumps([found[source] for source in sorted(found)], indent=1) + "\n")
    os.replace(temporary, output)


if __name__ == "__main__":
    main()
