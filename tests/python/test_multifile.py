"""Opening, closing, aborting; errors; operations on whole multifiles."""

from __future__ import annotations

import ctypes
import errno
import gc
import os
import pickle
import resource
import subprocess
import sys
import warnings

import numpy as np
import pytest
import sheaf
from sheaf.archive import Archive

LIBRARY = sheaf.library_path()  # valid also in tests that disable the library


def fill(path, tasks=3, **options):
    with sheaf.open(path, "w", tasks=tasks, **options) as f:
        for rank, stream in enumerate(f):
            stream.write(b"task %d" % rank)


def test_a_multifile_is_a_sequence(path):
    fill(path)
    with sheaf.open(path) as f:
        assert (
            len(f) == 3 and f[-1].read() == b"task 2" and [s.task for s in f[1:]] == [1, 2] and f[1] is f[1]
        )
        assert (
            f.stream(1) is not f[1]
            and f.tasks[0].bytes == 6
            and [t.global_rank for t in f.tasks] == [0, 1, 2]
        )
        chunk = f[1].chunks[0]
        with open(chunk.path, "rb") as raw:
            raw.seek(chunk.offset)
            assert raw.read(chunk.bytes) == b"task 1"
        with pytest.raises(IndexError) as caught:
            f[3]
        assert caught.value.task == 3 and caught.value.path == path
    with pytest.raises(ValueError, match="closed"):
        f[0]


def gather_named_streams(path, streams):
    """Creates a multifile of named streams, like captured programs (docs/api-streams.md)."""
    calls = ctypes.CDLL(LIBRARY)
    calls.sheaf_set_open.restype = calls.sheaf_stream_open.restype = ctypes.c_void_p
    for call in (calls.sheaf_stream_write, calls.sheaf_set_gather):
        call.restype = ctypes.c_longlong
    made = ctypes.c_void_p(calls.sheaf_set_open(path.encode()))
    for name, data in streams.items():
        stream = ctypes.c_void_p(calls.sheaf_stream_open(made, name.encode(), b"w"))
        size, offset = ctypes.c_ulonglong(len(data)), ctypes.c_longlong(0)
        assert calls.sheaf_stream_write(stream, data, size, offset) == len(data)
        assert calls.sheaf_stream_close(stream) == 0
    assert calls.sheaf_set_close(made) == 0
    assert calls.sheaf_set_gather(path.encode()) == len(streams)


def test_streams_open_by_name(path, backend):
    gather_named_streams(path, {"out/b.txt": b"bye", "out/a.txt": b"hello", "7": b"seven"})
    with sheaf.open(path) as f:
        assert f.names == ["7", "out/a.txt", "out/b.txt"]
        assert f["out/a.txt"].read() == b"hello" and f["7"].read() == b"seven"
        assert f["out/b.txt"] is f[2] and f.stream("out/b.txt").read() == b"bye"
        assert "out/a.txt" in f and "out" not in f and f[0] in f
        with pytest.raises(KeyError, match="has no stream 'out/c.txt'") as told:
            f["out/c.txt"]
        assert isinstance(told.value, sheaf.Error)
    archive = Archive(path)
    assert archive.read("out/a.txt") == b"hello" and archive.children("out") == ["out/a.txt", "out/b.txt"]
    assert archive.entries()["out/a.txt"].modified > 1e9


def test_streams_without_names(path, backend):
    fill(path)
    with sheaf.open(path) as f:
        assert f.names == [] and "0" not in f
        with pytest.raises(sheaf.NoStreamError):
            f["0"]


def test_arguments_of_the_open(path):
    fill(path, tasks=2, chunk_size=[100, 5000], global_ranks=[7, 9], block_size=512)
    with sheaf.open(path) as f:
        assert [(t.global_rank, t.chunk_size) for t in f.tasks] == [
            (7, 512),
            (9, 5120),
        ] and f.info.block_size == 512
    with pytest.raises(FileExistsError):
        sheaf.open(path, "x")
    for options, message in (
        ({"tasks": -1}, "-1 tasks"),
        ({"tasks": 2, "chunk_size": [1]}, "1 chunk sizes for 2 tasks"),
        ({"tasks": 2, "chunk_size": [1, 1 << 63]}, f"chunk size {1 << 63} of task 1"),
        ({"tasks": 2, "chunk_size": -1}, "chunk size -1 of task 0"),
        ({"words": "nonsense"}, "nonsense"),
        ({"compress": "zstd,posix"}, "more than one value"),
        ({"compress": "zip"}, "zip"),
        ({"files": 2}, "2 physical files for 1 tasks"),
        ({"mapped": True}, "'mapped' goes with"),
        ({"byteorder": "middle"}, "'little' or 'big'"),
    ):
        with pytest.raises(ValueError, match=message):
            sheaf.open(path, "w", **options)
    with pytest.raises(ValueError, match="mode is"):
        sheaf.open(path, "rw")
    with pytest.raises(ValueError, match="those it has"):
        sheaf.open(path, "a", tasks=3)
    for mode in ("r", "a"):
        with pytest.raises(ValueError, match="'files' goes with"):
            sheaf.open(path, mode, files=2)


