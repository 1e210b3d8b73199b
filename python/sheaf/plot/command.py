"""`sheaf plot`."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from typing import Sequence


def main(arguments: Sequence[str]) -> int:
    """Parses the arguments and draws. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="sheaf plot",
        description="Draws a multifile (where the chunks of each task lie, how full they are, how much each task "
        "has, what is damaged), or what `sheaf-partest --json` has measured.",
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="a multifile, or one or more results of `sheaf-partest --json`",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="where to: the ending says how (png, svg, pdf; html: a page with all "
        "numbers); by default the name of FILE with .png",
    )
    parser.add_argument(
        "--no-check", action="store_true", help="do not read the data to find what is damaged"
    )
    options = parser.parse_args(arguments)
    if importlib.util.find_spec("matplotlib") is None:
        print("sheaf plot: needs matplotlib and numpy: pip install 'sheaf-io[plot]'", file=sys.stderr)
        return 1
    output = options.output or options.files[0] + ".png"
    ending = os.path.splitext(output)[1].lower()
    if ending not in (".png", ".svg", ".pdf", ".html"):
        parser.error(f"'{output}' ends with none of .png, .svg, .pdf, .html")
    from . import draw, draw_bandwidths, survey, write_page
    from .page import save

    if _is_multifile(options.files[0]):
        if len(options.files) > 1:
            parser.error("one multifile at a time")
        layout = survey(options.files[0], check=not options.no_check)
        if ending == ".html":
            write_page(layout, output)
        else:
            save(draw(layout), output)
    elif ending == ".html":
        parser.error("pages are for multifiles; measurements are drawn as png, svg or pdf")
    else:
        save(draw_bandwidths(options.files), output)
    print(output)
    return 0


def _is_multifile(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4) in (b"sion", b"\x89SHF")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
