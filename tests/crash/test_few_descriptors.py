"""Runs random programs that append while very few descriptors are left, from the open on or later.

If a close or a flush succeeds, every accepted byte must be in the file. A failed open must change nothing.
Whatever call has failed, readers must find all flushed bytes and no wrong byte, before and after a repair.
SHEAF_DESCRIPTOR_RUNS: number of programs (default 40). KILL_SEED: seed of the programs."""
import ctypes
import errno
import hashlib
import os
import pathlib
import pickle
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from sheaf_format import Multifile  # noqa: E402

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
RUNS = int(os.environ.get("SHEAF_DESCRIPTOR_RUNS", "40"))
SEED = int(os.environ.get("KILL_SEED", "1"))
PATIENCE = 60  # timeout of a program in seconds
CURRENT_BLOCK, CURRENT_POSITION = -102, -103
MODES = ("append", "append", "append,durable", "append,buffer=0", "append,fileptr=stream", "append,journal=off")
FORMS = ("wb", "wb", "wb,checksums=off", "wb,compress=lz4,frame=4k")


def library() -> ctypes.CDLL:
    lib = ctypes.CDLL(str(BIN.parent / "lib" / "libsheaf.so"))
    for name in ("sion_fwrite", "sion_fread"):
        getattr(lib, name).restype = ctypes.c_size_t
        getattr(lib, name).argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
    lib.sion_seek.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong]
    lib.sheaf_last_error.restype = ctypes.c_char_p
    return lib


LIB = library()


def content(seed: int, size: int) -> bytes:
    return hashlib.shake_128(str(seed).encode()).digest(size)


