#!/usr/bin/env python3
"""count_statements.py [DIRECTORY ...]: counts C and C++ statements, as semicolons outside comments, strings and
characters, per folder and in total. Assertions do not count. Default: src, without the test doubles. It was 26,673
before the exchange became one engine (742f62e)."""

import pathlib
import re
import sys

DOUBLES = re.compile(r"(fiber_|faulty_|fault_ledger|recording_|memory_store|memory_inode)")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
ASSERTION = re.compile(r"(?<!define )\bSHEAF_(?:DEBUG_)?ASSERT\(")


def without_assertions(code):
    while found := ASSERTION.search(code):
        end, depth = found.end(), 1
        while depth > 0:
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        code = code[:found.start()] + code[end:].removeprefix(";")
    return code


def statements(text):
    # Quotes between digits are digit separators, not character literals.
    code = TOKEN.sub(" ", re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "", text))
    return without_assertions(code).count(";")


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    folders = [pathlib.Path(name) for name in sys.argv[1:]] or [root / "src"]
    total = 0
    for folder in folders:
        counts = {}
        for path in sorted(folder.rglob("*")):
            if path.suffix in {".c", ".cpp", ".h", ".hpp"} and not DOUBLES.match(path.name):
                room = path.parent.relative_to(folder)
                counts[room] = counts.get(room, 0) + statements(path.read_text())
        for room, count in counts.items():
            print(f"{count:7} {folder.name}/{room}")
        total += sum(counts.values())
    print(f"{total:7} in all")


if __name__ == "__main__":
    main()
