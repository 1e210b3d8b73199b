"""Runs and checks cases of the campaign over the Python package, as campaign/process.cpp does for C interfaces.

    python_program.py KIND run|check DIR LEDGERS FIRST COUNT

KIND streams writes multifiles with several tasks. Its ledgers have the format of the C++ programs
(process_ledger.hpp), and campaign_check reads them.
KIND archive calls put_many(), delete() and compact() of an archive.
KIND torch saves checkpoints.
The ledgers of archive and torch have one line for each event. Readers must find a state that the recorded calls
may have left."""
from __future__ import annotations

import ctypes
import errno
import json
import os
import pathlib
import random
import signal
import struct
import sys
from collections.abc import Callable

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))
os.environ.setdefault("SHEAF_LIBRARY", str(pathlib.Path(os.environ["SHEAF_BIN"]).resolve().parent / "lib" / "libsheaf.so.1"))
import sheaf  # noqa: E402
from sheaf.archive import Archive  # noqa: E402

FAILURES = ("once", "several", "from then on", "short transfers", "killed", "terminated", "read-only directory", "clock set back")
SUCCEED = ("short transfers", "clock set back")
DIE = ("killed", "terminated")
TRIES = 4


class Plan(ctypes.Structure):
    """The struct failing_calls_plan of failing_calls.h."""
    _fields_ = [("directory", ctypes.c_char_p), ("at", ctypes.c_long * 8), ("count", ctypes.c_int), ("from_then_on", ctypes.c_int),
                ("error", ctypes.c_int), ("only_names", ctypes.c_int), ("shortens", ctypes.c_int), ("kills_with", ctypes.c_int),
                ("clock_set_back", ctypes.c_long)]


class FailingCalls:
    def __init__(self) -> None:
        self.calls = ctypes.CDLL(None)
        self.calls.failing_calls_count.restype = ctypes.c_long

    def count(self, prefix: pathlib.Path) -> None:
        self.begin(Plan(directory=os.fsencode(prefix)))

    def begin(self, plan: Plan) -> None:
        self.plan = plan  # keeps the plan alive while the library reads it
        self.calls.failing_calls_begin(ctypes.byref(plan))

    def stop(self) -> int:
        found = self.calls.failing_calls_count()
        self.calls.failing_calls_begin(None)
        return found

    def inject(self, failure: str, prefix: pathlib.Path, draw: random.Random, calls: int) -> None:
        calls = max(calls, 1)
        plan = Plan(directory=os.fsencode(prefix), count=1, error=draw.choice([errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EMFILE]))
        plan.at[0] = draw.randrange(min(calls, 8) if draw.random() < 0.25 else calls)
        if failure == "several":
            for _ in range(draw.randrange(1, 5)):
                plan.at[plan.count] = plan.at[0] + draw.randrange(12) if draw.random() < 0.5 else draw.randrange(calls)
                plan.count += 1
        elif failure == "from then on":
            plan.from_then_on = 1
        elif failure == "read-only directory":
            plan.from_then_on, plan.only_names, plan.error = 1, 1, errno.EROFS
        elif failure == "short transfers":
            plan.shortens = 1
        elif failure == "clock set back":
            plan.clock_set_back = draw.choice([1, 100, 100_000, 40_000_000])
        elif failure in DIE:
            plan.kills_with = signal.SIGKILL if failure == "killed" else signal.SIGTERM
        self.begin(plan)


