"""Mounts of many small streams: requests that the serving process handles, and bytes in every order of reading."""

from __future__ import annotations

import errno
import os
import random
import signal
import threading
import unittest
from pathlib import Path

from mount_case import MountCase, data, has_ended, process_behind

STREAMS = 2000


def reads_of(process: int) -> int:
    """Returns the number of read system calls: requests of the kernel, and reads of multifiles."""
    lines = Path(f"/proc/{process}/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("syscr")).split()[1])


def content_of(path: Path) -> bytes:
    """Reads a file as tar does. Path.read_bytes() also asks whether the file is a terminal, which is a request."""
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, os.fstat(file).st_size)
    finally:
        os.close(file)


class Small(MountCase):
    def named(self, contents: dict[str, bytes]) -> Path:
        """Writes named streams into a container."""
        path = self.dir / "named.sion"
        writer = self.mount("--write", path, name="writer")
        for name, content in contents.items():
            (writer / name).parent.mkdir(parents=True, exist_ok=True)
            (writer / name).write_bytes(content)
        self.unmount(writer)
        return path

    def read_like_tar(self, folder: Path) -> dict[str, bytes]:
        """Lists a folder before it reads the files in the order of the list, and then the folders."""
        found = {}
        for name in os.listdir(folder):
            path = folder / name
            if path.is_dir():
                found |= {f"{name}/{below}": content for below, content in self.read_like_tar(path).items()}
            else:
                found[name] = content_of(path)
        return found

    def assert_few_requests(self, path: Path, contents: dict[str, bytes], limit: int) -> None:
        view = self.mount(path)
        process = process_behind(view)
        before = reads_of(process)
        self.assertEqual(self.read_like_tar(view), contents)
        self.assertLess(reads_of(process) - before, limit)
        before = reads_of(process)
        self.assertEqual(self.read_like_tar(view), contents)
        self.assertLess(reads_of(process) - before, 10)
        self.unmount(view)

    def test_tasks_take_few_requests(self) -> None:
        # More names than the first request for a listing returns, which has attributes in any case.
        tasks = 4 * STREAMS
        path, streams = self.written("a.sion", [300 + task % 100 for task in range(tasks)], chunk_size=512, block_size=512)
        self.assert_few_requests(path, {f"task.{task:06}": stream for task, stream in enumerate(streams)}, tasks // 10)

    def test_named_streams_take_few_requests(self) -> None:
        contents = {f"{task:06}": data(task, 3000 + task % 1000) for task in range(STREAMS)}
        self.assert_few_requests(self.named(contents), contents, STREAMS // 3)

    def test_folders_of_named_streams(self) -> None:
        contents = {f"d{task // 100:02}/{task:06}": data(task, 500) for task in range(STREAMS)}
        self.assert_few_requests(self.named(contents), contents, STREAMS // 3)

    def test_all_sizes_in_all_orders(self) -> None:
        draw = random.Random(3)
        sizes = [draw.choice([0, 1, 100, 4095, 4096, 4097, 30_000, 131_072, 131_073, 300_000]) for _ in range(150)]
        path, streams = self.written("a.sion", sizes, chunk_size=50_000, block_size=512)
        orders = {"forward": list(range(150)), "backward": list(range(149, -1, -1)), "every other": list(range(0, 150, 2)),
                  "random": draw.sample(range(150), 150), "twice": sorted([*range(150), *range(150)])}
        for kind, order in orders.items():
            for listed in (True, False):
                with self.subTest(kind=kind, listed=listed):
                    view = self.mount(path)
                    if listed:
                        self.assertEqual(len(os.listdir(view)), 150)
                    for task in order:
                        self.assertEqual((view / f"task.{task:06}").read_bytes(), streams[task])
                    self.unmount(view)

    def test_a_damaged_stream_fails_and_its_neighbours_do_not(self) -> None:
        path, streams = self.written("a.sion", [4000] * 100, chunk_size=4096)
        whole = bytearray(path.read_bytes())
        whole[whole.index(streams[50][:100]) + 10] ^= 1
        path.write_bytes(whole)
        view = self.mount(path)
        os.listdir(view)
        for task, stream in enumerate(streams):
            if task != 50:
                self.assertEqual((view / f"task.{task:06}").read_bytes(), stream)
                continue
            with self.assertRaises(OSError) as caught:
                (view / f"task.{task:06}").read_bytes()
            self.assertEqual(caught.exception.errno, errno.EIO)

    def test_a_signal_ends_a_mount_while_several_threads_read_the_same(self) -> None:
        path, streams = self.written("a.sion", [4096] * STREAMS, chunk_size=4096)
        wrong = []

        def look(view: Path) -> None:
            try:
                for name in sorted(os.listdir(view)):
                    if (view / name).read_bytes() != streams[int(name.removeprefix("task."))]:
                        wrong.append(name)
            except OSError:
                pass  # the mount has ended

        for delay in (0, 0.01, 0.03, 0.1):
            view = self.mount(path)
            process = process_behind(view)
            threads = [threading.Thread(target=look, args=(view,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            threads[0].join(delay)
            os.kill(process, signal.SIGTERM)
            for thread in threads:
                thread.join()
            self.assertTrue(has_ended(process))
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
