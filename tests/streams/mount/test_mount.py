"""Every kind of multifile, mounted: names, sizes, bytes, attributes."""

from __future__ import annotations

import errno
import mmap
import os
import random
import subprocess
import sys
import threading
import unittest
from pathlib import Path

from mount_case import BIN, HERE, MountCase, attributes, data, run
from tool_case import VECTORS, digest, golden, make_keyval, make_plain

from sheaf_format.keyval import encode as encode_records


def crc32c(stream: bytes) -> int:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    state = 0xFFFFFFFF
    for byte in stream:
        state = state >> 8 ^ table[(state ^ byte) & 0xFF]
    return state ^ 0xFFFFFFFF


class Kinds(MountCase):
    @unittest.skipUnless(VECTORS.is_dir(), "no golden files")
    def test_golden_multifiles_are_what_their_manifests_say(self) -> None:
        for name, path, manifest in golden():
            with self.subTest(name=name):
                view = self.mount(path, name=name)
                self.assertEqual({entry: digest((view / entry).read_bytes()) for entry in os.listdir(view)},
                                 {f"task.{task['rank']:06}": task["sha256"] for task in manifest["tasks"]})
                for task in manifest["tasks"]:
                    said = attributes(view / f"task.{task['rank']:06}")
                    self.assertEqual((said["task"], said["global_rank"], said["chunks"]),
                                     (str(task["rank"]), str(task["globalrank"]), str(task["blockcount"])))
                self.unmount(view)

    def test_sets_of_both_byte_orders(self) -> None:
        for order in ("little", "big"):
            path = self.dir / f"{order}.sion"
            streams = make_plain(path, order)
            self.assert_shows(self.mount(path, name=order), streams)

    def test_a_path_through_a_link_is_that_of_the_system(self) -> None:
        for folder in ("other/sub", "here"):
            (self.dir / folder).mkdir(parents=True)
        (self.dir / "here" / "link").symlink_to(self.dir / "other" / "sub")
        streams = make_plain(self.dir / "other" / "x.sion", tasks=2)
        make_plain(self.dir / "here" / "x.sion", tasks=5)
        (self.dir / "other" / "view").mkdir()
        self.succeed("sheaf", "mount", "link/../x.sion", "link/../view", cwd=self.dir / "here")
        self.assert_shows(self.dir / "other" / "view", streams)
        self.succeed("sheaf", "umount", "link/../view/", cwd=self.dir / "here")
        self.assertEqual(os.listdir(self.dir / "other" / "view"), [])

    def test_key_value_records_are_there_as_they_are(self) -> None:
        path = self.dir / "kv.sion"
        records = make_keyval(path)
        view = self.mount(path)
        self.assert_shows(view, [encode_records(mine, "little") for mine in records])
        self.assertEqual(attributes(view)["key_value"], "yes")

    def test_many_chunks_and_empty_tasks(self) -> None:
        path, streams = self.written("a.sion", [0, 1, 70_000, 300_001, 0], chunk_size=1000, block_size=512)
        view = self.mount(path)
        self.assert_shows(view, streams)
        self.assertEqual(int(attributes(view / "task.000003")["chunks"]), 293)

    def test_compressed_streams_are_shown_plain(self) -> None:
        for method in ("zstd", "gzip", "lz4"):
            with self.subTest(method=method):
                path, streams = self.written(f"{method}.sion", [0, 500_000, 3, 2_000_000], compress=method, frame=4096,
                                             chunk_size=100_000)
                view = self.mount(path, name=method)
                self.assert_shows(view, streams)
                self.assertEqual(attributes(view)["compressed"], "yes")
                self.assertLess(int(attributes(view / "task.000001")["stored_size"]), 500_000)

    @unittest.skipUnless(os.geteuid() == 0, "only root may say how far the kernel reads ahead")
    def test_the_kernel_reads_ahead_a_whole_request(self) -> None:
        path, streams = self.written("a.sion", [100_000] * 30)
        view = self.mount(path)
        self.assert_shows(view, streams)  # the first requests have completed the negotiation
        device = os.stat(view).st_dev
        ahead = Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")
        self.assertEqual(ahead.read_text().strip(), "1024")

    def test_without_checksums(self) -> None:
        path, streams = self.written("a.sion", [100_000, 70], checksums=False)
        view = self.mount(path)
        self.assert_shows(view, streams)
        self.assertNotIn("checksum", attributes(view / "task.000000"))

    def test_an_unclosed_multifile_shows_what_was_flushed(self) -> None:
        path = self.dir / "u.sion"
        for compress in (None, "zstd"):
            writer = (f"import os, sys; sys.path[:0] = {[str(HERE), str(HERE.parents[2] / 'python')]!r}\n"
                      f"import sheaf; from mount_case import data\n"
                      f"f = sheaf.open({str(path)!r}, 'w', tasks=3, chunk_size=4096, compress={compress!r})\n"
                      "for t in range(3):\n  f[t].write(data(t, 9000 * t)); f[t].flush()\n"
                      "os._exit(0)\n")
            subprocess.run([sys.executable, "-c", writer], check=True)
            view = self.dir / "view"
            view.mkdir(exist_ok=True)
            result = run("sheaf", "mount", path, view)
            self.assertEqual(result.returncode, 0)
            self.assertIn(b"was not closed", result.stderr)
            self.assert_shows(view, [data(task, 9000 * task) for task in range(3)])
            self.assertEqual(attributes(view)["closed"], "no")
            self.unmount(view)

    def test_several_multifiles_are_directories(self) -> None:
        one, first = self.written("one.sion", [10, 20])
        two, second = self.written("two,\\ x.sion", [30])
        view = self.mount(one, two)
        self.assertEqual(sorted(os.listdir(view)), ["one.sion", "two,\\ x.sion"])
        self.assert_shows(view / "one.sion", first)
        self.assert_shows(view / "two,\\ x.sion", second)
        self.assertEqual(attributes(view / "one.sion")["multifile"], str(one))
        numbers = [path.stat().st_ino for path in view.rglob("*")]
        self.assertEqual(len(set(numbers)), 5)

    def test_no_task_at_all(self) -> None:
        path = self.dir / "none.sion"
        path.write_bytes(b"")
        self.fail_on(str(path), "sheaf", "mount", path, self.dir)


