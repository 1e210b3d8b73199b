"""Streams: the file interface of Python, and numpy arrays."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import sheaf


def write(path, sizes, chunk_size=1000, **options):
    rng = np.random.default_rng(1)
    wanted = [rng.bytes(size) for size in sizes]
    with sheaf.open(path, "w", tasks=len(sizes), chunk_size=chunk_size, block_size=512, **options) as f:
        for stream, data in zip(f, wanted):
            for at in range(0, len(data), 700):
                stream.write(data[at : at + 700])
    return wanted


@pytest.mark.parametrize("compress", [None, "zstd", "lz4", "gzip:6"])
def test_what_was_written_is_read(path, compress):
    wanted = write(path, [0, 1, 999, 5000, 100_000], compress=compress)
    with sheaf.open(path) as f:
        assert [stream.read() for stream in f] == wanted
        assert [task.bytes for task in f.tasks] == [len(data) for data in wanted]
        assert f.info.compressed == (compress is not None)


def test_both_backends_read_and_write(path, backend):
    wanted = write(path, [0, 1, 999, 5000, 100_000])
    with sheaf.open(path) as f:
        assert [stream.read() for stream in f] == wanted
        assert (f[3].array("u1") == np.frombuffer(wanted[3], "u1")).all()
        assert [chunk.bytes for chunk in f[3].chunks] == [task.bytes for task in f.tasks[3:4]] or len(
            f[3].chunks
        ) > 1
        assert (
            f[4].seek(-3, io.SEEK_END) == 99_997 and f[4].read(10) == wanted[4][-3:] and f[4].read(1) == b""
        )
    with pytest.raises(FileNotFoundError):
        sheaf.open(path + ".none")


def test_one_backend_reads_what_the_other_wrote(path, monkeypatch):
    from sheaf import _library

    found = _library.library()
    for writer, reader in ((found, None), (None, found)):
        monkeypatch.setattr(_library, "_problem", "off")
        monkeypatch.setattr(_library, "_found", writer)
        wanted = write(path, [10, 5000])
        monkeypatch.setattr(_library, "_found", reader)
        with sheaf.open(path) as f:
            assert [stream.read() for stream in f] == wanted


def test_a_stream_is_a_raw_file(path):
    wanted = write(path, [5000])[0]
    with sheaf.open(path) as f:
        stream = f[0]
        assert (
            isinstance(stream, io.RawIOBase)
            and stream.readable()
            and stream.seekable()
            and not stream.writable()
        )
        buffered = io.BufferedReader(stream, 64)
        assert buffered.read(100) == wanted[:100]
        buffered.seek(4000)
        assert buffered.peek(1)[:1] == wanted[4000:4001] and buffered.read() == wanted[4000:]
        into = bytearray(10)
        stream.seek(20)
        assert (
            stream.readinto(memoryview(into)[2:8]) == 6 and bytes(into) == b"\0\0" + wanted[20:26] + b"\0\0"
        )
        with pytest.raises(io.UnsupportedOperation):
            stream.fileno()
        with pytest.raises((io.UnsupportedOperation, OSError)):
            stream.write(b"x")
        with pytest.raises(sheaf.InvalidArgumentError):
            stream.seek(-1)
    with pytest.raises(ValueError, match="closed"):
        stream.read()


def test_text_goes_through_io(path):
    with sheaf.open(path, "w") as f:
        with io.TextIOWrapper(io.BufferedWriter(f[0]), "utf-8") as text:
            text.write("grün\n" * 1000)
    with sheaf.open(path) as f:
        assert sum(1 for _ in io.TextIOWrapper(io.BufferedReader(f[0]), "utf-8")) == 1000


def test_buffers_of_all_kinds_are_written(path):
    array = np.arange(12, dtype="i4").reshape(3, 4)
    with sheaf.open(path, "w") as f:
        sizes = [
            f[0].write(data)
            for data in (b"ab", bytearray(b"c"), memoryview(b"xdx")[1:2], array, array.T, np.float64(1))
        ]
        assert sizes == [2, 1, 1, 48, 48, 8]
        assert f[0].writev([b"1", array[0], b""]) == 17 and f[0].tell() == sum(sizes) + 17
        with pytest.raises(TypeError):
            f[0].write(7)
    with sheaf.open(path) as f:
        assert (
            f[0].read()
            == b"abcd"
            + array.tobytes()
            + array.T.tobytes()
            + np.float64(1).tobytes()
            + b"1"
            + array[0].tobytes()
        )


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2]], ids=["fortran", "strided"])
def test_values_of_arrays_in_other_orders_are_kept(path, layout):
    array = np.arange(12.0).reshape(3, 4)
    with sheaf.open(path, "w") as f:
        assert f[0].write(layout(array)) == array.nbytes
    assert np.array_equal(sheaf.open(path)[0].array("f8", (3, 4)), array)


def test_reading_into_another_order_is_refused(path):
    with sheaf.open(path, "w") as f:
        f[0].write(np.arange(12.0))
    with pytest.raises(ValueError, match="order='C'"):
        sheaf.open(path)[0].readinto(np.zeros((3, 4), order="F"))


def test_an_array_is_a_map_where_it_can_be(path):
    values = np.arange(300.0)
    with sheaf.open(path, "w", tasks=3, chunk_size=[4096, 512, 4096], block_size=512) as f:
        for stream in f:
            stream.write(values)
    with sheaf.open(path) as f:
        one, two = f[0].array("f8", (30, 10)), f[1].array("f8", (30, 10))
        assert isinstance(one, np.memmap) and not isinstance(two, np.memmap)
        assert (one == values.reshape(30, 10)).all() and (two == one).all() and not one.flags.writeable
        part = f[1].array("f8", 8, offset=512)  # inside one chunk of several
        assert isinstance(part, np.memmap) and (part == values[64:72]).all()
        assert not isinstance(f[0].array("f8", copy=True), np.memmap)
        with pytest.raises(sheaf.UnsupportedError, match="one plain chunk"):
            f[1].array("f8", copy=False)
        with pytest.raises(sheaf.InvalidArgumentError, match="no multiple"):
            f[0].array("V7")
        with pytest.raises(sheaf.InvalidArgumentError, match="has 2400 bytes"):
            f[0].array("f8", 301)
        f[0].seek(8)
        f[0].array("f8", copy=True)
        assert f[0].tell() == 8


def test_a_map_copies_nothing(path):
    """Opening 64 MiB as an array makes no page resident; a copy makes all resident."""
    size = 64 << 20
    with sheaf.open(path, "w", chunk_size=size) as f:
        f[0].write(np.ones(size, "u1"))

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    with sheaf.open(path) as f:
        before = resident()
        array = f[0].array("u1")
        mapped = resident() - before
        before = resident()
        copied = f[0].array("u1", copy=True)
        assert mapped < 2 << 20 and resident() - before > size * 0.9
        assert array.nbytes == copied.nbytes == size


def test_arrays_are_in_the_byte_order_of_the_file(path):
    with sheaf.open(path, "w", byteorder="big") as f:
        f[0].write(np.arange(5, dtype=">i8"))
    with sheaf.open(path) as f:
        assert f.info.byteorder == "big" and f[0].array("i8").tolist() == [0, 1, 2, 3, 4]


def test_objects_are_pickled_with_their_buffers_outside(path):
    values = {"a": np.arange(1000.0), "b": [np.zeros((3, 4), order="F"), "text"]}
    with sheaf.open(path, "w") as f:
        f[0].dump(values)
        f[0].dump(7)
    with sheaf.open(path) as f:
        found = f[0].load()
        assert (found["a"] == values["a"]).all() and found["b"][0].shape == (3, 4) and found["b"][1] == "text"
        found["a"][0] = 5  # loaded arrays are writable
        assert f[0].load() == 7
        begin = f[0].size
        with pytest.raises(sheaf.DamagedError, match=f"no object at offset {begin}"):
            f[0].load()
        f[0].seek(0)
        raw = f[0].read()
    assert len(pickle.dumps(values, protocol=5)) > 8000 and raw.count(values["a"].tobytes()) == 1


def test_keys_are_a_mapping(path, backend):
    with sheaf.open(path, "w", tasks=2, keyval=True, chunk_size=100) as f:
        records = f[1].records
        records[7], records[2**64 - 1], records[0] = b"abc", np.arange(100), b""
        records.append(7, b"def")
        for key in (-1, 2**64):
            with pytest.raises(sheaf.InvalidArgumentError, match=f"key {key} of task 1"):
                records[key] = b"lost"
    with sheaf.open(path) as f:
        found = f[1].records
        assert (
            dict(found) == {7: b"abcdef", 2**64 - 1: np.arange(100).tobytes(), 0: b""}
            and len(f[0].records) == 0
        )
        assert found.records_of(7) == [b"abc", b"def"] and found.count(7) == 2 and 8 not in found
        assert [key for key, _ in found.in_order()] == [7, 2**64 - 1, 0, 7]
        into = np.zeros(100, "i8")
        assert found.readinto(2**64 - 1, into) == 800 and (into == np.arange(100)).all()
        with pytest.raises(KeyError):
            found[8]
    with sheaf.open(path, "w") as f:
        f[0].write(b"x")
    with sheaf.open(path) as f, pytest.raises(sheaf.WrongModeError):
        f[0].records


def test_threads_read_streams_at_once(path):
    wanted = write(path, [200_000] * 8)
    with sheaf.open(path) as f:
        found = [None] * 8

        def read(rank):
            found[rank] = f[rank].read()

        threads = [threading.Thread(target=read, args=(rank,)) for rank in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == wanted


def test_threads_write_streams_of_one_writer(path):
    with sheaf.open(path, "w", tasks=4, chunk_size=512) as f:

        def work(rank):
            for i in range(300):
                f[rank].writev([b"%d:" % rank, b"%04d;" % i])

        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with sheaf.open(path) as f:
        for rank in range(4):
            assert f[rank].read() == b"".join(b"%d:%04d;" % (rank, i) for i in range(300))


def test_import_imports_little():
    code = (
        "import numpy, sys; before = set(sys.modules); import sheaf; "
        "print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "sheaf" in found
    assert not {"mpi4py", "fsspec", "zarr", "matplotlib", "sheaf_format"} & set(found)
