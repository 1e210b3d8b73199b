"""Runs programs and tools whose system calls are interrupted, move fewer bytes than requested, or fail.

Every call on their files fails in turn, once or from then on (failing_calls.c). Interrupted and short transfers
must not change any result. The program must report a failure, the flushed bytes must be readable, and no
incomplete output may have its final name."""
import concurrent.futures
import errno
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = [sys.executable, "-B", str(HERE / "limited_program.py")]
SHIM = BIN / "libfailing_calls.so"
PIECE = 3_000
KINDS = [(errno.EIO, False), (errno.ENOSPC, True)]


def digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class SystemCalls(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-calls-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.source = self.scratch / "source"
        self.write(self.source, 60, 7, {})

    def run_with(self, command: list, settings: dict) -> subprocess.CompletedProcess:
        environment = dict(os.environ, **{name: str(value) for name, value in settings.items()})
        environment["SHEAF_LEASE_TIMES"] = "5,500"  # time that a repair waits for jobs that have just begun
        if settings:
            environment["LD_PRELOAD"] = str(SHIM)
        return subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True, timeout=120, check=False)

    def write(self, path: pathlib.Path, count: int, every: int, settings: dict, words: str = "wb") -> dict:
        out = self.scratch / f"told-{path.parent.name}"
        result = self.run_with([*PROGRAM, "write", path, words, PIECE, count, every, 0, out], settings)
        self.assertEqual(result.returncode, 0, result.stderr)
        # If a program cannot create its journal, it continues with a warning. Its flushed bytes may then be lost.
        return {**json.loads(pathlib.Path(f"{out}.0").read_text()), "warned": "without a journal" in result.stderr}

    def read(self, path: pathlib.Path, settings: dict | None = None) -> int:
        result = self.run_with([*PROGRAM, "read", path, PIECE], settings or {})
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)[0]

    def calls_of(self, command: list, directory: pathlib.Path) -> int:
        count = self.scratch / "count"
        result = self.run_with(command, {"FAILING_DIR": directory, "FAILING_COUNT": count})
        self.assertEqual(result.returncode, 0, result.stderr)
        calls = int(count.read_text())
        self.assertGreater(calls, 3, "no call was seen")
        return calls

    def sweep(self, calls: int, one) -> None:
        """Calls one(number, settings) for every call and kind of failure. Runs two at a time."""
        cases = [(k, code, on) for code, on in KINDS for k in range(calls)]

        def case(number: int) -> None:
            k, code, on = cases[number]
            one(number, {"FAILING_AT": k, "FAILING_ERRNO": code, **({"FAILING_ON": 1} if on else {})})

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for number, done in enumerate([pool.submit(case, n) for n in range(len(cases))]):
                with self.subTest(call=cases[number]):
                    done.result()

    def test_interrupted_and_short_transfers_change_nothing(self) -> None:
        short = {"FAILING_DIR": self.scratch, "FAILING_SHORT": 1}
        for words in ("wb", "wb,durable", "wb,buffer=0"):
            path = self.scratch / "interrupted"
            self.assertEqual(self.write(path, 60, 7, short, words)["closed"], 1)
            self.assertEqual(self.read(path), 60 * PIECE)
            self.assertEqual(self.read(path, short), 60 * PIECE)
        for name, command in (("out", ["defrag", self.source]), ("split.", ["split", self.source])):
            for variant, settings in (("whole", {}), ("short", short)):
                target = self.scratch / variant
                target.mkdir(exist_ok=True)
                result = self.run_with([BIN / "sheaf", *command, target / name], settings)
                self.assertEqual(result.returncode, 0, result.stderr)
        for whole in (self.scratch / "whole").glob("split.*"):
            self.assertEqual(digest(whole), digest(self.scratch / "short" / whole.name))
        self.assertEqual(self.read(self.scratch / "short" / "out"), 60 * PIECE)
        self.assertEqual(self.run_with([BIN / "sheaf", "verify", self.source], short).returncode, 0)

    def test_every_failing_call_of_a_writer(self) -> None:
        for words in ("wb", "wb,atomic"):
            directory = self.scratch / words.replace(",", "-")
            directory.mkdir()
            calls = self.calls_of([*PROGRAM, "write", directory / "a", words, PIECE, 12, 4, 0, self.scratch / "told"], directory)

            def one(number: int, settings: dict) -> None:
                own = directory / str(number)
                own.mkdir()
                told = self.write(own / "a", 12, 4, {"FAILING_DIR": own / "a", **settings}, words)
                if told["closed"] == 1:
                    self.assertEqual(self.read(own / "a"), told["pieces"] * PIECE)
                elif "atomic" in words:
                    if (own / "a").exists():  # the last step was done before a later call failed
                        self.assertEqual(self.read(own / "a"), told["pieces"] * PIECE)
                elif told["opened"] and not told["warned"]:
                    self.assertGreaterEqual(self.read(own / "a"), told["flushed"] * PIECE)
                shutil.rmtree(own)

            self.sweep(calls, one)

    def test_every_failing_call_of_a_tool(self) -> None:
        unclosed = self.scratch / "unclosed"
        shutil.copy(self.source, unclosed)
        with open(unclosed, "r+b") as file:
            file.seek(1076 + 16)
            file.write(bytes(12))
        for name, command in (("out", ["defrag", self.source]), ("out.", ["split", self.source]), ("out", ["repair", "--copy"])):
            whole = self.scratch / f"whole-{command[0]}"
            whole.mkdir()

            def words(directory: pathlib.Path) -> list:
                if command[0] == "repair":
                    return [BIN / "sheaf", "repair", "--copy", directory / name, unclosed]
                return [BIN / "sheaf", *command, directory / name]

            calls = self.calls_of(words(whole), whole)
            expected = {path.name: path.stat().st_size for path in whole.iterdir()}

            def one(number: int, settings: dict) -> None:
                own = self.scratch / f"{command[0]}-{number}"
                own.mkdir()
                result = self.run_with(words(own), {"FAILING_DIR": own, **settings})
                # A lease whose removal failed may remain. It counts as the lease of a dead owner.
                found = {path.name: path.stat().st_size for path in own.iterdir() if path.suffix != ".lease"}
                if result.returncode == 0:
                    self.assertEqual(found, expected)
                else:
                    self.assertEqual(result.returncode, 1, result.stderr)
                    for left, size in found.items():
                        self.assertTrue(left not in expected or size == expected[left], f"{left} is half done: {result.stderr}")
                shutil.rmtree(own)

            self.sweep(calls, one)

    def test_every_failing_call_of_a_repair_in_place(self) -> None:
        def unclosed_in(directory: pathlib.Path) -> pathlib.Path:
            directory.mkdir()
            for suffix in ("", ".journal"):
                if (self.scratch / f"killed{suffix}").exists():
                    shutil.copy(self.scratch / f"killed{suffix}", directory / f"a{suffix}")
            return directory / "a"

        # A writer with a failed close leaves its flushed bytes and a journal.
        told = self.write(self.scratch / "killed", 40, 5, {"FAILING_DIR": self.scratch / "killed", "FAILING_AT": 30, "FAILING_ON": 1})
        self.assertGreater(told["flushed"], 0)
        kept = self.read(self.scratch / "killed")
        path = unclosed_in(self.scratch / "whole")
        calls = self.calls_of([BIN / "sheaf", "repair", path], path.parent)
        self.assertEqual(self.read(path), kept)

        def one(number: int, settings: dict) -> None:
            own = unclosed_in(self.scratch / f"repair-{number}")
            self.run_with([BIN / "sheaf", "repair", own], {"FAILING_DIR": own.parent, **settings})
            self.assertEqual(self.read(own), kept)
            again = self.run_with([BIN / "sheaf", "repair", own], {})
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual(self.read(own), kept)
            shutil.rmtree(own.parent)

        self.sweep(calls, one)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
