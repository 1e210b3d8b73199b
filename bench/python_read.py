#!/usr/bin/env python3
"""python_read.py [--dir DIR] [--mib 1024] [--repeats 5]: the cost of reading from Python, as ratios to
peers of the same run. Medians, each kind in turn: a stream to a numpy array against sion_fread in C, eight
threads against one, one task of 294,912, the import; and the resident pages of a memory map."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
import numpy as np  # noqa: E402
import sheaf  # noqa: E402

C_READER = r"""
#include <sion.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv) {
  size_t bytes = strtoull(argv[2], NULL, 10);
  char *data = malloc(bytes);
  sion_int64 chunk;
  sion_int32 block;
  int task = 0;
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  int sid = sion_open_rank(argv[1], "rb", &chunk, &block, &task, NULL);
  size_t done = sion_fread(data, 1, bytes, sid);
  clock_gettime(CLOCK_MONOTONIC, &b);
  printf("%.6f\n", (b.tv_sec - a.tv_sec) + 1e-9 * (b.tv_nsec - a.tv_nsec));
  return done != bytes || argc != 3;
}
"""


def timed(work) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def in_turn(repeats: int, **works) -> dict[str, float]:
    """Returns the median seconds that each work returns or takes."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            found[name].append(work())
    return {name: statistics.median(values) for name, values in found.items()}


def resident_kib() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 10


def big_stream(directory: Path, size: int, repeats: int) -> None:
    path, library = str(directory / "big.sion"), str(Path(sheaf.library_path() or "").resolve().parent)
    with sheaf.open(path, "w", chunk_size=size) as f:
        part = np.random.default_rng(1).integers(0, 255, 64 << 20, np.uint8)
        for _ in range(size // len(part)):
            f[0].write(part)
    source = directory / "reader.c"
    source.write_text(C_READER)
    subprocess.run(["cc", "-O2", f"-I{ROOT}/include", str(source), "-o", str(directory / "reader"), f"-L{library}", "-lsheaf",
                    f"-Wl,-rpath,{library}"], check=True)

    def in_c() -> float:
        return float(subprocess.run([directory / "reader", path, str(size)], capture_output=True, text=True, check=True).stdout)

    def in_python() -> float:
        kept = []

        def work() -> None:
            with sheaf.open(path) as f:
                kept.append(f[0].array("u1", copy=True))

        return timed(work)  # without freeing the memory, as in C

    found = in_turn(repeats, c=in_c, python=in_python)
    print(f"stream of {size >> 20} MiB to numpy, bandwidth / sion_fread in C: {found['c'] / found['python']:.3f}"
          f" ({found['python']:.3f} s, {found['c']:.3f} s)")
    before = resident_kib()
    with sheaf.open(path) as f:
        array = f[0].array("u1")
        print(f"memory map of it: {resident_kib() - before} KiB resident more; {type(array).__name__}")
    os.unlink(path)


def many_threads(directory: Path, repeats: int) -> None:
    path = str(directory / "eight.sion")
    with sheaf.open(path, "w", tasks=8, chunk_size=64 << 20) as f:
        for stream in f:
            stream.write(np.ones(64 << 20, np.uint8))
    buffers = [np.empty(64 << 20, np.uint8) for _ in range(8)]

    def one() -> float:
        with sheaf.open(path) as f:
            return timed(lambda: [f[rank].readinto(buffers[rank]) for rank in range(8)])

    def eight() -> float:
        with sheaf.open(path) as f:
            threads = [threading.Thread(target=f[rank].readinto, args=(buffers[rank],)) for rank in range(8)]

            def work() -> None:
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()

            return timed(work)

    found = in_turn(repeats, one=one, eight=eight)
    print(f"8 threads reading 8 tasks of 64 MiB / 1 thread: {found['one'] / found['eight']:.2f} x "
          f"(load of the machine {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores)")
    os.unlink(path)


def one_of_many(directory: Path, repeats: int) -> None:
    path = str(directory / "many.sion")
    with sheaf.open(path, "w", tasks=294_912, chunk_size=1, block_size=512) as f:
        f[200_000].write(b"hello")

    def work() -> None:
        with sheaf.open(path) as f:
            assert f[200_000].read() == b"hello"

    found = in_turn(repeats, one=lambda: timed(work))
    print(f"one task of 294,912, open included: {1000 * found['one']:.1f} ms")
    os.unlink(path)


def the_import(repeats: int) -> None:
    code = "import numpy, time; t = time.perf_counter(); import sheaf; print(time.perf_counter() - t)"
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"))
    found = in_turn(2 * repeats, one=lambda: float(
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout))
    print(f"import beyond numpy: {1000 * found['one']:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", default=".")
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as name:
        the_import(options.repeats)
        one_of_many(Path(name), options.repeats)
        many_threads(Path(name), options.repeats)
        big_stream(Path(name), options.mib << 20, options.repeats)


if __name__ == "__main__":
    main()
