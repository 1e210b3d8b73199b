"""Captured files under failures: accepted data is stored, rejected data is an error, and if the set cannot take a
file, the plain file is created."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import unittest

from capture_case import BIN, SECONDS, CaptureCase

CALLS = ("pwrite64", "pwritev", "openat", "fallocate", "ftruncate", "fsync", "mmap")  # on a container


def block(letter: str) -> bytes:
    return letter.encode() * 71300


class MountingCase(CaptureCase):
    def run_mounted(self, prepare: str, rule: str, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs the captured command after a script that mounts, in a separate namespace."""
        if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            self.skipTest("no rights to mount")
        return subprocess.run(["unshare", "-m", "sh", "-ec", prepare + '; exec "$@"', "sh", BIN / "sheaf", "run", "--capture", rule, "--",
                               *command], cwd=self.work, capture_output=True, text=True, timeout=SECONDS)


class PlainInstead(MountingCase):
    """If the multifile cannot take a file, the file is plain, and one message states the reason."""

    def check(self, prepare: str, directory: str, why: str) -> None:
        (self.work / directory).mkdir()
        script = ("echo one > cap.a; echo two >> cap.a; echo b > cap.b; mv cap.b cap.c; rm cap.c; "
                  "exec 3>cap.d; echo d >&3; mv cap.d cap.e; echo e >&3; cat cap.a cap.e; ls cap.*")
        done = self.run_mounted(prepare, f"cap.*:{directory}/set.sion", "sh", "-ec", script)
        self.assertEqual(done.stdout, "one\ntwo\nd\ne\ncap.a\ncap.e\n", done.stderr)
        self.assertEqual((self.work / "cap.a").read_text(), "one\ntwo\n")
        self.assertEqual((self.work / "cap.e").read_text(), "d\ne\n")
        said = [line for line in done.stderr.splitlines() if "made as a plain file" in line]
        self.assertGreaterEqual(len(said), 1)
        self.assertEqual({re.sub("'.*?'", "", line) for line in said},
                         {f"sheaf:  cannot take  ({why}): it is made as a plain file, and others may be"})
        self.assertIn("2 plain files match", done.stderr)

    def test_the_directory_of_the_set_cannot_be_written(self) -> None:
        self.check("mount -t tmpfs -o ro none ro", "ro", "Read-only file system")

    def test_the_disk_of_the_set_is_full(self) -> None:
        self.check("mount -t tmpfs -o size=64k none full; head -c 65536 /dev/zero > full/all", "full", "No space left on device")

    def test_there_is_no_shared_memory(self) -> None:
        self.check("mount -t tmpfs -o ro none /dev/shm", "whole", "Read-only file system")

    def test_what_processes_share_of_open_files_cannot_be_had(self) -> None:
        names = '"$1" run --capture "cap.*:whole/set.sion" -- sh -c "echo > cap.0; rm cap.0; ls /dev/shm" | grep slots'
        self.check(f'mount -t tmpfs none /dev/shm; for name in $({names}); do mkdir /dev/shm/$name; done', "whole", "Is a directory")

    def test_shared_memory_is_full_of_other_files(self) -> None:
        script = ("import os\n"
                  "fd = os.open('cap.a', os.O_RDWR | os.O_CREAT); os.write(fd, b'bytes'); errors = set()\n"
                  "with open('/dev/shm/full', 'wb', buffering=0) as full:\n"
                  "    try:\n"
                  "        while True: full.write(bytes(4096))\n"
                  "    except OSError: pass\n"
                  "for _ in range(200):\n"
                  "    try: os.open('cap.a', os.O_RDONLY)\n"
                  "    except OSError as error: errors.add(error.errno)\n"
                  "print(errors, os.pread(fd, 5, 0))\n")
        done = self.run_mounted("mount -t tmpfs -o size=16m none /dev/shm", "cap.*:set.sion", "python3", "-c", script)
        self.assertEqual(done.stdout, f"{{{errno.ENOSPC}}} b'bytes'\n", done.stderr)

    def test_the_multifile_is_damaged(self) -> None:
        self.check("head -c 100000 /dev/urandom > torn/set.sion", "torn", "Input/output error")

    def test_the_container_is_damaged(self) -> None:
        (self.work / "out").mkdir()
        self.sheaf("run", "--keep-containers", "--capture", "out/cap.*:out/set.sion", "--", "sh", "-c", "echo kept > out/cap.0")
        container, = (self.work / "out").glob("set.sion.container.*")
        kept = container.read_bytes()
        container.write_bytes(os.urandom(len(kept)))
        done = self.sheaf("run", "--capture", "out/cap.*:out/set.sion", "--", "sh", "-c",
                          "echo one > out/cap.a; cat out/cap.a; cat out/cap.0", check=False)
        self.assertEqual(done.stdout, "one\n")
        self.assertIn("made as a plain file", done.stderr)
        self.assertIn("what it holds is not seen", done.stderr)
        self.assertIn("stay as they are", done.stderr)
        container.write_bytes(kept)
        self.assertEqual(self.content("cap.0", "out/set.sion"), "kept\n")


