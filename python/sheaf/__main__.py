"""The command line: ``python -m sheaf``, and ``sheaf`` where the package is installed.

All commands of ``sheaf``, executed by that program, and those implemented in Python: ``plot``, ``refs``,
``ratarmount``, ``export``.
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib import import_module
from typing import Dict, List, Optional

from ._library import PARTS, available, library

COMMANDS: Dict[str, str] = {
    "plot": "sheaf.plot.command",
    "refs": "sheaf.refs",
    "ratarmount": "sheaf.ratarmount",
    "export": "sheaf.export",
}


def program() -> Optional[str]:
    """Returns the path of the program ``sheaf`` of the library in use; None if it is not found."""
    places = [str(PARTS / "bin" / "sheaf")]
    if available():
        places.append(os.path.join(os.path.dirname(library().directory), "bin", "sheaf"))
    found = next((place for place in places if os.access(place, os.X_OK)), None)
    if found is None:
        found = shutil.which("sheaf")
        if found is not None and _is_script(found):  # the script that called us
            return None
    return found


def _is_script(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs a command. Returns the exit status: 0, 1 for a problem with a file, 2 for an invalid command
    line."""
    words = sys.argv[1:] if arguments is None else arguments
    if words and words[0] in COMMANDS:
        from .errors import Error

        try:
            status: int = import_module(COMMANDS[words[0]]).main(words[1:])
            return status
        except Error as error:
            print(f"sheaf {words[0]}: {error}", file=sys.stderr)
            return 1
        except OSError as error:
            print(f"sheaf {words[0]}: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
            return 1
    found = program()
    if found is None:
        print(
            f"sheaf: the program 'sheaf' is not here; Python alone has the commands {', '.join(COMMANDS)} "
            "and `python -m sheaf_format`",
            file=sys.stderr,
        )
        return 2
    sys.stdout.flush()
    os.execv(found, ["sheaf", *words])


if __name__ == "__main__":
    sys.exit(main())
