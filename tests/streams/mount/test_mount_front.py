"""Mounts of large streams by root: EROFS of the kernel, read through FUSE (src/cli/mount/front.hpp). Names,
attributes and bytes are the same. If one of the two mounts fails, both are removed, and mounts of other users
stay."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from mount_case import BIN, SECONDS, MountCase, attributes, data, fuse_mounts, has_ended, process_behind, run

LARGE = 1 << 20


def types(view: Path) -> list[str]:
    """Returns the types of the file systems mounted there, the topmost last."""
    lines = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [line[line.index("-") + 1] for line in lines if line[4] == str(view)]


class FrontCase(MountCase):
    def mount(self, *arguments: object, name: str = "view") -> Path:
        view = super().mount(*arguments, name=name)
        if types(view) == ["fuse.sheaf"]:
            self.skipTest("not root, or a kernel without EROFS on files (Linux 6.12)")
        self.assertEqual(types(view), ["erofs"])
        return view

    def large(self, *sizes: int, **options: object) -> tuple[Path, list[bytes]]:
        return self.written("a.sion", list(sizes), **options)

    def assert_gone(self, process: int) -> None:
        self.assertTrue(has_ended(process))
        self.assertEqual(fuse_mounts(self.dir), [])


class Shows(FrontCase):
    def test_sizes_around_blocks(self) -> None:
        path, streams = self.large(0, 1, 4095, 4096, 4097, 0, 8192, LARGE, 3 * LARGE + 5, 0,
                                   chunk_size=100_001, block_size=512)
        view = self.mount(path)
        self.assert_shows(view, streams)
        with open(view / "task.000008", "rb", buffering=0) as file:
            self.assertEqual(os.pread(file.fileno(), 100, 3 * LARGE), streams[8][3 * LARGE:])
            self.assertEqual(os.pread(file.fileno(), 100, 3 * LARGE + 5), b"")

    def test_many_streams_take_many_blocks_of_a_folder(self) -> None:
        path, streams = self.large(*([20] * 700), 200 * LARGE // 2, chunk_size=LARGE)
        self.assert_shows(self.mount(path), streams)

    def test_folders_in_folders(self) -> None:
        long = "b/c/" + "long" * 60
        named = {"b/c/x": 300_000, "b/a": 140_000, long: 200_000, "a": 150_000, "b.txt": 500_000}
        before = -250_000_000  # nanoseconds before 1970
        times = [task * 1_500_000_000_000_000_001 + before for task in range(len(named))]
        files = self.dir / "files"
        for task, (name, size) in enumerate(named.items()):
            (files / name).parent.mkdir(parents=True, exist_ok=True)
            (files / name).write_bytes(data(task, size))
            os.utime(files / name, ns=(1, times[task]))
            (files / name).chmod(0o640)
        writer = self.mount_to_write(self.dir / "n.sion")
        subprocess.run(["cp", "-a", *files.iterdir(), writer], check=True)
        self.unmount(writer)
        other, streams = self.large(LARGE)
        view = self.mount(self.dir / "n.sion", other)
        self.assertEqual((view / "a.sion" / "task.000000").read_bytes(), streams[0])
        found = [path for path in view.rglob("n.sion/**/*") if path.is_file()]
        self.assertEqual({str(path.relative_to(view / "n.sion")) for path in found}, set(named))
        for task, (name, size) in enumerate(named.items()):
            shown = view / "n.sion" / name
            self.assertEqual(shown.read_bytes(), data(task, size))
            self.assertEqual((shown.stat().st_mode & 0o777, shown.stat().st_mtime_ns), (0o440, times[task]))
        self.assertEqual((view / "n.sion" / "b").stat().st_nlink, 3)
        self.assertEqual(sorted(os.listdir(view / "n.sion" / "b")), ["a", "c"])
        self.assertEqual(os.stat(view / "n.sion" / "b" / "..").st_ino, (view / "n.sion").stat().st_ino)
        numbers = [path.stat().st_ino for path in view.rglob("*")]
        self.assertEqual(len(set(numbers)), len(numbers))

    def mount_to_write(self, path: Path) -> Path:
        writer = self.dir / "writer"
        writer.mkdir()
        self.succeed("sheaf", "mount", "--write", path, writer)
        self.assertEqual(types(writer), ["fuse.sheaf"])
        return writer

    def test_attributes(self) -> None:
        path, streams = self.large(LARGE, LARGE, global_ranks=[7, 9])
        view = self.mount(path)
        said = attributes(view / "task.000001")
        self.assertEqual((said["task"], said["global_rank"], said["file"]), ("1", "9", str(path)))
        self.assertRegex(said["checksum"], "^crc32c:[0-9a-f]{8}$")
        self.assertEqual((attributes(view)["tasks"], attributes(view)["multifile"]), ("2", str(path)))
        with self.assertRaises(OSError) as caught:
            os.getxattr(view, "user.sheaf.nothing")
        self.assertEqual(caught.exception.errno, errno.ENODATA)

    def test_long_names_of_files_in_attributes(self) -> None:
        place = self.dir
        for _ in range(14):
            place = place / ("d" * 250)
            os.mkdir(place)
        path = place / "a.sion"
        self.large(LARGE)[0].rename(path)
        view = self.mount(path)
        self.assertEqual(attributes(view / "task.000000")["file"], str(path))

    def test_an_unclosed_multifile(self) -> None:
        path = self.dir / "u.sion"
        here = str(Path(__file__).resolve().parent)
        script = (f"import os, sys; sys.path.insert(0, {here!r})\nfrom mount_case import data, sheaf\n"
                  f"f = sheaf.open({str(path)!r}, 'w', tasks=1, chunk_size=65536)\n"
                  f"f[0].write(data(0, {LARGE})); f[0].flush(); os._exit(0)\n")
        subprocess.run([sys.executable, "-c", script], check=True)
        view = self.dir / "view"
        view.mkdir()
        self.assertIn(b"was not closed", run("sheaf", "mount", path, view).stderr)
        self.assert_shows(view, [data(0, LARGE)])

    def test_not_for_small_or_compressed_streams_or_to_write(self) -> None:
        small, _ = self.written("small.sion", [1000] * 5)
        compressed, _ = self.written("c.sion", [4 * LARGE], compress="zstd:1")
        for arguments in ([small], [compressed], ["--write", self.dir / "new.sion"]):
            view = MountCase.mount(self, *arguments)
            self.assertEqual(types(view), ["fuse.sheaf"])
            self.unmount(view)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_who_may_look(self) -> None:
        path, streams = self.large(LARGE)
        self.dir.chmod(0o755)
        for options, status in ([], 1), (["--allow-other"], 0):
            view = self.mount(*options, path)
            result = subprocess.run(["cat", view / "task.000000"], user="nobody", group="nogroup",
                                    extra_groups=[], capture_output=True, timeout=SECONDS)
            self.assertEqual(result.returncode, status)
            self.unmount(view)


class Ends(FrontCase):
    def test_by_umount_of_the_system(self) -> None:
        for words in (["umount"], [BIN / "sheaf", "umount"], [BIN / "sheaf", "umount", "--lazy"]):
            with self.subTest(words=words):
                path, streams = self.large(LARGE)
                view = self.mount(path)
                process = process_behind(view)
                self.assert_shows(view, streams)
                subprocess.run([*words, view], check=True, timeout=SECONDS)
                self.assert_gone(process)

    def test_by_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            path, streams = self.large(LARGE)
            view = self.mount(path)
            process = process_behind(view)
            with open(view / "task.000000", "rb", buffering=0) as file:
                self.assertEqual(os.pread(file.fileno(), 100, 0), streams[0][:100])
                os.kill(process, number)
                self.assertTrue(has_ended(process))
            if number == signal.SIGKILL:
                self.unmount(view)
            self.assert_gone(process)

    def test_with_an_open_file(self) -> None:
        path, streams = self.large(4 * LARGE)
        view = self.mount(path)
        process = process_behind(view)
        with open(view / "task.000000", "rb", buffering=0) as file:
            self.fail_on("lazy", "sheaf", "umount", view)
            self.assertEqual(types(view), ["erofs"])
            self.succeed("sheaf", "umount", "--lazy", view)
            self.assertEqual(os.listdir(view), [])
            self.assertEqual(file.readall(), streams[0])
        self.assert_gone(process)

    def test_in_the_foreground(self) -> None:
        path, streams = self.large(LARGE)
        view = self.dir / "view"
        view.mkdir()
        with subprocess.Popen([BIN / "sheaf", "mount", "--foreground", path, view]) as process:
            for _ in range(100):
                if types(view)[-1:] == ["erofs"]:
                    break
                time.sleep(0.05)
            self.assertEqual(process_behind(view), process.pid)
            self.assert_shows(view, streams)
            self.unmount(view)
            self.assertEqual(process.wait(timeout=SECONDS), 0)

    def test_of_one_that_lies_over_another(self) -> None:
        path, streams = self.large(LARGE)
        other, others = self.written("b.sion", [LARGE, LARGE])
        view = self.mount(path)
        self.succeed("sheaf", "mount", other, view)
        self.assert_shows(view, others)
        self.unmount(view)
        self.assert_shows(view, streams)
        self.unmount(view)
        self.assertEqual(fuse_mounts(self.dir), [])


@unittest.skipUnless(os.geteuid() == 0, "only root mounts file systems in memory")
class BesideOthers(FrontCase):
    def setUp(self) -> None:
        super().setUp()
        words = ["umount", "-l", self.dir / "view"]
        self.addCleanup(lambda: subprocess.run(words, stderr=subprocess.DEVNULL, check=False))

    def memory(self) -> None:
        subprocess.run(["mount", "-t", "tmpfs", "none", self.dir / "view"], check=True)

    def test_the_directory_is_free_at_once(self) -> None:
        for _ in range(5):
            view = self.mount(self.large(LARGE)[0])
            process = process_behind(view)
            subprocess.run(["umount", view], check=True)
            view.rmdir()
            self.assertTrue(has_ended(process))

    def test_what_is_mounted_next_stays(self) -> None:
        path, _ = self.large(LARGE)
        lazily = [BIN / "sheaf", "umount", "--lazy"]
        for words, held in ((["umount"], False), (["umount", "-l"], True), (lazily, True)):
            with self.subTest(words=words):
                view = self.mount(path)
                process = process_behind(view)
                file = open(view / "task.000000", "rb") if held else None
                subprocess.run([*words, view], check=True)
                self.memory()
                if file:
                    file.close()
                self.assertTrue(has_ended(process))
                self.assertEqual(types(view), ["tmpfs"])
                subprocess.run(["umount", view], check=True)

    def test_what_lies_below_or_above_stays(self) -> None:
        path, streams = self.large(LARGE)
        view = self.dir / "view"
        view.mkdir()
        self.memory()
        self.succeed("sheaf", "mount", path, view)
        self.assertEqual(types(view), ["tmpfs", "erofs"])
        process = process_behind(view)
        self.memory()
        os.kill(process, signal.SIGTERM)
        self.assertTrue(has_ended(process))
        self.assertEqual(types(view), ["tmpfs", "erofs", "tmpfs"])
        subprocess.run(["umount", view], check=True)
        self.unmount(view)
        self.assertEqual(types(view), ["tmpfs"])

    def test_a_directory_above_with_another_name(self) -> None:
        (self.dir / "old").mkdir()
        self.mount(self.large(LARGE)[0], name="old/view")
        (self.dir / "old").rename(self.dir / "new")
        process = process_behind(self.dir / "new" / "view")
        self.unmount(self.dir / "new" / "view")
        self.assert_gone(process)

    def test_without_standard_descriptors(self) -> None:
        path, streams = self.large(LARGE)
        view = self.dir / "view"
        view.mkdir()
        words = f"exec <&- >&- 2>&-; exec {BIN}/sheaf mount {path} {view}"
        subprocess.run(["sh", "-c", words], check=True, timeout=SECONDS)
        self.assert_shows(view, streams)
        process = process_behind(view)
        self.unmount(view)
        self.assert_gone(process)


class Damage(FrontCase):
    def test_it_goes_where_data_are_damaged_and_all_else_can_be_read(self) -> None:
        path, streams = self.large(4 * LARGE, 4 * LARGE, chunk_size=4 * LARGE)
        whole = bytearray(path.read_bytes())
        at = 3 * LARGE + 100
        whole[whole.index(streams[1][:4096]) + at] ^= 1
        path.write_bytes(whole)
        view = self.mount(path)
        process = process_behind(view)
        self.assertEqual((view / "task.000000").read_bytes(), streams[0])
        with self.assertRaises(OSError) as caught:
            (view / "task.000001").read_bytes()
        self.assertEqual(caught.exception.errno, errno.EIO)
        for _ in range(100):
            self.assertNotEqual(os.listdir(view), [])
            if types(view) == ["fuse.sheaf"]:
                break
            time.sleep(0.05)
        self.assertEqual(types(view), ["fuse.sheaf"])
        piece = 64 << 10
        with open(view / "task.000001", "rb", buffering=0) as file:
            for begin in range(0, 4 * LARGE, piece):
                if begin == at // piece * piece:
                    with self.assertRaises(OSError):
                        os.pread(file.fileno(), 4096, at)
                else:
                    self.assertEqual(os.pread(file.fileno(), piece, begin), streams[1][begin:begin + piece])
        self.assertEqual(process_behind(view), process)
        self.unmount(view)
        self.assert_gone(process)


if __name__ == "__main__":
    unittest.main()