class StreamLedger:
    """The ledger of one process, in the format of process_ledger.hpp."""

    def __init__(self, path: pathlib.Path, tasks: int, words: dict[str, bool], failure: str | None, text: str) -> None:
        self.fd = os.open(f"{path}.0", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        ends_well = failure is None or failure in SUCCEED
        flags = [words["atomic"], words["append"], words["journal"], words["frames"], False, failure in DIE, ends_well, words["durable"]]
        self.note("h", 0, f"{tasks} 1 {' '.join(str(int(flag)) for flag in flags)} {text}; {failure or 'undisturbed'}".encode())

    def note(self, kind: str, task: int, data: bytes = b"") -> None:
        os.write(self.fd, struct.pack("=qqq", ord(kind), task, len(data)) + data)


def write_streams(path: pathlib.Path, seed: int, ledger_path: pathlib.Path | None, failure: str | None, words: dict[str, bool],
                  options: dict, begin: Callable[[], object]) -> list[bytes]:
    """Writes a multifile and returns the accepted bytes of each task. Without a ledger, writes the previous
    generation."""
    draw = random.Random(seed * 7 + (ledger_path is None))
    tasks = options["tasks"]
    accepted = [b""] * tasks
    repeats = draw.random() < 0.6
    ledger = StreamLedger(ledger_path, tasks, words, failure, f"Python, {options}, repeats {repeats}") if ledger_path else None

    def note(kind: str, task: int, data: bytes = b"") -> None:
        if ledger:
            ledger.note(kind, task, data)

    if ledger and options.get("old"):
        for task, old in enumerate(options["old"]):
            note("o", task, old)
    note("g", 0)
    begin()
    opened = closed = False
    appends = words["append"] and ledger is not None
    try:
        atomic = words["atomic"] and ledger is not None
        how = {} if appends else {"tasks": tasks, "chunk_size": options["chunk"]}
        file = sheaf.open(path, "a" if appends else "w", atomic=atomic, journal=words["journal"], durable=options["durable"],
                          compress=options["compress"], **how)
        opened = True
        for _ in range(options["calls"]):
            task = draw.randrange(tasks)
            data = draw.randbytes(1 + draw.randrange(options["largest"]))
            note("b", task)
            for turn in range(TRIES):
                try:
                    file[task].write(data)
                except (OSError, sheaf.Error):
                    if not repeats or turn == TRIES - 1:
                        note("l", -1, data)
                        break
                else:
                    note("a", task, data)
                    accepted[task] += data
                    break
            if draw.random() < 0.2:
                try:
                    file.flush()
                except (OSError, sheaf.Error):
                    continue
                for t in range(tasks):
                    note("c", t)
        file.close()
        closed = True
    except (OSError, sheaf.Error):
        pass
    note("e", opened * 2 + closed)
    return accepted


def run_streams(seed: int, directory: pathlib.Path, ledger: pathlib.Path, failure: str | None, begin: Callable[[pathlib.Path], object]) -> None:
    draw = random.Random(seed * 31)
    path = directory / "multifile"
    (directory / "bystander").write_text("not of this program")
    kind = draw.choice(["plain", "atomic", "append", "no journal"])
    compress = draw.choice([None, None, "lz4"])
    words = {"atomic": kind == "atomic", "append": kind == "append", "journal": kind != "no journal", "frames": compress is not None,
             "durable": draw.random() < 0.3}
    options = {"tasks": draw.randrange(1, 4), "chunk": 300 + draw.randrange(3000), "durable": words["durable"], "compress": compress,
               "calls": draw.randrange(3, 15), "largest": draw.choice([40, 2000, 9000])}
    if kind == "append" or draw.random() < 0.5:
        options["old"] = write_streams(path, seed, None, None, {**words, "journal": True}, options, lambda: None)
    write_streams(path, seed, ledger, failure, words, options, lambda: begin(path))


class StateLedger:
    """A ledger of archive or torch. It has a line before each call, with the state that the call will produce,
    and a line after the call, with its outcome."""

    def __init__(self, path: pathlib.Path, failure: str | None) -> None:
        self.fd = os.open(f"{path}.0", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        self.note("begin", failure)

    def note(self, what: str, value: object) -> None:
        os.write(self.fd, (json.dumps([what, value]) + "\n").encode())


def change_archive(path: pathlib.Path, draw: random.Random, ledger: StateLedger) -> None:
    archive = Archive(str(path))
    state: dict[str, str] = {}
    for _ in range(draw.randrange(3, 10)):
        put = {f"o{draw.randrange(6)}": draw.randbytes(draw.randrange(1, 4000)) for _ in range(draw.randrange(1, 4))}
        what = draw.choice(["put", "put", "put", "delete", "compact"])
        after = dict(state)
        names = [draw.choice(sorted(state))] if state else []
        if what == "put":
            after |= {name: data.hex() for name, data in put.items()}
        elif what == "delete":
            after = {name: data for name, data in state.items() if name not in names}
        ledger.note("try", after)
        try:
            if what == "put":
                archive.put_many(put)
            elif what == "delete" and names:
                archive.delete(names)
            elif what == "compact" and state:
                archive.compact()
        except (OSError, sheaf.Error) as error:
            ledger.note("failed", str(error))
            return
        state = after
        ledger.note("done", None)


def state_of_archive(path: pathlib.Path) -> dict[str, str]:
    if not path.exists():
        return {}
    archive = Archive(str(path))
    return {name: archive.read(name).hex() for name in archive.entries()}


def save_checkpoints(path: pathlib.Path, draw: random.Random, ledger: StateLedger) -> None:
    import torch
    import torch.distributed.checkpoint as dcp
    from sheaf.torch import SheafWriter
    from torch.distributed.checkpoint.api import CheckpointException
    for version in range(1, draw.randrange(3, 6)):
        ledger.note("try", version)
        try:
            dcp.save({"t": torch.full((5000,), float(version)), "version": version}, storage_writer=SheafWriter(str(path)), no_dist=True)
        except (Exception, CheckpointException) as error:  # DCP wraps errors in a class that is no Exception
            ledger.note("failed", str(error)[:200])
            return
        ledger.note("done", None)


def version_of_checkpoint(path: pathlib.Path) -> int | dict:
    import torch
    import torch.distributed.checkpoint as dcp
    from sheaf.torch import SheafReader
    if not path.exists():
        return {}
    found = {"t": torch.empty(5000), "version": None}
    dcp.load(found, storage_reader=SheafReader(str(path)), no_dist=True)
    version = found["version"]
    if not bool((found["t"] == float(version)).all()):
        raise ValueError(f"the checkpoint of version {version} has other numbers")
    return version


STATES = {"archive": (change_archive, state_of_archive), "torch": (save_checkpoints, version_of_checkpoint)}


def run_states(kind: str, seed: int, directory: pathlib.Path, ledger_path: pathlib.Path, failure: str | None,
               begin: Callable[[pathlib.Path], object]) -> None:
    ledger = StateLedger(ledger_path, failure)
    begin(directory / "multifile")
    STATES[kind][0](directory / "multifile", random.Random(seed), ledger)
    ledger.note("end", None)


def run(kind: str, cases: pathlib.Path, ledgers: pathlib.Path, first: int, count: int) -> None:
    failing = FailingCalls()
    for seed in range(first, first + count):
        failure = random.Random(seed * 13).choice(FAILURES)
        calls = 0
        for turn, told in (("undisturbed", None), ("disturbed", failure)):
            directory = cases / str(seed) / turn
            directory.mkdir(parents=True)
            ledger = ledgers / (f"{seed}.undisturbed" if told is None else str(seed))

            def begin(prefix: pathlib.Path) -> None:
                if told is None:
                    failing.count(prefix)
                else:
                    failing.inject(failure, prefix, random.Random(seed * 17), calls)

            if kind == "streams":
                run_streams(seed, directory, ledger, told, begin)
            else:
                run_states(kind, seed, directory, ledger, told, begin)
            calls = failing.stop()
        if failure in DIE:
            return  # the program may die after the case


def check_states(kind: str, path: pathlib.Path, ledger: pathlib.Path) -> str:
    if not ledger.exists():
        return "absent"
    possible: list = [{}]
    tried, failed, ended, failure = None, None, False, None
    for line in ledger.read_text().splitlines():
        what, value = json.loads(line)
        if what == "begin":
            failure = value
        elif what == "try":
            tried = value
            possible.append(value)
        elif what == "done":
            possible = [tried]
        elif what == "failed":
            failed = value
        elif what == "end":
            ended = True
    if failed and (failure is None or failure in SUCCEED):
        return f"a program without failing calls fails: {failed}; {failure}"
    if not ended and failure not in DIE:
        return f"the program has died; {failure}"
    try:
        found = STATES[kind][1](path)
    except Exception as error:
        return f"it cannot be read: {error!r}; {failure}; last failure: {failed}"
    return "right" if found in possible else f"readers find what no call has left; {failure}; last failure: {failed}"


def check(kind: str, cases: pathlib.Path, ledgers: pathlib.Path, first: int, count: int) -> None:
    for seed in range(first, first + count):
        before = check_states(kind, cases / str(seed) / "undisturbed/multifile", ledgers / f"{seed}.undisturbed.0")
        after = check_states(kind, cases / str(seed) / "disturbed/multifile", ledgers / f"{seed}.0")
        if (before == "absent") != (after == "absent"):
            before = f"only the {'disturbed' if before == 'absent' else 'undisturbed'} program wrote a ledger"
        print(seed, before if before not in ("right", "absent") else after)


def main() -> None:
    kind, what, cases, ledgers, first, count = sys.argv[1:]
    (run if what == "run" else check)(kind, pathlib.Path(cases), pathlib.Path(ledgers), int(first), int(count))


if __name__ == "__main__":
    main()
