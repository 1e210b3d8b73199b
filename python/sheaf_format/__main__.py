"""Command line of sheaf_format: `python3 python/sheaf_format COMMAND ...` or `python3 -m sheaf_format COMMAND ...`."""

from __future__ import annotations

import argparse
import json
import os
import sys

if not __package__:  # started as a directory: make the package importable by name
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from sheaf_format import FormatError, Multifile, describe, verify
from sheaf_format.extensions import read_extension


def _check(paths: list[str]) -> int:
    """Prints one line per multifile. Returns 1 if any has a finding."""
    status = 0
    for path in paths:
        try:
            with Multifile(path) as multifile:
                for physical in multifile.files:
                    verify(physical)
                multifile.check_records()
                multifile.check_frames()
                extensions = [read_extension(physical) for physical in multifile.files]
            guessed = [e.guessed_ends for e in extensions if e and e.guessed_ends is not None]
            print(f"{path}: ok" + (f", but a repair has guessed where {sum(guessed)} chunk(s) end" if guessed else ""))
        except (FormatError, OSError) as error:
            print(error if isinstance(error, FormatError) else f"{path}: {error.strerror}")
            status = 1
    return status


def _describe(path: str) -> int:
    with Multifile(path) as multifile:
        json.dump(describe(multifile), sys.stdout, indent=1)
    print()
    return 0


def _stream(path: str, rank: int) -> int:
    with Multifile(path) as multifile:
        if not 0 <= rank < len(multifile.tasks):
            print(f"{path}: rank {rank} is not one of 0 to {len(multifile.tasks) - 1}", file=sys.stderr)
            return 1
        for block in multifile.plain_blocks(rank):
            sys.stdout.buffer.write(block)
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="sheaf_format", description="Checks and reads SION multifiles.")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="say what is wrong with multifiles; exit status 1 if anything is")
    check.add_argument("files", nargs="+", metavar="FILE", help="physical file 0 of a set, or any single one")
    show = commands.add_parser("describe", help="print all metadata and checksums as JSON")
    show.add_argument("file", metavar="FILE")
    stream = commands.add_parser("stream", help="write the stream of one task to stdout")
    stream.add_argument("file", metavar="FILE")
    stream.add_argument("rank", metavar="RANK", type=int)
    options = parser.parse_args(arguments)
    try:
        if options.command == "check":
            return _check(options.files)
        if options.command == "describe":
            return _describe(options.file)
        return _stream(options.file, options.rank)
    except FormatError as error:
        print(error, file=sys.stderr)
    except BrokenPipeError:  # the reader of the output has exited
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"{options.file}: {error.strerror}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
