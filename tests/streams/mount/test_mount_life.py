"""The end of mounts, in every way; damaged multifiles; other users; rejected requests."""

from __future__ import annotations

import errno
import os
import pwd
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from mount_case import BIN, MountCase, data, fuse_mounts, has_ended, process_behind, run


class Ends(MountCase):
    def test_unmounting_leaves_nothing(self) -> None:
        path, streams = self.written("a.sion", [10, 20])
        before = self.names()
        view = self.mount(path)
        process = process_behind(view)
        self.assert_shows(view, streams)
        self.unmount(view)
        self.assertFalse(Path(f"/proc/{process}/exe").exists())
        self.assertEqual(fuse_mounts(self.dir), [])
        self.assertEqual(os.listdir(view), [])
        view.rmdir()
        self.assertEqual(self.names(), before)

    def test_a_signal_to_the_process_unmounts(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            view = self.mount(self.written("a.sion", [10])[0])
            process = process_behind(view)
            os.kill(process, number)
            self.assertTrue(has_ended(process))
            self.assertEqual(fuse_mounts(self.dir), [])

    def test_a_killed_process_leaves_a_mount_that_can_be_unmounted(self) -> None:
        path, streams = self.written("a.sion", [10])
        view = self.mount(path)
        process = process_behind(view)
        file = open(view / "task.000000", "rb", buffering=0)
        os.kill(process, signal.SIGKILL)
        self.assertTrue(has_ended(process))
        with self.assertRaises(OSError) as caught:
            os.listdir(view)
        self.assertIn(caught.exception.errno, (errno.ENOTCONN, errno.ECONNABORTED))
        with self.assertRaises(OSError):
            file.close()
        self.unmount(view)
        self.assertEqual(fuse_mounts(self.dir), [])
        self.assert_shows(self.mount(path), streams)

    def test_a_busy_mount_stays_unless_lazy(self) -> None:
        path, streams = self.written("a.sion", [100])
        view = self.mount(path)
        process = process_behind(view)
        with open(view / "task.000000", "rb", buffering=0) as file:
            self.fail_on("lazy", "sheaf", "umount", view)
            self.succeed("sheaf", "umount", "--lazy", view)
            self.assertEqual(os.listdir(view), [])
            self.assertEqual(file.read(), streams[0])
        self.assertTrue(has_ended(process))

    def test_in_the_foreground(self) -> None:
        path, streams = self.written("a.sion", [100])
        view = self.dir / "view"
        view.mkdir()
        with subprocess.Popen([BIN / "sheaf", "mount", "--foreground", path, view]) as process:
            for _ in range(100):
                if fuse_mounts(view):
                    break
                time.sleep(0.05)
            self.assert_shows(view, streams)
            self.assertEqual(process_behind(view), process.pid)
            self.unmount(view)
            self.assertEqual(process.wait(), 0)

    def test_relative_names_and_links(self) -> None:
        path, streams = self.written("a.sion", [100])
        (self.dir / "view").mkdir()
        (self.dir / "link").symlink_to("view")
        self.succeed("sheaf", "mount", "a.sion", "link", cwd=self.dir)
        self.assert_shows(self.dir / "view", streams)
        self.succeed("sheaf", "umount", "./view/", cwd=self.dir)
        self.assertEqual(fuse_mounts(self.dir), [])

    def test_a_multifile_that_is_removed_is_still_shown(self) -> None:
        path, streams = self.written("a.sion", [100, 100_000])
        view = self.mount(path)
        path.unlink()
        self.written("a.sion", [7])
        self.assert_shows(view, streams)


class Damage(MountCase):
    def flip(self, path: Path, content: bytes) -> None:
        whole = bytearray(path.read_bytes())
        self.assertEqual(whole.count(content), 1)
        whole[whole.index(content)] ^= 1
        path.write_bytes(whole)

    def assert_fails(self, path: Path) -> None:
        with self.assertRaises(OSError) as caught:
            path.read_bytes()
        self.assertEqual(caught.exception.errno, errno.EIO)

    def test_a_wrong_byte_is_an_error_and_the_rest_can_be_read(self) -> None:
        path, streams = self.written("a.sion", [300_000, 300_000, 10], chunk_size=300_000)
        self.flip(path, b"%08d of task %06d" % (10_000, 1))
        view = self.mount(path)
        self.assertEqual((view / "task.000000").read_bytes(), streams[0])
        self.assertEqual((view / "task.000002").read_bytes(), streams[2])
        self.assert_fails(view / "task.000001")
        # Pieces of 64 KiB have checksums; the page is in the fourth.
        with open(view / "task.000001", "rb", buffering=0) as file:
            self.assertEqual(os.pread(file.fileno(), 100_000, 0), streams[1][:100_000])
        self.unmount(view)
        view = self.mount("--ignore-checksums", path)
        found = (view / "task.000001").read_bytes()
        self.assertEqual(sum(a != b for a, b in zip(found, streams[1])), 1)

    def test_a_wrong_byte_of_a_compressed_stream(self) -> None:
        path, streams = self.written("a.sion", [300_000] * 3, chunk_size=300_000, compress="zstd:1", frame=16384)
        whole = bytearray(path.read_bytes())
        frames = [at for at in range(len(whole)) if whole.startswith(b"\x28\xb5\x2f\xfd", at)]  # magic number of zstd
        self.assertGreater(len(frames), 30)
        whole[frames[len(frames) // 2] + 20] ^= 0x55
        path.write_bytes(whole)
        view = self.mount(path)
        wrong = []
        for task, stream in enumerate(streams):
            try:
                self.assertEqual((view / f"task.{task:06}").read_bytes(), stream)
            except OSError as error:
                self.assertEqual(error.errno, errno.EIO)
                wrong.append(task)
        self.assertEqual(len(wrong), 1)

    def test_a_file_that_became_shorter(self) -> None:
        path, streams = self.written("a.sion", [100_000, 100_000], chunk_size=100_000, checksums=False)
        view = self.mount(path)
        os.truncate(path, path.read_bytes().index(streams[1][:4096]) + 4096)
        self.assertEqual((view / "task.000000").read_bytes(), streams[0])
        self.assert_fails(view / "task.000001")

    def test_a_member_of_a_set_that_became_another_file(self) -> None:
        path = self.dir / "s.sion"
        from tool_case import make_plain
        make_plain(path)
        (self.dir / "s.sion.000001").unlink()
        view = self.dir / "view"
        view.mkdir()
        self.fail_on("s.sion.000001", "sheaf", "mount", path, view)
        self.assertEqual(fuse_mounts(self.dir), [])


class Refusals(MountCase):
    def test_what_cannot_be_mounted(self) -> None:
        path, _ = self.written("a.sion", [10])
        (self.dir / "view").mkdir()
        (self.dir / "b").mkdir()
        shutil.copy(path, self.dir / "b")
        for arguments, said, status in (([path], "directory", 1), ([path, self.dir / "none"], "none", 1), ([path, path], "a.sion", 1),
                                        ([self.dir / "none", self.dir / "view"], "none", 1), ([], "required", 2),
                                        ([path, self.dir / "b" / "a.sion", self.dir / "view"], "two multifiles", 1)):
            with self.subTest(arguments=arguments):
                self.fail_on(said, "sheaf", "mount", *arguments, status=status)
        self.assertEqual(fuse_mounts(self.dir), [])

    def test_what_cannot_be_unmounted(self) -> None:
        for place in (self.dir, "/proc", self.dir / "none"):
            self.fail_on(str(place), "sheaf", "umount", place)

    def test_without_the_program_it_says_how_to_get_it(self) -> None:
        (self.dir / "bin").mkdir()
        (self.dir / "lib").symlink_to(BIN.parent / "lib")
        shutil.copy(BIN / "sheaf", self.dir / "bin")
        result = subprocess.run([self.dir / "bin" / "sheaf", "mount", "a.sion", self.dir], capture_output=True,
                                env={**os.environ, "LD_LIBRARY_PATH": str(BIN.parent / "lib")})
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"libfuse3-dev", result.stderr)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("fusermount3"), "only root can be another user, who needs fusermount3")
class Users(MountCase):
    def as_nobody(self, *words: object, **options: object) -> subprocess.CompletedProcess[bytes]:
        nobody = pwd.getpwnam("nobody")
        return subprocess.run(list(map(str, words)), user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[],
                              capture_output=True, timeout=20, **options)

    def test_an_error_says_why_the_helper_failed(self) -> None:
        path, _ = self.written("a.sion", [100])
        view = self.dir / "view"
        view.mkdir()
        self.dir.chmod(0o755)
        if self.as_nobody(BIN / "sheaf", "--version").returncode != 0:
            self.skipTest("the build is in a directory that others may not enter")
        self.succeed("sheaf", "mount", path, view)
        helper = self.dir / "fusermount3"
        for script, said in (("exit 3", "exit code 3 and said nothing"), ("echo is busy >&2; exit 1", "exit code 1: is busy"),
                             ("kill -9 $$", "signal 9")):
            helper.write_text(f"#!/bin/sh\n{script}\n")
            helper.chmod(0o755)
            result = self.as_nobody(BIN / "sheaf", "umount", view, env={**os.environ, "PATH": f"{self.dir}:{os.environ['PATH']}"})
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"cannot unmount '{view}': fusermount3 has ended with {said}".encode(), result.stderr)
        self.assertIn("is empty", self.fail_on("directory", "sheaf", "umount", ""))
        self.succeed("sheaf", "umount", view)

    def test_who_is_not_root_mounts_and_unmounts(self) -> None:
        """An unprivileged user mounts and unmounts if /dev/fuse is open to all users.

        The test uses a namespace with a /dev/fuse as udev creates it."""
        path, streams = self.written("a.sion", [100, 200_000])
        view = self.dir / "view"
        view.mkdir()
        self.dir.chmod(0o755)
        os.chown(view, pwd.getpwnam("nobody").pw_uid, -1)
        if self.as_nobody(BIN / "sheaf", "--version").returncode != 0:
            self.skipTest("the build is in a directory that others may not enter")
        script = f"""set -e
            mknod {self.dir}/fuse c 10 229
            chmod 666 {self.dir}/fuse
            mount --bind {self.dir}/fuse /dev/fuse
            exec setpriv --reuid=nobody --regid=nogroup --clear-groups sh -ec '
              {BIN}/sheaf mount {path} {view}
              cat {view}/task.000001
              {BIN}/sheaf umount {view}
              ! grep -q {view} /proc/self/mountinfo'"""
        result = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, timeout=60)
        if b"unshare" in result.stderr or b"mknod" in result.stderr:
            self.skipTest("no namespaces here")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(result.stdout, streams[1])

    def test_others_see_it_only_if_they_are_let(self) -> None:
        path, streams = self.written("a.sion", [100])
        self.dir.chmod(0o755)
        view = self.mount(path)
        self.assertNotEqual(self.as_nobody("cat", view / "task.000000").returncode, 0)
        self.unmount(view)
        view = self.mount("--allow-other", path)
        self.assertEqual(self.as_nobody("cat", view / "task.000000").stdout, streams[0])
        self.unmount(view)
        path.chmod(0o600)
        view = self.mount("--allow-other", path)
        self.assertNotEqual(self.as_nobody("cat", view / "task.000000").returncode, 0)


if __name__ == "__main__":
    unittest.main()