class Places(MountCase):
    def test_any_place_by_several_threads(self) -> None:
        path, streams = self.written("a.sion", [1_500_000, 3_000_017], chunk_size=77_777, block_size=512)
        compressed = self.dir / "c.sion"
        self.succeed("sheaf", "defrag", "--compress", "zstd", "--frame", "8k", path, compressed)
        wrong = []

        def look(view: Path, seed: int) -> None:
            draw = random.Random(seed)
            for task, stream in enumerate(streams):
                with open(view / f"task.{task:06}", "rb", buffering=0) as file:
                    for _ in range(100):
                        at, size = draw.randrange(len(stream) + 10), draw.randrange(200_000)
                        if os.pread(file.fileno(), size, at) != stream[at:at + size]:
                            wrong.append((task, at, size))

        for view in (self.mount(path, name="plain"), self.mount(compressed, name="compressed")):
            threads = [threading.Thread(target=look, args=(view, seed)) for seed in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])

    def test_maps(self) -> None:
        path, streams = self.written("a.sion", [300_000])
        with open(self.mount(path) / "task.000000", "rb") as file, \
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            self.assertEqual(mapped[:], streams[0])

    def test_names_that_there_are_not(self) -> None:
        view = self.mount(self.written("a.sion", [1] * 12)[0])
        for name in ("task.000012", "task.12", "task.0000012", "task.-00001", "task.+00001", "task. 00001", "x", "task.",
                     "task.00000a", "x" * 255):
            self.assertFalse((view / name).exists(), name)
        self.assertTrue((view / "task.000011").exists())
        self.assertFalse((view / "task.000011" / "x").exists())

    def test_a_million_tasks_have_longer_names(self) -> None:
        path = self.dir / "many.sion"
        self.written("many.sion", [3], chunk_size=1)
        with __import__("sheaf").open(path, "w", tasks=1_000_001, chunk_size=1, block_size=1) as f:
            f[1_000_000].write(b"x")
        view = self.mount(path)
        self.assertEqual((view / "task.1000000").read_bytes(), b"x")
        self.assertEqual((view / "task.0000007").read_bytes(), b"")
        self.assertFalse((view / "task.000007").exists())
        self.assertEqual(sum(1 for _ in os.scandir(view)), 1_000_001)

    def test_nothing_can_be_written(self) -> None:
        view = self.mount(self.written("a.sion", [10])[0])
        for work in (lambda: open(view / "task.000000", "r+b"), lambda: open(view / "new", "wb"),
                     lambda: os.unlink(view / "task.000000"), lambda: os.mkdir(view / "d"),
                     lambda: os.setxattr(view / "task.000000", "user.x", b"1"), lambda: os.truncate(view / "task.000000", 1)):
            with self.assertRaises(OSError) as caught:
                work()
            self.assertEqual(caught.exception.errno, errno.EROFS)


