"""Saves in the background (docs/async.md)."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
from concurrent.futures import wait as wait_for_futures

import numpy as np
import pytest
import sheaf
from groups import ThreadGroup
from sheaf.archive import Archive
from test_parallel import together


def begin(path, data=b"new", words="async", tasks=2):
    """Writes `data` and the number of the task to each task; returns the writer after the close."""
    with sheaf.open(path, "w", tasks=tasks, words=words) as f:
        for task in range(tasks):
            f[task].write(data + b" %d" % task)
    return f


def streams(path):
    with sheaf.open(path) as f:
        return [stream.read() for stream in f]


def in_process(code, *words, **environment):
    """Runs a program; returns its exit status and what it printed on stderr."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, *map(str, words)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, done.stderr


# Every write beyond 200 KB fails (SIGXFSZ is ignored).
LIMITED = """
import os, resource, signal, sys
import sheaf
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
path = sys.argv[1]

def begin(words):
    f = sheaf.open(path, "w", words=words)
    f[0].write(os.urandom(1_000_000))
    f.close()
    return f.save
"""


def test_a_save_becomes_durable(path):
    save = begin(path).save
    assert save.path == path and save.state in ("captured", "local", "durable")
    assert save.wait("captured") in ("captured", "local", "durable")
    assert save.wait("local") in ("local", "durable")
    assert save.wait() == "durable" and save.done and save.error is None
    captured, written = save.progress
    assert captured >= 10 and written == captured
    assert streams(path) == [b"new 0", b"new 1"]
    assert "durable" in repr(save)


def test_readers_know_their_generation(path):
    saves = []
    for data in (b"1", b"2"):
        saves.append(begin(path, data).save)
        saves[-1].wait()
        with sheaf.open(path) as f:
            assert f[1].generation == saves[-1].generation
    assert len({save.generation for save in saves}) == 2 and len(saves[0].generation) == 32
    assert sheaf.save_of(path).generation == saves[1].generation


@pytest.mark.parametrize("words", ["async", "async,compress=zstd"])
def test_the_caller_may_change_its_memory_after_a_write(path, words):
    data = np.full(3_000_000, 7, "u1")
    with sheaf.open(path, "w", words=words) as f:
        f[0].write(data)
        data[:] = 8
    f.save.wait()
    with sheaf.open(path) as f:
        assert (f[0].array("u1", copy=True) == 7).all()


def test_compression_follows_the_close(path):
    with sheaf.open(path, "w", tasks=3, words="async,compress=zstd,frame=64k") as f:
        for call in range(20):
            for task in range(3):
                f[task].write(b"%d" % task * (10_000 + 1000 * call))
    assert f.save.progress[0] >= 3 * 390_000  # uncompressed
    f.save.wait()
    assert streams(path) == [b"%d" % task * 390_000 for task in range(3)]
    assert os.stat(path).st_blocks * 512 < 200_000  # of 1,170,000 bytes


def test_without_async_there_is_no_save(path):
    f = begin(path, words="")
    assert f.save is None and streams(path) == [b"new 0", b"new 1"]


def test_programs_as_they_are_save_in_the_background(path, monkeypatch):
    monkeypatch.setenv("SHEAF_FLAGS", "async")
    f = begin(path, words="")
    assert f.save.wait() == "durable" and streams(path) == [b"new 0", b"new 1"]


def test_archives_wait_for_their_file(path, monkeypatch):
    monkeypatch.setenv("SHEAF_FLAGS", "async")
    archive = Archive(path, create=True)
    assert os.path.exists(path)
    archive.put_many({"a": b"1" * 10_000_000, "b": b"2"})
    archive.compact()
    assert archive.read("b") == b"2" and Archive(path).read("a", 0, 3) == b"111"


def test_a_future(path):
    save = begin(path).save
    future = save.future()
    assert future is save.future() and not future.cancel()
    assert wait_for_futures([future], timeout=100).done == {future}
    assert future.result() == "durable" and future.exception() is None


def test_await(path, tmp_path):
    async def both():
        saves = [begin(name).save for name in (path, str(tmp_path / "b.sion"))]
        first = asyncio.ensure_future(asyncio.wait_for(saves[0], 100))
        return await first, await saves[1], await saves[1]

    assert asyncio.run(both()) == ("durable",) * 3


