"""Runs programs and tools at real limits: full file systems (tmpfs, and ext4, xfs and btrfs on loop
devices), a quota, the maximum file size, and the maximum number of open files.

If data do not fit, the call or the close must report an error on all tasks. No program may hang, readers must
find the flushed bytes, and no tool may leave an incomplete output under its final name.

Tests that mount file systems are skipped, with a reason, unless they run as root and the tools that make the
file system are installed."""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
HERE = pathlib.Path(__file__).resolve().parent
MPIRUN = HERE.parents[1] / "scripts" / "mpirun.sh"
PROGRAM = [sys.executable, "-B", str(HERE / "limited_program.py")]
PIECE = 30_000
PATIENCE = 120  # timeout of a program in seconds
NOBODY = 65534


def run(*command: object, **options: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=PATIENCE, check=False, **options)


def sheaf(*arguments: object, **options: object) -> subprocess.CompletedProcess:
    return run(BIN / "sheaf", *arguments, **options)


def limit(what: int, value: int):
    return lambda: resource.setrlimit(what, (value, value))


class Limits(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-limits-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.mounted: list[pathlib.Path] = []
        self.addCleanup(self.unmount)

    def unmount(self) -> None:
        for where in reversed(self.mounted):
            subprocess.run(["umount", "-l", where], capture_output=True, check=False)

    def mount(self, what: str, options: str = "") -> pathlib.Path:
        """Mounts a new file system, or skips the test."""
        if os.geteuid() != 0:
            self.skipTest("mounting needs root")
        where = self.scratch / f"on-{what}"
        where.mkdir()
        if what == "tmpfs":
            command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", where]
        else:
            make = shutil.which(f"mkfs.{what}", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
            if not make:
                self.skipTest(f"no mkfs.{what}")
            image = self.scratch / f"{what}.img"
            with open(image, "wb") as file:
                file.truncate((320 if what == "xfs" else 128 if what == "btrfs" else 16) << 20)
            quiet = {"ext4": ["-q", "-F"], "xfs": ["-q"], "btrfs": ["-q", "--mixed"]}[what]
            made = run(make, *quiet, image)
            self.assertEqual(made.returncode, 0, made.stderr)
            command = ["mount", "-o", ",".join(filter(None, ["loop", options])), image, where]
        mounted = run(*command)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount {what}: {mounted.stderr.strip()}")
        self.mounted.append(where)
        return where

    def fill(self, where: pathlib.Path, leave: int) -> pathlib.Path:
        """Fills the file system except for about `leave` bytes. Leaves more on btrfs, which reserves whole block
        groups for its metadata."""
        if where.name == "on-btrfs":
            leave *= 3
        os.sync()
        ballast = where / "ballast"
        with open(ballast, "wb") as file:
            piece = 64 << 20
            while piece >= 64 << 10:
                try:
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, piece)
                except OSError:
                    piece //= 2
            os.ftruncate(file.fileno(), max(0, os.fstat(file.fileno()).st_size - leave))
        os.sync()
        return ballast

    def write(self, path: pathlib.Path, words: str, tasks: int = 1, collective: bool = False, every: int = 3, count: int = 150,
              **options: object) -> list[dict]:
        """Runs the writer program and returns the results of each task. Fails if the program hangs."""
        out = self.scratch / "told"
        for old in self.scratch.glob("told.*"):
            old.unlink()
        start = [MPIRUN, "openmpi", str(tasks)] if tasks > 1 else []
        result = run(*start, *PROGRAM, "write", path, words, PIECE, count, every, int(collective), out, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(out.with_suffix(f".{task}").read_text()) for task in range(tasks)]

    def read(self, path: pathlib.Path) -> list[int]:
        result = run(*PROGRAM, "read", path, PIECE)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def require_failure(self, told: list[dict], *words: str) -> None:
        failed = [task for task in told if task["failed"]]
        self.assertEqual(len(failed), len(told), f"an error that only some tasks know: {told}")
        for task in failed:
            self.assertTrue(any(word in task["error"] for word in words), task["error"])

    def require_kept(self, path: pathlib.Path, told: list[dict]) -> None:
        """Checks that readers find all flushed bytes, before and after a repair. A repair may guess how many
        bytes were written after the last flush."""
        for number, length in enumerate(self.read(path)):
            self.assertGreaterEqual(length, told[number]["flushed"] * PIECE)
        repaired = sheaf("repair", path)
        self.assertEqual(repaired.returncode, 0, repaired.stderr)
        if any(task["flushed"] for task in told):
            for number, length in enumerate(self.read(path)):
                self.assertGreaterEqual(length, told[number]["flushed"] * PIECE)
        verified = sheaf("verify", path)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)


PLAIN = (("wb", 1, False), ("wb", 3, False), ("wb,collective,collsize=3", 3, True))
# The written data are incompressible, so compressed files reach the limits as well.
COMPRESSED = (("wb,compress=zstd", 1, False), ("wb,compress=lz4,frame=4k,compress_threads=0", 1, False), ("wb,compress=zstd,compress_threads=2", 1, False),
              ("wb,compress=zstd,frame=16k", 3, False), ("wb,compress=lz4,compress_threads=2", 3, False),
              ("wb,collective,collsize=3,compress=lz4", 3, True), ("wb,collective,collsize=3,compress=zstd,frame=4k,compress_threads=0", 3, True))