def test_several_physical_files(path, backend):
    if backend == "pure":
        with pytest.raises(sheaf.UnsupportedError, match="files=3"):
            sheaf.open(path, "w", tasks=5, files=3)
        return
    fill(path, tasks=5, files=3, global_ranks=[4, 3, 2, 1, 0], atomic=True)
    with sheaf.open(path, "a") as f:
        f[4].write(b", and more")
    with sheaf.open(path) as f:
        assert f.info.files == 3 and f[4].read() == b"task 4, and more"
        assert [s.read() for s in f[:4]] == [b"task %d" % rank for rank in range(4)]
    sheaf.defrag(path, path + ".two", files=2)
    with sheaf.open(path + ".two") as f:
        assert f.info.files == 2 and f[3].read() == b"task 3"
        assert [t.global_rank for t in f.tasks] == [4, 3, 2, 1, 0]


def test_a_failed_write_fails_flush_and_close_until_it_is_repeated(path):
    data = os.urandom(300_000)
    for repeats in (False, True):
        fill(path, atomic=True)
        f = sheaf.open(path, "w", tasks=2, chunk_size=1000, atomic=True)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        try:
            with pytest.raises(sheaf.Error) as caught:
                f[1].write(data)
            assert caught.value.errno == errno.EFBIG
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        with pytest.raises(sheaf.Error, match="has failed and was not repeated"):
            f[0].flush()
        if repeats:
            f[1].write(data[:1000])
            f[1].write(data[1000:])
            f.flush()
            f.close()
        else:
            with pytest.raises(sheaf.Error, match="task 1.*has failed and was not repeated"):
                f.close()
        with sheaf.open(path) as found:
            assert found[1].read() == (data if repeats else b"task 1")


def test_append(path):
    fill(path)
    with sheaf.open(path, "a") as f:
        f[1].write(b" and more" * 1000)
    with sheaf.open(path) as f:
        assert [s.read() for s in f] == [b"task 0", b"task 1" + b" and more" * 1000, b"task 2"]


def test_a_task_that_cannot_be_selected_misses_what_was_to_be_written(path):
    for repeats in (True, False):
        f = sheaf.open(path, "w", tasks=2, chunk_size=300_000)
        f[0].write(bytes(90_000))
        f[0].flush()
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
        try:
            f[0].write(b"held by the task")
            with pytest.raises(sheaf.Error):
                f[1].write(b"lost")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        f[0].write(b" again")
        if repeats:
            f[1].write(b"lost")
            f.close()
            with sheaf.open(path) as found:
                assert found[0].read()[90_000:] == b"held by the task again"
                assert found[1].read() == b"lost"
        else:
            with pytest.raises(sheaf.Error, match="not repeated"):
                f.close()


def test_a_block_that_fails_leaves_the_old_multifile_or_an_unclosed_one(path):
    fill(path)
    with pytest.raises(KeyError):
        with sheaf.open(path, "w", tasks=1, atomic=True) as f:
            f[0].write(b"x" * 100_000)
            f.flush()
            raise KeyError
    assert os.listdir(os.path.dirname(path)) == ["a.sion"] and len(sheaf.open(path)) == 3
    with pytest.raises(KeyError):
        with sheaf.open(path, "w", tasks=2) as f:
            f[1].write(b"flushed")
            f.flush()
            f[0].write(b"lost")
            raise KeyError
    with pytest.warns(sheaf.UnclosedWarning, match="was not closed"):
        f = sheaf.open(path)
    assert not f.info.closed and [s.read() for s in f] == [b"", b"flushed"]
    report = sheaf.verify(path)
    assert not report and report.findings[0].state == "unclosed"
    assert sheaf.repair(path, dry_run=True).files[0].source == "journal" and not sheaf.verify(path)
    assert not sheaf.repair(path).was_complete and sheaf.verify(path) and sheaf.repair(path).was_complete


def test_a_writer_that_is_forgotten_says_so(path):
    f = sheaf.open(path, "w")
    f[0].write(b"x")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del f
        gc.collect()
    assert [w.category for w in caught] == [ResourceWarning] and "was not closed" in str(caught[0].message)
    with sheaf.open(path) as f:
        assert f[0].read() == b"x"


