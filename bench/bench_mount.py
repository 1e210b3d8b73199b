#!/usr/bin/env python3
"""The cost of `sheaf mount`: sequential reads of a stream against `cat` of a file with the same bytes, `tar` of 20,000 small
streams against `tar` of as many files, and mounts of 294,912 tasks.

The listing of 294,912 tasks and their mount are compared with fixed times; all three are compared with ratarmount on a tar file of the same
streams.

Why this is fair: all data are in the page cache of the underlying file system before each measurement, on both sides. Each measured operation
is a separate process (`cat`, `ls -f`, the mount command). "again" reads a file that was read through the mount before, as programs do that
read a file twice. "first" reads it through a new mount, so every byte passes through the program that implements the mount. ratarmount uses
an existing index, which it stores beside the tar file. All kinds alternate; medians; a missed target makes the exit code 1.

`tar` archives the tasks of a multifile, and named streams of a container, through a new mount each time. The plain files are in the page
cache, and free memory is touched before each run. Archives of the files and of the mounts alternate. They go to a pipe, because GNU tar
reads no data if it writes to /dev/null.

On a virtual machine that returns free memory to its host (module page_reporting), the first read measures how fast the host provides it
again, and misses its target. Our mount stores a stream in large folios, which are allocated from such memory. ratarmount's uses single
pages, which mostly are not. If a program has just written to all free memory, the first read measures the two programs.

    bench/bench_mount.py --bin build/bin --dir . --ratarmount /path/to/venv/bin/ratarmount
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--bin", default="build/bin", help="directory of sheaf")
parser.add_argument("--dir", default=".")
parser.add_argument("--mib", type=int, default=512, help="of the stream that is read")
parser.add_argument("--tasks", type=int, default=294_912, help="of the multifile that is listed")
parser.add_argument("--files", type=int, default=20_000, help="small files that tar reads")
parser.add_argument("--sizes", type=int, nargs="+", default=[4096, 32_768], help="bytes of each small file")
parser.add_argument("--only", choices=["reading", "archiving", "listing"], help="one of the three parts")
parser.add_argument("--repeats", type=int, default=5)
parser.add_argument("--ratarmount", help="the program, of a virtual environment in which it is installed; none: no comparison")
options = parser.parse_args()
BIN = Path(options.bin).resolve()
os.environ.setdefault("SHEAF_LIBRARY", str(BIN.parent / "lib" / "libsheaf.so.1"))
import sheaf  # noqa: E402


def timed(*words: object) -> float:
    begin = time.perf_counter()
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


class Ours:
    name = "sheaf mount"

    def __init__(self, multifile: Path, view: Path) -> None:
        self.source, self.view = multifile, view

    def mount(self) -> float:
        return timed(BIN / "sheaf", "mount", self.source, self.view)

    def unmount(self) -> None:
        timed(BIN / "sheaf", "umount", self.view)


class Theirs:
    name = "ratarmount"

    def __init__(self, tar: Path, view: Path) -> None:
        self.source, self.view = tar, view

    def mount(self) -> float:
        return timed(options.ratarmount, self.source, self.view)

    def unmount(self) -> None:
        timed("fusermount3", "-u", self.view)
        time.sleep(0.5)  # its process ends after the unmount


def all_done(works: dict[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in works.items()}


def measure(mounts: list, file: str | None) -> dict[str, dict[str, float]]:
    """Returns the seconds of the mount, the listing, and the first and a repeated read of `file`, by name
    of the mount."""
    os.sync()  # no pending writes to the disk
    found: dict[str, dict[str, list[float]]] = {}
    for number in range(options.repeats):
        for who in mounts[:: 1 if number % 2 else -1]:  # each is first equally often
            times = found.setdefault(who.name, {})
            timed("cat", who.source)  # fills the page cache, whatever came before
            times.setdefault("mount", []).append(who.mount())
            if file:
                times.setdefault("first", []).append(timed("cat", who.view / file))
                times.setdefault("again", []).append(timed("cat", who.view / file))
            else:
                times.setdefault("list", []).append(timed("ls", "-f", who.view))
            who.unmount()
    return {name: all_done(times) for name, times in found.items()}


missed = []


def tell(what: str, value: float, target: float, unit: str, at_least: bool) -> None:
    good = value >= target if at_least else value <= target
    print(f"{what:66} {value:8.3f} {unit:5} must be {'>=' if at_least else '<='} {target:g}{'' if good else '  MISSED'}")
    if not good:
        missed.append(what)


def tar_of(path: Path, streams: list[tuple[str, bytes]]) -> None:
    with tarfile.open(path, "w") as tar:
        for name, content in streams:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, BytesIO(content))


def reading(scratch: Path) -> None:
    content = os.urandom(1 << 20) * options.mib
    plain, multifile, tar = scratch / "plain", scratch / "one.sion", scratch / "one.tar"
    plain.write_bytes(content)
    with sheaf.open(multifile, "w", tasks=2, chunk_size=64 << 20) as f:
        f[0].write(content)
        f[1].write(b"another one")
    mounts: list = [Ours(multifile, scratch / "ours")]
    if options.ratarmount:
        tar_of(tar, [("task.000000", content), ("task.000001", b"another one")])
        mounts.append(Theirs(tar, scratch / "theirs"))
        mounts[1].mount(), mounts[1].unmount()  # creates the index
    del content
    found = measure(mounts, "task.000000")
    timed("cat", plain)
    of_plain = statistics.median(timed("cat", plain) for _ in range(options.repeats))
    ours = found["sheaf mount"]
    print(f"cat of {options.mib} MiB: plain {of_plain:.4f} s, mounted first {ours['first']:.4f} s, again {ours['again']:.4f} s")
    tell("sequential read again / cat of the plain bytes, bandwidth", of_plain / ours["again"], 0.9, "x", True)
    print(f"{'sequential read first / cat of the plain bytes, bandwidth':66} {of_plain / ours['first']:8.3f} x")
    if options.ratarmount:
        theirs = found["ratarmount"]
        print(f"ratarmount: first {theirs['first']:.4f} s, again {theirs['again']:.4f} s")
        for kind in ("first", "again"):
            tell(f"sequential read {kind} / ratarmount, bandwidth", theirs[kind] / ours[kind], 1, "x", True)


def touch_memory(size: int) -> None:
    """Writes to free memory, so that a virtual machine has it from its host."""
    subprocess.run([sys.executable, "-c", f"b = bytearray({size})\nfor i in range(0, len(b), 4096): b[i] = 1"], check=True)


def archived(directory: Path) -> float:
    touch_memory(2 * options.files * max(options.sizes))
    begin = time.perf_counter()
    with subprocess.Popen(["tar", "cf", "-", "-C", directory, "."], stdout=subprocess.PIPE) as tar:
        subprocess.run(["cat"], stdin=tar.stdout, stdout=subprocess.DEVNULL, check=True)
    if tar.returncode != 0:
        sys.exit(f"tar of {directory} has failed")
    return time.perf_counter() - begin


def archiving(scratch: Path, size: int) -> None:
    plain, multifile, named = scratch / f"files.{size}", scratch / f"tasks.{size}.sion", scratch / f"named.{size}.sion"
    plain.mkdir()
    with sheaf.open(multifile, "w", tasks=options.files, chunk_size=size, block_size=512) as f:
        for task in range(options.files):
            content = b"%015d\n" % task * (size // 16)
            f[task].write(content)
            (plain / f"f{task:06}").write_bytes(content)
    subprocess.run([BIN / "sheaf", "mount", "--write", named, scratch / "ours"], check=True)
    subprocess.run(["cp", "-r", "-T", plain, scratch / "ours"], check=True)
    subprocess.run([BIN / "sheaf", "umount", scratch / "ours"], check=True)
    os.sync()
    mounts = {"tasks": Ours(multifile, scratch / "ours"), "named streams": Ours(named, scratch / "ours")}
    times: dict[str, list[float]] = {"files": [], **{kind: [] for kind in mounts}}
    for _ in range(options.repeats):
        for kind, ours in mounts.items():
            times["files"].append(archived(plain))
            ours.mount()
            times[kind].append(archived(ours.view))
            ours.unmount()
    of_files = statistics.median(times["files"])
    for kind in mounts:
        value = statistics.median(times[kind])
        print(f"tar of {options.files:,} files of {size} bytes: plain {of_files:.3f} s, {kind} {value:.3f} s")
        tell(f"tar of {options.files:,} {kind} of {size} bytes / files, time", value / of_files, 1.5, "x", False)


def listing(scratch: Path) -> None:
    multifile, tar = scratch / "many.sion", scratch / "many.tar"
    with sheaf.open(multifile, "w", tasks=options.tasks, chunk_size=64, block_size=64) as f:
        for task in range(options.tasks):
            f[task].write(b"%063d\n" % task)
    mounts: list = [Ours(multifile, scratch / "ours")]
    if options.ratarmount:
        tar_of(tar, [(f"task.{task:06}", b"%063d\n" % task) for task in range(options.tasks)])
        mounts.append(Theirs(tar, scratch / "theirs"))
        mounts[1].mount(), mounts[1].unmount()
    found = measure(mounts, None)
    ours = found["sheaf mount"]
    tell(f"ls -f of {options.tasks:,} tasks", ours["list"], 1, "s", False)
    tell(f"mount of {options.tasks:,} tasks", ours["mount"], 0.1, "s", False)
    if options.ratarmount:
        theirs = found["ratarmount"]
        print(f"ratarmount: list {theirs['list']:.3f} s, mount with its index made before {theirs['mount']:.3f} s")
        tell("ls -f, ratarmount / sheaf mount, time", theirs["list"] / ours["list"], 1, "x", True)
        tell("mount, ratarmount / sheaf mount, time", theirs["mount"] / ours["mount"], 1, "x", True)


def main() -> int:
    with tempfile.TemporaryDirectory(dir=options.dir) as name:
        scratch = Path(name).resolve()
        for view in ("ours", "theirs"):
            (scratch / view).mkdir()
        if options.only in (None, "reading"):
            reading(scratch)
        if options.only in (None, "archiving"):
            for size in options.sizes:
                archiving(scratch, size)
        if options.only in (None, "listing"):
            listing(scratch)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