class FullDisk(Limits):
    def fill_up(self, what: str, programs: tuple = PLAIN) -> None:
        where = self.mount(what)
        for words, tasks, collective in programs:
            with self.subTest(words=words, tasks=tasks):
                if tasks == 1:
                    self.serial(where, words)
                elif (BIN / "openmpi").exists():
                    self.parallel(where, words, tasks, collective)
        self.tools(where)

    def serial(self, where: pathlib.Path, words: str) -> None:
        ballast = self.fill(where, 1 << 20)
        told = self.write(where / "a", words)
        self.require_failure(told, "No space left")
        self.assertGreater(told[0]["flushed"], 0)
        self.assertFalse((where / "a.journal").stat().st_size == 0 and told[0]["flushed"] > 0)
        self.read(where / "a")
        ballast.unlink()
        self.require_kept(where / "a", told)
        (where / "a").unlink()

    def parallel(self, where: pathlib.Path, words: str, tasks: int, collective: bool) -> None:
        ballast = self.fill(where, 1 << 20)
        told = self.write(where / "b", words, tasks, collective, every=0 if collective else 3)
        self.require_failure(told, "No space left")
        self.assertEqual({task["closed"] for task in told if task["opened"]}, {0}, "the close tells every task")
        if collective:
            self.assertEqual(len({task["pieces"] for task in told}), 1, f"the same call fails everywhere: {told}")
        ballast.unlink()
        self.require_kept(where / "b", told)
        for left in where.glob("b*"):
            left.unlink()

    def tools(self, where: pathlib.Path) -> None:
        source = self.scratch / "source"
        self.assertIsNone(self.write(source, "wb", count=100)[0]["failed"])
        unclosed = self.scratch / "unclosed"
        shutil.copy(source, unclosed)
        with open(unclosed, "r+b") as file:
            file.seek(1076 + 16)
            file.write(bytes(12))
        (where / "copy").write_bytes(b"what was there before")
        ballast = self.fill(where, 1 << 20)
        before = sorted(os.listdir(where))
        for command in (["defrag", source, where / "out"], ["split", source, where / "out."], ["repair", "--copy", where / "out", unclosed],
                        ["defrag", "--force", source, where / "copy"], ["defrag", "--compress=zstd", source, where / "out"],
                        ["defrag", "--force", "--compress=lz4", "--frame=4k", source, where / "copy"]):
            with self.subTest(tool=command[0]):
                result = sheaf(*command)
                self.assertEqual(result.returncode, 1, f"{command}: {result.stdout}{result.stderr}")
                self.assertIn("No space left", result.stderr)
                self.assertEqual(sorted(os.listdir(where)), before, f"{command[0]} leaves files behind")
        self.assertEqual((where / "copy").read_bytes(), b"what was there before")
        ballast.unlink()

    def test_tmpfs(self) -> None:
        self.fill_up("tmpfs")

    def test_ext4(self) -> None:
        self.fill_up("ext4")

    def test_compressed_on_tmpfs(self) -> None:
        self.fill_up("tmpfs", COMPRESSED)

    def test_compressed_on_ext4(self) -> None:
        self.fill_up("ext4", COMPRESSED)

    def test_xfs(self) -> None:
        self.fill_up("xfs")

    def test_btrfs(self) -> None:
        self.fill_up("btrfs")

    def test_quota(self) -> None:
        where = self.mount("xfs", "uquota")
        if not shutil.which("xfs_quota", path=os.environ["PATH"] + ":/usr/sbin"):
            self.skipTest("no xfs_quota")
        limited = run("/usr/sbin/xfs_quota", "-x", "-c", f"limit -u bhard=2m {NOBODY}", where)
        self.assertEqual(limited.returncode, 0, limited.stderr)
        where.chmod(0o777)
        self.scratch.chmod(0o777)
        told = self.write(where / "a", "wb", user=NOBODY, group=NOBODY)
        self.require_failure(told, "quota exceeded")
        self.assertGreater(told[0]["flushed"], 0)
        self.require_kept(where / "a", told)


class LimitsOfTheProcess(Limits):
    def test_largest_file(self) -> None:
        told = self.write(self.scratch / "a", "wb", preexec_fn=limit(resource.RLIMIT_FSIZE, 1 << 20))
        self.require_failure(told, "File too large")
        self.assertGreater(told[0]["flushed"], 0)
        self.require_kept(self.scratch / "a", told)

    def test_largest_file_of_a_tool(self) -> None:
        source = self.scratch / "source"
        self.write(source, "wb", count=100)
        before = sorted(os.listdir(self.scratch))
        for command in (["defrag", source, self.scratch / "out"], ["split", source, self.scratch / "out."]):
            result = sheaf(*command, preexec_fn=limit(resource.RLIMIT_FSIZE, 1 << 20))
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("File too large", result.stderr)
            self.assertEqual(sorted(os.listdir(self.scratch)), before)

    def test_most_open_files(self) -> None:
        few = limit(resource.RLIMIT_NOFILE, 4)  # the standard streams and one more
        source = self.scratch / "source"
        self.write(source, "wb", count=10)
        before = sorted(os.listdir(self.scratch))
        for command in (["defrag", source, self.scratch / "out"], ["split", source, self.scratch / "out."], ["repair", source]):
            result = sheaf(*command, preexec_fn=few)
            if result.returncode == 0:
                continue
            self.assertEqual(result.returncode, 1, f"{command}: {result.stderr}")
            self.assertIn("Too many open files", result.stderr)
            self.assertEqual(sorted(os.listdir(self.scratch)), before, f"{command[0]} leaves files behind")
        self.assertEqual(sheaf("verify", source).returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
