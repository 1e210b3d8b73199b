"""Shared by the tests of `sheaf mount`: multifiles to show, mounts that end with the test, and skips. Tests are
skipped if mounting is impossible: no /dev/fuse, no fusermount3 for users other than root, or a build without
libfuse."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "cli"))
sys.path.insert(0, str(HERE.parents[2] / "python"))

from tool_case import BIN, SECONDS, ToolCase, run  # noqa: E402

os.environ.setdefault("SHEAF_LIBRARY", str(BIN.parent / "lib" / "libsheaf.so.1"))
import sheaf  # noqa: E402


def why_not() -> str | None:
    if not (BIN / "sheaf-mount").exists():
        return "Sheaf was built without libfuse"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "there is no /dev/fuse for this user"
    if os.geteuid() != 0 and not shutil.which("fusermount3"):
        return "there is no fusermount3"
    return None


def data(task: int, size: int) -> bytes:
    """Returns bytes that differ between tasks and between positions."""
    line = b"%08d of task %06d\n"
    return b"".join(line % (at, task) for at in range(size // 24 + 1))[:size]


def fuse_mounts(below: Path) -> list[str]:
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [point for point in points if point.startswith(str(below))]


def attributes(path: Path) -> dict[str, str]:
    """Returns the attributes set by Sheaf, without "user.sheaf."."""
    return {name.removeprefix("user.sheaf."): os.getxattr(path, name).decode() for name in os.listxattr(path)}


def process_behind(view: Path) -> int:
    return int(os.getxattr(view, "user.sheaf.process"))


def has_ended(process: int) -> bool:
    for _ in range(100):
        try:
            if Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


@unittest.skipIf(why_not(), why_not())
class MountCase(ToolCase):
    def setUp(self) -> None:
        super().setUp()
        self.dir = self.dir.resolve()
        self.addCleanup(self.unmount_rest)

    def unmount_rest(self) -> None:
        for point in set(fuse_mounts(self.dir)):
            subprocess.run([BIN / "sheaf", "umount", "--lazy", point], check=False, timeout=SECONDS)

    def mount(self, *arguments: object, name: str = "view") -> Path:
        view = self.dir / name
        view.mkdir(exist_ok=True)
        self.succeed("sheaf", "mount", *arguments, view)
        return view

    def unmount(self, view: Path) -> None:
        self.succeed("sheaf", "umount", view)

    def written(self, name: str, sizes: list[int], **options: object) -> tuple[Path, list[bytes]]:
        """Writes a multifile with the given number of bytes in each task. Returns its path and the bytes."""
        path = self.dir / name
        streams = [data(task, size) for task, size in enumerate(sizes)]
        with sheaf.open(path, "w", tasks=len(sizes), **options) as f:
            for task, stream in enumerate(streams):
                f[task].write(stream)
        return path, streams

    def assert_shows(self, view: Path, streams: list[bytes]) -> None:
        names = [f"task.{task:06}" for task in range(len(streams))]
        self.assertEqual(sorted(os.listdir(view)), names)
        for name, stream in zip(names, streams):
            self.assertEqual((view / name).stat().st_size, len(stream), name)
            self.assertEqual((view / name).read_bytes(), stream, name)


__all__ = ["BIN", "MountCase", "SECONDS", "attributes", "data", "fuse_mounts", "has_ended", "process_behind", "run", "sheaf"]
