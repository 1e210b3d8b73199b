#!/usr/bin/env python3
"""commit-subject.py FILE: checks the message of a commit, in FILE, as git's hook commit-msg does. The subject has at most 72 characters and
begins with the module that changes, as in `journal: report damaged slots`; an empty line follows. CONTRIBUTING.md has the rule."""

import pathlib
import re
import sys

MAX_CHARACTERS = 72
MODULE_FIRST = re.compile(r"[a-z0-9_.][\w./-]*(, [a-z0-9_.][\w./-]*)*: \S")
OF_GIT = re.compile(r'(fixup|squash|amend)! |Merge |Revert "')  # git wrote these subjects


def faults(message):
    lines = [line for line in message.split("\n") if not line.startswith("#")]
    subject, rest = lines[0], lines[1:]
    found = []
    if OF_GIT.match(subject):
        return found
    if len(subject) > MAX_CHARACTERS:
        found.append(f"the subject has {len(subject)} characters, at most {MAX_CHARACTERS} are allowed; move the reason to the body")
    if not MODULE_FIRST.match(subject):
        found.append("the subject does not begin with a module and a colon, as in `journal: report damaged slots`")
    if subject.endswith("."):
        found.append("the subject ends with a period; leave it out")
    if rest and rest[0].strip():
        found.append("the second line is not empty; separate the subject from the body")
    return found


def main():
    found = faults(pathlib.Path(sys.argv[1]).read_text())
    for fault in found:
        print(f"commit message: {fault}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
