"""Named streams, mounted; and mounts in which streams are written (--write)."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import threading
import unittest
from pathlib import Path

from mount_case import MountCase, attributes, data, has_ended, process_behind


class Writing(MountCase):
    def setUp(self) -> None:
        super().setUp()
        self.set = self.dir / "set.sion"

    def files(self, view: Path) -> dict[str, bytes]:
        return {str(path.relative_to(view)): path.read_bytes() for path in view.rglob("*") if path.is_file()}

    def assert_fails(self, number: int, work) -> None:
        with self.assertRaises(OSError) as caught:
            work()
        self.assertEqual(caught.exception.errno, number)

    def test_what_is_written_is_there_again_in_every_way(self) -> None:
        view = self.mount("--write", self.set)
        contents = {"a": b"", "d/e/b": data(1, 3_000_000), "d/c c": data(2, 5)}
        for name, content in contents.items():
            (view / name).parent.mkdir(parents=True, exist_ok=True)
            (view / name).write_bytes(content)
        with open(view / "a", "ab") as file:
            file.write(b"hello ")
        with open(view / "a", "ab") as file:
            file.write(b"again")
        contents["a"] = b"hello again"
        self.assertEqual(self.files(view), contents)
        os.utime(view / "a", ns=(1, 1_600_000_000_123_456_789))
        (view / "a").chmod(0o600)
        self.unmount(view)
        made = [name for name in self.names() if name != "view"]
        self.assertEqual(len(made), 1)
        self.assertTrue(made[0].startswith("set.sion.container."))

        view = self.mount(self.set)
        self.assertEqual(self.files(view), contents)
        self.assertEqual(sorted(os.listdir(view)), ["a", "d"])
        self.assertEqual((view / "a").stat().st_mtime_ns, 1_600_000_000_123_456_789)
        self.assertEqual((view / "a").stat().st_mode & 0o777, 0o400)
        self.assertEqual(attributes(view)["containers"], "1")
        self.assert_fails(errno.EROFS, lambda: (view / "new").write_bytes(b"x"))
        self.unmount(view)

        self.succeed("sheaf", "defrag", self.set, self.dir / "packed.sion")
        view = self.mount(self.dir / "packed.sion")
        self.assertEqual(self.files(view), contents)
        self.assertIn("checksum", attributes(view / "d" / "e" / "b"))
        self.unmount(view)

    def test_tar_and_cp_into_the_mount(self) -> None:
        source = self.dir / "source"
        for task in range(120):
            path = source / f"d{task % 3}" / f"f{task}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data(task, task * 977))
        view = self.mount("--write", self.set)
        subprocess.run(["cp", "-a", source, view / "copied"], check=True)
        subprocess.run(["tar", "cf", self.dir / "a.tar", "-C", source, "."], check=True)
        (view / "unpacked").mkdir()
        subprocess.run(["tar", "xf", self.dir / "a.tar", "-C", view / "unpacked"], check=True)
        for again in (False, True):
            for name in ("copied", "unpacked"):
                self.assertEqual(subprocess.run(["diff", "-r", source, view / name], capture_output=True).stdout, b"")
                self.assertEqual((view / name / "d1" / "f1").stat().st_mtime_ns // 10**9,
                                 (source / "d1" / "f1").stat().st_mtime_ns // 10**9)
            if not again:
                self.unmount(view)
                self.mount(self.set)

    def test_rewriting_renaming_and_removing(self) -> None:
        view = self.mount("--write", self.set)
        (view / "a").write_bytes(b"0123456789")
        with open(view / "a", "r+b", buffering=0) as file:
            os.pwrite(file.fileno(), b"xx", 3)
            os.pwrite(file.fileno(), b"end", 15)
            os.ftruncate(file.fileno(), 17)
            os.fsync(file.fileno())
            self.assertEqual(os.pread(file.fileno(), 100, 0), b"012xx56789\0\0\0\0\0en")
        (view / "b").write_bytes(b"other")
        os.rename(view / "b", view / "a")
        self.assertEqual(self.files(view), {"a": b"other"})
        with open(view / "a", "r+b", buffering=0) as file:
            os.unlink(view / "a")
            self.assertEqual((os.listdir(view), file.read()), ([], b"other"))
            os.write(file.fileno(), b" more")
            self.assertEqual(os.fstat(file.fileno()).st_size, 10)
        (view / "d").mkdir()
        self.assert_fails(errno.EEXIST, (view / "d").mkdir)
        (view / "d" / "x").write_bytes(b"1")
        self.assert_fails(errno.ENOTEMPTY, (view / "d").rmdir)
        self.assert_fails(errno.EISDIR, lambda: os.unlink(view / "d"))
        self.assert_fails(errno.EISDIR, lambda: (view / "d").write_bytes(b""))
        self.assert_fails(errno.EXDEV, lambda: os.rename(view / "d", view / "e"))
        self.assert_fails(errno.ENOENT, lambda: os.unlink(view / "none"))
        self.assert_fails(errno.EEXIST, lambda: os.close(os.open(view / "d" / "x", os.O_CREAT | os.O_EXCL | os.O_WRONLY)))
        (view / "d" / "x").unlink()
        self.assertEqual(os.listdir(view), ["d"])
        (view / "d").rmdir()
        self.assertEqual(os.listdir(view), [])
        self.unmount(view)
        self.assertEqual(self.files(self.mount(self.set)), {})

    def test_an_open_that_cuts(self) -> None:
        view = self.mount("--write", self.set)
        path = view / "a"
        for flags in (os.O_WRONLY, os.O_RDWR | os.O_CREAT, os.O_RDONLY):
            with self.subTest(flags):
                path.write_bytes(b"0123456789")
                before = os.open(path, os.O_RDONLY)
                file = os.open(path, flags | os.O_TRUNC)
                self.assertEqual((os.fstat(file).st_size, os.pread(before, 10, 0)), (0, b""))
                if flags != os.O_RDONLY:
                    os.write(file, b"a\n")
                os.close(file)
                os.close(before)
                self.assertEqual(path.read_bytes(), b"" if flags == os.O_RDONLY else b"a\n")

    def test_files_that_are_cut_by_their_names(self) -> None:
        view = self.mount("--write", self.set)
        for flags in (os.O_RDONLY, os.O_WRONLY):
            with self.subTest(flags):
                (view / "a").write_bytes(b"0123456789")
                file = os.open(view / "a", flags)
                os.truncate(view / "a", 4)
                self.assertEqual((view / "a").read_bytes(), b"0123")
                os.rename(view / "a", view / "b")
                os.truncate(view / "b", 6)
                self.assertEqual((view / "b").read_bytes(), b"0123\0\0")
                self.assert_fails(errno.ENOENT, lambda: os.truncate(view / "a", 0))
                (view / "b").unlink()
                self.assert_fails(errno.ENOENT, lambda: os.truncate(view / "b", 0))
                os.truncate(f"/proc/self/fd/{file}", 3)
                if flags == os.O_WRONLY:
                    os.ftruncate(file, 2)
                self.assertEqual(os.fstat(file).st_size, 2 if flags == os.O_WRONLY else 3)
                os.close(file)

    def test_sizes_beyond_all_bounds(self) -> None:
        view = self.mount("--write", self.set)
        for k in range(16):
            (view / str(k)).write_bytes(b"")
            os.truncate(view / str(k), 2**60)
        self.unmount(view)
        view = self.mount(self.set)
        self.assertEqual(os.statvfs(view).f_blocks, (2**63 - 1) // 4096)
        self.assertEqual((view / "15").stat().st_size, 2**60)

    def test_beside_the_tasks_of_a_multifile(self) -> None:
        path, streams = self.written("set.sion", [10, 20_000])
        view = self.mount("--write", path)
        (view / "note").write_bytes(b"new")
        for number, work in ((errno.EROFS, lambda: open(view / "task.000000", "r+b")),
                             (errno.EROFS, lambda: os.unlink(view / "task.000000")),
                             (errno.EROFS, lambda: os.rename(view / "note", view / "task.000000")),
                             (errno.EROFS, lambda: os.open(view / "task.000000", os.O_RDONLY | os.O_TRUNC)),
                             (errno.EROFS, lambda: os.truncate(view / "task.000000", 0))):
            self.assert_fails(number, work)
        for again in (False, True):
            self.assertEqual(self.files(view), {"task.000000": streams[0], "task.000001": streams[1], "note": b"new"})
            self.assertEqual(sorted(os.listdir(view)), ["note", "task.000000", "task.000001"])
            if not again:
                self.unmount(view)
                self.mount(path)

    def test_several_threads_write_and_read(self) -> None:
        view = self.mount("--write", self.set)
        wrong = []

        def work(number: int) -> None:
            for turn in range(30):
                path = view / f"d{number}-{turn}"
                path.write_bytes(data(number, 40_000 + turn))
                if path.read_bytes() != data(number, 40_000 + turn):
                    wrong.append(path)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((wrong, len(os.listdir(view))), ([], 120))

    def test_what_was_written_survives_a_kill(self) -> None:
        view = self.mount("--write", self.set)
        process = process_behind(view)
        (view / "closed").write_bytes(data(1, 100_000))
        file = os.open(view / "open", os.O_CREAT | os.O_WRONLY)
        os.write(file, b"not closed")
        os.kill(process, signal.SIGKILL)
        self.assertTrue(has_ended(process))
        with self.assertRaises(OSError):
            os.close(file)
        self.unmount(view)
        self.assertEqual(self.files(self.mount(self.set)), {"closed": data(1, 100_000), "open": b"not closed"})

    def test_what_is_refused(self) -> None:
        one, _ = self.written("one.sion", [1])
        (self.dir / "view").mkdir()
        self.fail_on("one multifile", "sheaf", "mount", "--write", one, shutil.copy(one, self.dir / "two.sion"), self.dir / "view")
        broken = self.dir / "broken.sion"
        broken.write_bytes(b"nothing of ours")
        self.fail_on("broken.sion", "sheaf", "mount", "--write", broken, self.dir / "view")
        view = self.mount("--write", self.set)
        self.assert_fails(errno.ENAMETOOLONG, lambda: (view / ("x" * 256)).write_bytes(b""))
        for work in (lambda: os.symlink("a", view / "b"), lambda: os.mkfifo(view / "b")):
            with self.assertRaises(OSError):
                work()


if __name__ == "__main__":
    unittest.main()
