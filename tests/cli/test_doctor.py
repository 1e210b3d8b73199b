"""Tests `sheaf doctor`: the traits that it finds for a directory's file system, its tests between two mounts of
one directory, and the removal of its test files.

Tests with mounts are skipped unless they run as root and the kernel permits mount namespaces.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import unittest
from pathlib import Path

from tool_case import BIN, SECONDS, ToolCase


def mounted(commands: str, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Runs the shell commands and then `sheaf doctor` in a temporary mount namespace."""
    script = f'{commands} || exit 77; exec "$0" doctor "$@"'
    return subprocess.run(["unshare", "-m", "sh", "-c", script, BIN / "sheaf", *arguments], capture_output=True,
                          timeout=SECONDS, cwd=cwd)


def may_mount() -> bool:
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


class Doctor(ToolCase):
    def setUp(self) -> None:
        super().setUp()
        os.environ.pop("SHEAF_FS", None)

    def examine(self, *arguments: object) -> dict:
        return json.loads(self.succeed("sheaf", "doctor", "--json", *arguments))

    def test_a_directory_has_its_traits(self) -> None:
        found = self.examine(self.dir)
        self.assertEqual(found["directory"], str(self.dir))
        line = next(line.split() for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines())
                    if os.path.ismount(line.split()[4]) and str(self.dir).startswith(line.split()[4].rstrip("/") + "/")
                    and os.stat(line.split()[4]).st_dev == os.stat(self.dir).st_dev)
        self.assertEqual(found["mount"]["type"], line[line.index("-") + 1])
        if found["file_system"] in ("ext4", "xfs", "btrfs", "tmpfs"):
            self.assertEqual((found["coherence"], found["locks"], found["mmap"]), ("local", "global", True))
        if found["coherence"] == "local":
            self.assertTrue(found["tried"]["mmap"])
        self.assertGreater(found["unit"], 0)
        room = os.statvfs(self.dir)
        self.assertEqual(found["all_bytes"], room.f_blocks * room.f_frsize)
        self.assertLessEqual(found["free_bytes"], found["all_bytes"])
        self.assertIsNone(found["pair"])
        self.assertEqual(found["problems"], [])
        self.assertEqual(self.names(), [])

    def test_people_read_the_same(self) -> None:
        found = self.examine(self.dir)
        said = self.succeed("sheaf", "doctor", self.dir).decode()
        rows = {line[:46].strip(): line[46:] for line in said.splitlines()}
        self.assertEqual(rows["file system"], found["file_system"])
        self.assertEqual(rows["coherence"], found["coherence"])
        self.assertEqual(rows["locks"], found["locks"])
        self.assertEqual(rows["SHEAF_FS"], "not set")
        for line in found["behaviour"]:
            self.assertIn(f"  {line}\n", said)

    def test_the_same_directory_twice_is_coherent_and_locks_reach_it(self) -> None:
        for other in (self.dir, f"{self.dir}/../{self.dir.name}"):
            pair = self.examine(self.dir, other)["pair"]
            self.assertTrue(pair["one_mount"])
            self.assertEqual((pair["coherence"], pair["locks"]), ("coherent", "global"))
            for tried in ("seen_after_close", "seen_after_sync", "seen_at_once", "seen_in_open_file", "page_of_two_kept",
                          "create_race", "exclusive_race"):
                self.assertGreater(pair[tried]["times"], 5, tried)
                self.assertEqual(pair[tried]["times"], pair[tried]["well"], tried)
            self.assertLess(pair["attribute_delay"], 1)
            self.assertGreater(pair["sharing_cost"], 0)
        self.assertEqual(self.names(), [])
        self.assertIn(b"one mount: nothing between hosts is tried", self.succeed("sheaf", "doctor", self.dir, self.dir))

    def test_another_directory_is_told(self) -> None:
        (self.dir / "a").mkdir()
        (self.dir / "b").mkdir()
        said = self.fail_on("is not the directory", "sheaf", "doctor", self.dir / "a", self.dir / "b")
        self.assertIn(str(self.dir / "b"), said)
        self.assertEqual([os.listdir(self.dir / name) for name in ("a", "b")], [[], []])

    def test_what_is_no_directory_is_told(self) -> None:
        (self.dir / "file").write_text("x")
        self.fail_on("is no directory", "sheaf", "doctor", self.dir / "file")
        self.fail_on("is no directory", "sheaf", "doctor", self.dir / "missing")
        self.fail_on("is no directory", "sheaf", "doctor", self.dir, self.dir / "missing")
        self.fail_on("--help", "sheaf", "doctor", status=2)
        self.fail_on("--help", "sheaf", "doctor", self.dir, self.dir, self.dir, status=2)

    def test_where_no_file_can_be_made_the_rest_is_told(self) -> None:
        found = self.examine("/proc")
        self.assertEqual((found["file_system"], found["mount"]["type"], found["coherence"]), ("unknown", "proc", "close-to-open"))
        self.assertEqual(found["tried"], {"fallocate": None, "mmap": None})
        self.assertIn("not tried", self.succeed("sheaf", "doctor", "/proc").decode())

    def test_the_environment_counts_more(self) -> None:
        os.environ["SHEAF_FS"] = "close-to-open,locks=none,unit=3M,mmap=no"
        self.addCleanup(os.environ.pop, "SHEAF_FS", None)
        found = self.examine(self.dir)
        self.assertEqual([found[name] for name in ("coherence", "locks", "unit", "mmap")],
                         ["close-to-open", "none", 3 << 20, False])
        self.assertEqual(found["environment"]["SHEAF_FS"], os.environ["SHEAF_FS"])
        os.environ["SHEAF_FS"] = "local,wings=2"
        result = subprocess.run([BIN / "sheaf", "doctor", self.dir], capture_output=True, timeout=SECONDS)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr.count(b"SHEAF_FS='wings=2' is not understood"), 1)

    def test_nothing_stays_behind_after_a_signal(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([BIN / "sheaf", "doctor", self.dir, self.dir], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE)
            end = time.monotonic() + SECONDS
            while not self.names() and process.poll() is None and time.monotonic() < end:
                time.sleep(0)
            process.send_signal(number)
            said = process.communicate(timeout=SECONDS)[1]
            self.assertIn(process.returncode, (-number, 0), said)  # 0: finished before the signal
            self.assertEqual(self.names(), [])

    @unittest.skipUnless(may_mount(), "needs to mount")
    def test_a_bind_mount_is_the_same_mount(self) -> None:
        (self.dir / "a").mkdir()
        (self.dir / "b").mkdir()
        result = mounted("mount --bind a b", self.dir, "--json", "a", "b")
        if result.returncode == 77:
            self.skipTest("cannot mount")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        pair = json.loads(result.stdout)["pair"]
        self.assertEqual((pair["one_mount"], pair["coherence"], pair["locks"]), (True, "coherent", "global"))

    # A file in an overlay mount and the underlying file in the upper directory have separate locks. Whether a name
    # that is created on one side appears on the other side is undefined.
    @unittest.skipUnless(may_mount(), "needs to mount")
    def test_locks_that_do_not_reach_the_other_side_are_a_problem(self) -> None:
        for name in ("lower", "upper", "work", "all"):
            (self.dir / name).mkdir()
        overlay = "mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work all"
        result = mounted(overlay, self.dir, "--json", "upper", "all")
        if result.returncode == 77:
            self.skipTest("cannot mount an overlay")
        found = json.loads(result.stdout)
        self.assertEqual((result.returncode, found["pair"]["locks"], found["pair"]["one_mount"]), (1, "host", False))
        self.assertIn("locks do not reach the other side", found["problems"])
        self.assertIn("SHEAF_FS=locks=host", found["advice"])
        self.assertEqual(os.listdir(self.dir / "upper"), [])
        found = json.loads(mounted(overlay, self.dir, "--json", "all").stdout)
        self.assertEqual((found["file_system"], found["coherence"]), ("overlay", "local"))

    # Two FUSE mounts of a directory cache pages of open files. SHEAF_FS simulates a wrong entry in the library's
    # table of file systems, which the results of doctor's tests must override.
    @unittest.skipUnless(may_mount() and (BIN / "passthrough_ll").exists() and os.path.exists("/dev/fuse"), "needs FUSE")
    def test_what_is_tried_decides(self) -> None:
        for name in ("store", "one", "two"):
            (self.dir / name).mkdir()
        mounts = "".join(f"setsid {BIN}/passthrough_ll -f -o cache=auto,timeout=100,source={self.dir}/store {name} >/dev/null 2>&1 </dev/null &"
                         f" for i in $(seq 100); do mountpoint -q {name} && break; sleep 0.05; done; mountpoint -q {name} && "
                         for name in ("one", "two"))
        end = "; status=$?; umount -l one two; exit $status"
        for words, status in (("coherent,locks=global", 1), ("close-to-open,locks=host", 0)):
            script = f'{{ {mounts} true; }} || exit 77; SHEAF_FS={words} "$0" doctor --json one two{end}'
            result = subprocess.run(["unshare", "-m", "sh", "-c", script, BIN / "sheaf"], capture_output=True, timeout=4 * SECONDS,
                                    cwd=self.dir)
            if result.returncode == 77:
                self.skipTest("cannot mount FUSE")
            found = json.loads(result.stdout)
            self.assertEqual(result.returncode, status, found)
            self.assertEqual(found["pair"]["seen_in_open_file_after_close"]["well"], 0)
            self.assertEqual(found["pair"]["coherence"], "close-to-open")
            if status == 1:
                self.assertIn("SHEAF_FS=close-to-open,locks=host", found["problems"][-1])
                self.assertIn("SHEAF_FS=close-to-open,locks=host", found["advice"])
            else:
                self.assertEqual(found["problems"], [])


if __name__ == "__main__":
    unittest.main()