def in_child(act) -> object:
    """Runs act() in a child process and returns its result, or None if the process killed itself."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(PATIENCE)
            os.dup2(write_end, 100)  # above the limits of the test
            os.closerange(3, 100)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.closerange(3, 100)
            told = pickle.dumps(act())
            resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 4096))
            while told:
                told = told[os.write(100, told):]
        finally:
            os._exit(0)
    os.close(write_end)
    with open(read_end, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise AssertionError(f"a program has ended with status {status}")
    return pickle.loads(told) if told else None


def open_serially(path: pathlib.Path, mode: str, chunks: list[int] | None = None) -> int:
    if chunks is None:
        return LIB.sion_open(str(path).encode(), mode.encode(), None, None, None, None, None, None)
    count = len(chunks)
    sizes = ctypes.cast((ctypes.c_longlong * count)(*chunks), ctypes.POINTER(ctypes.c_longlong))
    ranks = ctypes.cast((ctypes.c_int * count)(*range(count)), ctypes.POINTER(ctypes.c_int))
    return LIB.sion_open(str(path).encode(), mode.encode(), ctypes.byref(ctypes.c_int(count)), ctypes.byref(ctypes.c_int(1)),
                         ctypes.byref(sizes), ctypes.byref(ctypes.c_int(512)), ctypes.byref(ranks), None)


def write_new(path: pathlib.Path, mode: str, chunks: list[int], streams: list[bytes]) -> bool:
    sid = open_serially(path, mode, chunks)
    for task, stream in enumerate(streams):
        LIB.sion_seek(sid, task, CURRENT_BLOCK, CURRENT_POSITION)
        if LIB.sion_fwrite(stream, 1, len(stream), sid) != len(stream):
            return False
    return LIB.sion_close(sid) == 1


def read_all(path: pathlib.Path, tasks: int) -> list[bytes] | str:
    sid = open_serially(path, "rb")
    if sid < 0:
        return LIB.sheaf_last_error().decode()
    streams = []
    for task in range(tasks):
        LIB.sion_seek(sid, task, 0, 0)
        buffer = ctypes.create_string_buffer(1 << 20)
        length = LIB.sion_fread(buffer, 1, len(buffer), sid)
        streams.append(buffer.raw[:length])
    LIB.sion_close(sid)
    return streams


class Append:
    """A program that appends, with its results."""

    def __init__(self, tasks: int) -> None:
        self.opened = False
        self.closed: bool | None = None  # None: the program has died
        self.accepted = [b""] * tasks
        self.flushed = [0] * tasks
        self.failures: list[str] = []

    def run(self, path: pathlib.Path, mode: str, tasks: int, rng: random.Random) -> "Append":
        limits = [rng.choice((3, 4, 4, 5, 5, 5, 6, 6, 6, 6, 7, 7, 8, 9, 12)) for _ in range(2)]
        if rng.random() < 0.4:
            limits[0] = 64  # lets the open succeed
        repeats = rng.random() < 0.6
        self.limit(limits[0])
        sid = open_serially(path, mode)
        self.opened = sid >= 0
        if not self.opened:
            self.failures.append(LIB.sheaf_last_error().decode())
            return self
        self.limit(limits[1])
        task = 0
        for _ in range(rng.randrange(1, 12)):
            if rng.random() < 0.3:
                task = self.seek(sid, rng.randrange(tasks), task)
            if rng.random() < 0.1:
                self.limit(rng.choice((*limits, 64)))
            if rng.random() < 0.25:
                self.flush(sid)
                continue
            self.write(sid, task, content(rng.randrange(1 << 30), rng.choice((1, 100, 700, 5000, 20_000, 70_000))), repeats)
        if rng.random() < 0.3:
            return self
        if rng.random() < 0.3:
            self.limit(rng.choice((*limits, 64)))
        self.closed = LIB.sion_close(sid) == 1
        return self

    def limit(self, descriptors: int) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    def seek(self, sid: int, to: int, before: int) -> int:
        """Selects task `to`. Returns the task that the stream is at afterwards: `before` if the seek failed."""
        if LIB.sion_seek(sid, to, CURRENT_BLOCK, CURRENT_POSITION) == 1:
            return to
        self.failures.append("seek")
        return before

    def write(self, sid: int, task: int, data: bytes, repeats: bool) -> None:
        for _ in range(2 if repeats else 1):
            if LIB.sion_fwrite(data, 1, len(data), sid) == len(data):
                self.accepted[task] += data
                return
            self.failures.append(LIB.sheaf_last_error().decode())

    def flush(self, sid: int) -> None:
        if LIB.sion_flush(sid) == 1:
            self.flushed = [len(stream) for stream in self.accepted]
        else:
            self.failures.append("flush")


class FewDescriptors(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-few-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.path = self.scratch / "a"
        self.counts = dict.fromkeys(("refused", "closed", "not closed", "died", "with failures"), 0)

    def sheaf(self, *arguments: object) -> subprocess.CompletedProcess:
        return subprocess.run([str(part) for part in (BIN / "sheaf", *arguments)], capture_output=True, text=True, timeout=PATIENCE)

    def require_streams(self, expected: list[bytes], least: list[int], when: str) -> list[bytes]:
        found = in_child(lambda: read_all(self.path, len(expected)))
        self.assertIsInstance(found, list, f"{when}: {found}")
        for task, stream in enumerate(found):
            self.assertTrue(expected[task].startswith(stream), f"{when}: task {task} has bytes that nobody has written there")
            self.assertGreaterEqual(len(stream), least[task], f"{when}: bytes of task {task} are missing")
        return found

    def require_complete(self, expected: list[bytes]) -> None:
        self.require_streams(expected, [len(stream) for stream in expected], "complete")
        verified = self.sheaf("verify", self.path)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        with Multifile(str(self.path)) as multifile:
            for task, stream in enumerate(expected):
                self.assertEqual(hashlib.sha1(b"".join(multifile.plain_blocks(task))).digest(), hashlib.sha1(stream).digest(), f"task {task}")

    def one(self, rng: random.Random) -> None:
        for left in self.scratch.iterdir():
            left.unlink()
        tasks = rng.randrange(1, 4)
        chunks = [rng.choice((500, 4096, 30_000)) for _ in range(tasks)]
        before = [content(rng.randrange(1 << 30), rng.choice((0, 300, 4096, 30_000))) for _ in range(tasks)]
        form, mode = rng.choice(FORMS), rng.choice(MODES)
        self.assertTrue(in_child(lambda: write_new(self.path, form, chunks, before)))
        first = self.path.read_bytes()
        told = in_child(lambda: Append(tasks).run(self.path, mode, tasks, rng))
        accepted = [old + new for old, new in zip(before, told.accepted)]
        flushed = [len(old) + length for old, length in zip(before, told.flushed)]
        self.counts["with failures"] += bool(told.failures)
        with self.subTest(form=form, mode=mode, chunks=chunks, closed=told.closed, failures=told.failures[:3]):
            if not told.opened:
                self.counts["refused"] += 1
                self.assertIn(os.strerror(errno.EMFILE), told.failures[0])
                self.assertEqual(self.path.read_bytes(), first)
                return self.require_complete(before)
            self.counts["died" if told.closed is None else "closed" if told.closed else "not closed"] += 1
            if told.closed:
                return self.require_complete(accepted)
            if "journal=off" in mode:
                return None  # no data are guaranteed without a journal
            found = self.require_streams(accepted, flushed, "not closed")
            unclosed = self.sheaf("verify", self.path).returncode != 0
            repaired = self.sheaf("repair", self.path)
            self.assertEqual(repaired.returncode, 0, repaired.stdout + repaired.stderr)
            if unclosed:
                return self.require_complete(found)
        return None

    def test_appends(self) -> None:
        for number in range(RUNS):
            with self.subTest(run=number, seed=SEED):
                self.one(random.Random(SEED * 1_000_000 + number))
        print(f"{RUNS} appends: " + ", ".join(f"{count} {what}" for what, count in self.counts.items()), flush=True)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