class Attributes(MountCase):
    def test_of_a_stream_and_of_the_multifile(self) -> None:
        path, streams = self.written("a.sion", [200_001, 0, 5], global_ranks=[7, 8, 9], chunk_size=70_000)
        view = self.mount(path)
        said = attributes(view / "task.000000")
        chunk = int(said.pop("chunk_size"))
        self.assertGreaterEqual(chunk, 70_000)
        self.assertEqual(said, {"task": "0", "global_rank": "7", "file": str(path), "chunks": str(-(-200_001 // chunk)),
                                "checksum": f"crc32c:{crc32c(streams[0]):08x}"})
        self.assertEqual(attributes(view / "task.000001")["checksum"], "crc32c:00000000")
        said = attributes(view)
        said.pop("process")
        self.assertEqual(said, {"multifile": str(path), "tasks": "3", "files": "1", "closed": "yes", "compressed": "no",
                                "key_value": "no", "checksums": "yes"})
        with self.assertRaises(OSError) as caught:
            os.getxattr(view, "user.sheaf.nothing")
        self.assertEqual(caught.exception.errno, errno.ENODATA)

    def test_owner_mode_and_time_are_those_of_the_multifile(self) -> None:
        path, _ = self.written("a.sion", [10])
        path.chmod(0o640)
        os.utime(path, ns=(1, 1_600_000_000_123_456_789))
        view = self.mount(path)
        found, there = (view / "task.000000").stat(), path.stat()
        self.assertEqual((found.st_mode & 0o777, found.st_uid, found.st_gid, found.st_mtime_ns, found.st_nlink),
                         (0o440, there.st_uid, there.st_gid, there.st_mtime_ns, 1))
        self.assertEqual((view.stat().st_mode & 0o777, view.stat().st_nlink), (0o550, 2))
        room = os.statvfs(view)
        self.assertEqual((room.f_files, room.f_bfree), (1, 0))


class Copies(MountCase):
    def test_cp_and_tar_give_what_split_gives(self) -> None:
        path, _ = self.written("a.sion", [(task * 7919) % 50_000 for task in range(200)], chunk_size=9000, block_size=512)
        view = self.mount(path)
        split, copied, unpacked = (self.dir / name for name in ("split", "copied", "unpacked"))
        split.mkdir()
        unpacked.mkdir()
        self.succeed("sheaf", "split", "-d", 6, path, split / "task.")
        subprocess.run(["cp", "-a", view, copied], check=True)
        subprocess.run(["tar", "cf", self.dir / "a.tar", "-C", view, "."], check=True)
        subprocess.run(["tar", "xf", self.dir / "a.tar", "-C", unpacked], check=True)
        for other in (copied, unpacked):
            self.assertEqual(subprocess.run(["diff", "-r", split, other], capture_output=True).stdout, b"")
            self.assertEqual((other / "task.000003").stat().st_mtime_ns // 10**9, path.stat().st_mtime_ns // 10**9)
        self.assertEqual(len(list(split.iterdir())), 200)

    def test_sheaf_itself_reads_what_is_mounted(self) -> None:
        inner, streams = self.written("inner.sion", [100, 2000])
        path = self.dir / "outer.sion"
        with __import__("sheaf").open(path, "w", tasks=1) as f:
            f[0].write(inner.read_bytes())
        view = self.mount(path)
        again = self.mount(view / "task.000000", name="again")
        self.assert_shows(again, streams)
        self.unmount(again)


if __name__ == "__main__":
    unittest.main()