def test_a_cancelled_await_does_not_end_the_save(path):
    async def cancelled():
        save = begin(path).save
        waiting = asyncio.ensure_future(asyncio.wait_for(save, 0))
        with pytest.raises((asyncio.TimeoutError, asyncio.CancelledError)):
            await waiting
        return save

    try:
        save = asyncio.run(cancelled())
    except pytest.fail.Exception:  # it was durable at once
        return
    assert save.wait() == "durable"


def test_threads_share_a_save(path):
    save = begin(path, b"x" * 1_000_000).save
    found = []
    threads = [threading.Thread(target=lambda: found.append(save.wait())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["durable"] * 4


def test_a_wait_for_no_state(path):
    save = begin(path).save
    for state in ("failed", "skipped", "written", ""):
        with pytest.raises(sheaf.InvalidArgumentError, match="a wait is for"):
            save.wait(state)
    save.wait()


def test_releasing_a_save_does_not_end_it(path):
    f = begin(path)
    f.save = None
    gc.collect()
    assert sheaf.save_of(path).wait() == "durable" and streams(path) == [b"new 0", b"new 1"]


def test_the_save_of_a_name(path):
    with pytest.raises(FileNotFoundError):
        sheaf.save_of(path)
    begin(path, words="")
    save = sheaf.save_of(path)
    assert save.state == "durable" and save.wait("local") == "durable" and save.error is None


def test_processes_save_together(path):
    def work(group):
        with sheaf.open(path, "w", group=group, chunk_size=1000, words="async") as f:
            f.write(b"%d" % group.rank * 3000)
        return f.save.wait(), f.save.state

    assert together(ThreadGroup.of(3), work) == [("durable", "durable")] * 3
    assert streams(path) == [b"%d" % rank * 3000 for rank in range(3)]


def test_mapped_tasks_save_together(path):
    def work(group):
        with sheaf.open(path, "w", group=group, mapped=[group.rank, group.rank + 2], words="async") as f:
            for task in f:
                f[task].write(b"task %d" % task)
        return f.save.wait()

    assert together(ThreadGroup.of(2), work) == ["durable"] * 2
    assert streams(path) == [b"task %d" % task for task in range(4)]


def test_synchronous_processes_have_no_save(path):
    def work(group):
        with sheaf.open(path, "w", group=group) as f:
            f.write(b"now")
        return f.save

    assert together(ThreadGroup.of(3), work) == [None] * 3
    assert streams(path) == [b"now"] * 3


def test_an_abandoned_multifile_has_no_save(path):
    begin(path, b"old").save.wait()
    with pytest.raises(KeyError):
        with sheaf.open(path, "w", words="async") as f:
            f[0].write(b"new")
            raise KeyError
    assert f.save is None and streams(path) == [b"old 0", b"old 1"]


def test_the_latest(tmp_path):
    pattern = tmp_path / "step.*.sion"
    assert sheaf.latest(pattern) is None
    for step in (9, 10, 8):
        begin(str(tmp_path / f"step.{step}.sion")).save.wait()
    assert sheaf.latest(pattern) == str(tmp_path / "step.8.sion")
    assert sheaf.latest(str(tmp_path / "step.[0-9][0-9].sion")) == str(tmp_path / "step.10.sion")
    (tmp_path / "step.11.sion").write_bytes(b"no multifile")
    assert sheaf.latest(pattern) == str(tmp_path / "step.8.sion")
    with pytest.raises(sheaf.Error):
        sheaf.latest(tmp_path / "none" / "step.*.sion")


def test_older_saves_are_removed(tmp_path):
    for step in range(5):
        begin(str(tmp_path / f"step.{step}.sion"), words="async,keep=2").save.wait()
    assert sorted(os.listdir(tmp_path)) == ["step.3.sion", "step.4.sion"]


def test_pending_saves_are_listed(tmp_path):
    assert sheaf.saves(tmp_path) == []
    path = str(tmp_path / "a.sion")
    code = """
import os, sys, sheaf
f = sheaf.open(sys.argv[1], "w", tasks=3, words="async")
f[0].write(b"lost" * 100)
f.flush()
os.kill(os.getpid(), 9)
"""
    assert in_process(code, path)[0] == -9
    begin(path).save.wait()
    assert sheaf.saves(tmp_path) == [] and streams(path) == [b"new 0", b"new 1"]
    with pytest.raises(sheaf.Error):
        sheaf.saves(tmp_path / "none")


@pytest.mark.parametrize("words", ["async", "async,compress=lz4"])
def test_a_failed_save_is_an_error(path, words):
    """Without compression the save fails before its close or after it. With compression it can only fail after it,
    because nothing is written before."""
    begin(path, b"old").save.wait()
    code = LIMITED + f"""
try:
    save = begin({words!r})
except sheaf.Error as error:
    assert error.path == path and {words!r} == "async", error
    raise SystemExit
failures = []
for call in (save.wait, save.future().result, lambda: save.wait("local")):
    try:
        call()
    except sheaf.Error as error:
        assert path in str(error) and error.path == path and error.errno, repr(error)
        failures.append(str(error))
assert len(failures) == 3, failures
assert save.state == "failed" and save.done and str(save.error) in failures, (save.error, failures)
"""
    assert in_process(code, path) == (0, "")
    assert streams(path) == [b"old 0", b"old 1"]


@pytest.mark.parametrize("words, status", [("async", 0), ("async,async_exit=fail", 1)])
def test_a_failed_save_is_printed_at_exit(path, words, status):
    code = LIMITED + f"""
try:
    begin({words!r})
except sheaf.Error as error:
    print(error, file=sys.stderr)
    raise SystemExit({status})
"""
    found, told = in_process(code, path)
    assert found == status and path in told
    assert not os.path.exists(path)


def test_a_failure_that_only_a_future_knows_is_printed(path):
    code = LIMITED + """
try:
    future = begin("async").future()
except sheaf.Error as error:
    print(error, file=sys.stderr)
    raise SystemExit
import concurrent.futures
concurrent.futures.wait([future])
"""
    found, told = in_process(code, path)
    assert found == 0 and path in told


def test_a_save_that_is_skipped(tmp_path):
    path = str(tmp_path / "a.sion")
    code = """
import sys, sheaf
def begin(text, words):
    with sheaf.open(sys.argv[1], "w", words=words) as f:
        f[0].write(text)
    return f.save
first = begin(b"1" * 50_000_000, "async,compress=none")
second = begin(b"2", "async,pending=skip")
if second.state == "skipped":
    assert second.wait() == "skipped" == second.future().result() and second.done and second.error is None
    expected = b"1"
else:                             # the first one was durable before
    second.wait()
    expected = b"2"
first.wait()
with sheaf.open(sys.argv[1]) as f:
    assert f[0].read(1) == expected
"""
    assert in_process(code, path) == (0, "")


def test_saves_of_a_name_are_queued_or_waited_for(path):
    queued = [begin(path, b"%d" % number, "async,pending=queue").save for number in range(4)]
    assert [save.wait() for save in queued] == ["durable"] * 4 and streams(path) == [b"3 0", b"3 1"]
    begin(path, b"a")
    assert begin(path, b"b").save.wait() == "durable" and streams(path) == [b"b 0", b"b 1"]


def test_a_timeout(tmp_path):
    code = """
import sys, sheaf
with sheaf.open(sys.argv[1], "w", words="async") as f:
    f[0].write(bytes(100_000_000))
try:
    f.save.wait(timeout=0)
except TimeoutError as error:
    assert "captured" in str(error) or "local" in str(error), error
f.save.wait(timeout=1000)
assert f.save.wait(timeout=0) == "durable"
"""
    assert in_process(code, tmp_path / "a.sion") == (0, "")


def test_without_the_library(path, monkeypatch):
    from sheaf import _library

    monkeypatch.setattr(_library, "_found", None)
    monkeypatch.setattr(_library, "_problem", "it is switched off by the test")
    with pytest.raises(sheaf.UnsupportedError):
        sheaf.open(path, "w", words="async")
    for call in (sheaf.save_of, sheaf.saves, sheaf.latest):
        with pytest.raises(sheaf.UnsupportedError):
            call(path)
