#!/usr/bin/env python3
"""Captured files against plain ones (docs/capture.md): bench_capture.py [--bin build/bin] [--dir DIR] [--files 100000] [--repeats 3]

Each value is measured by one newly started program, alternating between captured and plain in new directories. Prints a table of
medians with the required values; the exit code is 1 if one is missed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path


class Bench:
    def __init__(self, binaries: Path, directory: Path) -> None:
        self.binaries, self.directory = binaries.absolute(), directory.absolute()

    def seconds(self, where: Path, capture: bool, *words: object) -> float:
        """Returns the number printed by posix_files."""
        program = self.binaries / "posix_files"
        environment = dict(os.environ)
        if capture:
            environment.update(LD_PRELOAD=str(self.binaries.parent / "lib" / "libsheaf_posix.so"),
                               SHEAF_CAPTURE=f"{where}/cap.*:{where}/set.sion")
        done = subprocess.run([str(program), *map(str, words)], env=environment, capture_output=True, text=True, check=True)
        return float(done.stdout)

    def fresh(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.directory))

    def many(self, capture: bool, files: int) -> tuple[float, float]:
        where = self.fresh()
        os.sync()
        made = self.seconds(where, capture, "make", where, 8, files // 8)
        gone = self.seconds(where, capture, "remove", where, 8, files // 8)
        shutil.rmtree(where)
        return made, made + gone

    def single(self, name: str, capture: bool, what: str, count: int) -> float:
        where = self.fresh()
        result = self.seconds(where, capture, what, where / name, count)
        shutil.rmtree(where)
        return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, default=Path("build/bin"))
    parser.add_argument("--dir", type=Path, default=Path("."))
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    bench = Bench(options.bin, options.dir)
    rounds = range(options.repeats)
    many = [(bench.many(True, options.files), bench.many(False, options.files)) for _ in rounds]
    calls = [bench.single("plain", True, "calls", 1000) for _ in rounds]
    small = [bench.single("cap.s", True, "small", 2_000_000) / bench.single("cap.s", False, "small", 2_000_000) for _ in rounds]
    rows = [
        (f"{options.files} files of 1 KiB by 8 processes, captured / plain", statistics.median(a[0] / b[0] for a, b in many), 0.5),
        ("the same with removing them", statistics.median(a[1] / b[1] for a, b in many), 0.2),
        ("lseek and access of another file, ns more for a call", statistics.median(calls), 30),
        ("fwrite of 64 bytes, captured / plain", statistics.median(small), 1.1),
    ]
    for name, value, most in rows:
        print(f"| {name} | {value:.3f} | <= {most} | {'' if value <= most else 'MISSED'} |")
    return any(value > most for _, value, most in rows)


if __name__ == "__main__":
    raise SystemExit(main())