@unittest.skipUnless(shutil.which("strace"), "strace makes calls fail")
class Faults(MountingCase):
    """For every n, the n-th call of a kind that a program makes on its container fails, or is its last one."""

    def steps(self, inject: str, *how: str) -> tuple[subprocess.CompletedProcess[str], bool]:
        """Returns the outcome of the program, and whether a fault was injected."""
        shutil.rmtree(self.work)
        self.work.mkdir()
        self.sheaf("run", "--keep-containers", "--capture", "cap.*:set.sion", "--", "sh", "-c", "echo > cap.first")
        container, = self.work.glob("set.sion.container.*")
        log = self.dir / "log"
        done = self.run_captured("strace", "-f", "-qq", "-o", log, "-P", container, "-e", f"trace={inject.split(':')[0]}",
                                 "-e", f"inject={inject}", BIN / "posix_files", "steps", *how, check=False)
        written = log.read_text()
        return done, "(INJECTED)" in written or "SIGKILL" in written

    def contents(self, lacks: bool) -> dict[str, bytes]:
        """Returns the captured files. lacks: the set must be kept unchanged, because a file lacks bytes."""
        done = self.run_captured("sh", "-c", "for f in cap.*; do wc -c $f; cat $f; echo; done", check=False)
        self.check_gathering(done, lacks)
        shown = done.stdout.encode()
        found = {}
        while shown:
            size, name, shown = re.fullmatch(rb"(\d+) (\S+)\n(.*)", shown, re.DOTALL).groups()
            found[name.decode()], shown = shown[:int(size)], shown[int(size) + 1:]
        return found

    def check_gathering(self, done: subprocess.CompletedProcess[str], lacks: bool) -> None:
        self.assertEqual("could not be written, and were not written since" in done.stderr, lacks, done.stderr)
        self.assertEqual((self.work / "set.sion").exists(), not lacks)
        if lacks:
            self.assertNotEqual(done.returncode, 0)

    def check(self, said: list[str], found: dict[str, bytes], errors: set[int]) -> None:
        done = {line[5:] for line in said if line.startswith("done ")}
        for line in said:
            if not line.startswith("done "):
                self.assertIn(int(line.split()[-1]), errors | {errno.ENOENT}, line)
        self.assertEqual(found.pop("cap.first"), b"\n")
        names = {f"cap.{i}" for i in range(6)} | {"cap.new"}
        self.assertEqual(set(found) - names, set())
        for i, letter in enumerate("abcdef"):
            if f"make {i}" not in done:
                continue
            held = found.get(f"cap.{i}")
            if i == 1:
                self.assertIn(block(letter), [held, found.get("cap.new")] if "rename 1" not in done else [found.get("cap.new")])
            elif i == 2:
                self.assertIn(held, [None] if "remove 2" in done else [None, block(letter)])
            elif i == 3:
                self.assertIn(held, [b"ddd" * 3 + b"d"] if "cut 3" in done else [b"d" * 10, block(letter)])
            elif i == 0:
                self.assertEqual(held[:71300], block(letter))
                self.assertTrue("append 0" not in done or held[71300:] == block("x"))
            else:
                self.assertEqual(held, block(letter))

    def lacking(self, said: list[str]) -> set[str]:
        """Returns the files with a failed write that was not repeated."""
        lines = [line.split() for line in said if line.startswith("lacks ")]
        # Truncated to 10 bytes: missing bytes beyond that do not count.
        cut = {"cap.3"} if "done cut 3" in said else set()
        names = {name for _, name, at, _ in lines if name not in cut or int(at) < 10}
        if "cap.1" in names and "done rename 1" in said:
            names = names - {"cap.1"} | {"cap.new"}
        return names - ({"cap.2"} if "done remove 2" in said else set())

    def sweep(self, inject: str, errors: set[int], *how: str) -> int:
        n = 0
        for n in range(1, 1000):
            with self.subTest(f"{inject}:when={n}"):
                done, injected = self.steps(f"{inject}:when={n}", *how)
                said = done.stdout.splitlines()
                self.assertFalse([line for line in said if line.startswith("closed ")], "a close fails then")
                lacking = self.lacking(said)
                if how:
                    self.assertEqual(lacking, set())
                self.check_gathering(done, lacking != set())
                self.check(said, self.contents(lacking != set()), errors)
                if lacking:
                    self.check_gathering(self.run_captured("rm", *lacking), False)
            if not injected:
                break
        return n - 1

    def test_a_file_that_is_opened_for_synchronous_writes_is_synced_by_each(self) -> None:
        script = ("import os\n"
                  "for flag in (0, os.O_DSYNC, os.O_SYNC):\n"
                  "    fd = os.open('cap.log', os.O_WRONLY | os.O_CREAT | flag)\n"
                  "    for i in range(40): os.pwrite(fd, b'line', 4 * i)\n"
                  "    os.close(fd)\n")
        self.run_captured("strace", "-f", "-qq", "-o", self.dir / "log", "-e", "trace=fsync,fdatasync", "python3", "-c", script)
        self.assertGreaterEqual((self.dir / "log").read_text().count("sync("), 80)

    def test_room_that_a_full_disk_does_not_have_leaves_the_file_as_it_was(self) -> None:
        (self.work / "full").mkdir()
        script = ("import ctypes, os\n"
                  "fallocate = ctypes.CDLL(None, use_errno=True).fallocate64\n"
                  "def insert(blocks):\n"
                  "    done = fallocate(fd, 0x20, ctypes.c_int64(4096), ctypes.c_int64(blocks * 4096))\n"
                  "    return ctypes.get_errno() if done else 0\n"
                  "content = os.urandom(700 * 4096 + 11)\n"
                  "fd = os.open('cap.a', os.O_RDWR | os.O_CREAT); os.write(fd, content)\n"
                  "print(insert(900), os.pread(fd, 1 << 24, 0) == content)\n"
                  "print(insert(20), os.pread(fd, 1 << 24, 0) == content[:4096] + bytes(20 * 4096) + content[4096:])\n")
        done = self.run_mounted("mount -t tmpfs -o size=6m none full", "cap.*:full/set.sion", "python3", "-c", script)
        self.assertEqual(done.stdout, f"{errno.ENOSPC} True\n0 True\n", done.stderr)

    def test_what_is_written_while_a_rename_takes_the_file_in_is_kept(self) -> None:
        (self.work / "log").write_bytes(b"line\n" * 1_000_000)
        script = ("strace -f -qq -o ../trace -P log -e trace=read,pread64 -e inject=read,pread64:delay_enter=500000:when=2 mv log cap.log "
                  "& sleep 0.3; printf late >> log; wait; ls")
        done = self.run_captured("bash", "-c", script)
        self.assertIn("(DELAYED)", (self.dir / "trace").read_text())
        found = [self.work / "cap.log", self.work / "log"]
        self.assertIn("late", "".join(path.read_text() for path in found if path.exists()), done.stderr)

    def test_every_call_fails(self) -> None:
        faults = sum(self.sweep(f"{call}:error={name}", {getattr(errno, name), errno.EIO})
                     for call, name in [(call, "ENOSPC") for call in CALLS] + [("pwrite64", "EIO"), ("fsync", "EIO")])
        self.assertGreater(faults, 20)

    def test_a_write_that_is_repeated(self) -> None:
        faults = sum(self.sweep(f"{call}:error=ENOSPC", {errno.ENOSPC, errno.EIO}, "repeating") for call in ("pwrite64", "pwritev", "fallocate"))
        self.assertGreater(faults, 10)

    def test_every_call_is_the_last_one(self) -> None:
        kills = sum(self.sweep(f"{call}:signal=KILL", set()) for call in ("pwrite64", "openat", "fallocate", "mmap"))
        self.assertGreater(kills, 20)


if __name__ == "__main__":
    unittest.main()