@pytest.mark.parametrize("last_line", ["", "import sys; sys.exit(3)"])
def test_what_a_program_has_not_closed_at_its_end_is_kept(path, last_line):
    code = f"import sheaf\nf = sheaf.open({str(path)!r}, 'w', tasks=2)\nf[0].write(b'a'); f[1].write(b'b')\n{last_line}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == (3 if last_line else 0)
    assert done.stderr.count("has not closed") == 1 and str(path) in done.stderr
    with sheaf.open(path) as f:
        assert [f[0].read(), f[1].read()] == [b"a", b"b"]


def test_errors_say_what_where_and_why(path):
    with pytest.raises(FileNotFoundError) as caught:
        sheaf.open(path)
    error = caught.value
    assert (
        isinstance(error, sheaf.Error)
        and error.errno == errno.ENOENT
        and error.path == path
        and path in str(error)
    )
    assert error.kind == "not_found"
    with open(path, "wb") as file:
        file.write(b"something else" * 1000)
    with pytest.raises(sheaf.NotAMultifileError):
        sheaf.open(path)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.errno, again.path) == (
        type(error),
        str(error),
        error.errno,
        error.path,
    )


def test_damage_is_told_with_task_and_offset(path):
    with sheaf.open(path, "w", tasks=2, chunk_size=1 << 20) as f:
        f[1].write(b"x" * 300_000)
    with sheaf.open(path) as f:
        at = f[1].chunks[0].offset + 200_000
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(b"y")
    with sheaf.open(path) as f:
        f[1].seek(150_000)
        with pytest.raises(sheaf.DamagedError) as caught:
            f[1].read(100_000)
        assert caught.value.task == 1 and 150_000 <= caught.value.offset <= 200_000
        assert f[1].array("u1")[200_000] == ord("y")  # a mapped array is not verified
        with pytest.raises(sheaf.DamagedError):
            f[1].array("u1", copy=True)
    report = sheaf.verify(path)
    assert not report and "checksum" in report.findings[0].message
    with sheaf.open(path, checksums=False) as f:
        assert f[1].read().count(b"y") == 1


def test_no_space_is_an_error_with_its_errno(tmp_path):
    code = (
        "import resource, signal, sheaf\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
        f"f = sheaf.open({str(tmp_path / 'a.sion')!r}, 'w')\n"
        "try:\n    f[0].write(b'x' * (4 << 20)); f.flush()\n"
        "except sheaf.Error as e:\n    print(e.errno, e.task)\n"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == [str(errno.EFBIG), "0"], run


def test_split_and_defrag_with_progress(path, tmp_path):
    with sheaf.open(path, "w", tasks=4, chunk_size=1 << 20) as f:
        for stream in f:
            stream.write(np.ones(5 << 20, "u1"))
    seen = []
    sheaf.split(
        path, tmp_path / "t.", digits=2, tasks=[1, 3], progress=lambda done, total: seen.append((done, total))
    )
    assert sorted(p.name for p in tmp_path.glob("t.*")) == ["t.01", "t.03"] and seen[-1] == (
        10 << 20,
        10 << 20,
    )
    packed = str(tmp_path / "packed.sion")
    sheaf.defrag(path, packed, compress="zstd", progress=True)
    with sheaf.open(packed) as f:
        assert f.info.compressed and f.info.rounds == 1 and (f[2].array("u1") == 1).all()
    with pytest.raises(sheaf.Error, match="exists"):
        sheaf.defrag(path, packed)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sheaf.defrag(path, packed, replace=True, progress=stop)
    assert sheaf.open(packed).info.compressed  # the previous file


def test_the_command_line(path):
    fill(path)
    run = [sys.executable, "-m", "sheaf"]
    out = subprocess.run([*run, "cat", "--task", "1", path], capture_output=True, check=True).stdout
    assert out == b"task 1"
    assert subprocess.run([*run, "verify", path], capture_output=True, check=False).returncode == 0
    assert subprocess.run([*run, "nonsense"], capture_output=True, check=False).returncode == 2


def test_one_task_of_very_many_is_read_without_the_others(path):
    with sheaf.open(path, "w", tasks=200_000, chunk_size=1, block_size=512) as f:
        f[150_000].write(b"hello")
    with sheaf.open(path) as f:
        assert len(f) == 200_000 and f[150_000].read() == b"hello" and f._metadata is None
        assert f[150_000].array("S5", copy=True)[0] == b"hello" and f._metadata is None
        assert f.info.tasks == 200_000 and f.tasks[150_000].bytes == 5
