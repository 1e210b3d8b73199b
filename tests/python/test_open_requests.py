"""The opens and reads of a multifile for a stream of it: one open, and one more for a memory map."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import numpy
import pytest

import sheaf

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")

READS = "sheaf.open({path!r})[2].array('f8', (2, 3))"
COPIES = "sheaf.open({path!r})[2].array('f8', (2, 3), copy=True)"


def fill(path, **arguments):
    with sheaf.open(path, "w", tasks=4, **arguments) as f:
        for rank, stream in enumerate(f):
            stream.write(numpy.arange(6.0) + rank)


def calls(tmp_path, path, expression):
    """Returns the number of opens of files whose names begin with `path`, and the reads from them."""
    trace = tmp_path / "trace"
    program = f"import sheaf; a = {expression.format(path=path)}; assert a[1, 2] == 7"
    command = ["strace", "-f", "-e", "trace=openat,pread64,close", "-o", trace, sys.executable, "-c", program]
    subprocess.run(command, check=True)
    opens, reads, numbers = 0, [], set()
    for line in trace.read_text().splitlines():
        if found := re.search(rf'openat\(.*"{re.escape(path)}[.\d]*", .*\) = (\d+)', line):
            opens += 1
            numbers.add(found[1])
        elif found := re.search(r"close\((\d+)", line):
            numbers.discard(found[1])
        elif (found := re.search(r"pread64\((\d+), .*, (\d+), (\d+)\) = ", line)) and found[1] in numbers:
            reads.append((int(found[2]), int(found[3])))
    return opens, reads


@pytest.mark.parametrize("words", ["", "compress=zstd"])
def test_small_metadata_are_one_request(tmp_path, path, words):
    fill(path, chunk_size=512, block_size=512, words=words)
    opens, reads = calls(tmp_path, path, COPIES if words else READS)
    metadata = [size for size, _ in reads if size > 1076]
    assert opens == (1 if words else 2) and len(metadata) == 1, reads
    assert words or len(reads) == 1, reads


def test_the_metadata_of_a_large_file_are_two_requests(tmp_path, path):
    fill(path, chunk_size=2 << 20)
    opens, reads = calls(tmp_path, path, READS)
    assert opens == 2 and len(reads) == 2 and all(size <= 64 << 10 for size, _ in reads), reads


def test_each_file_of_a_set_is_opened_once(tmp_path, path):
    fill(path, files=2)
    opens, reads = calls(tmp_path, path, READS)
    assert opens == 3 and len(reads) == 4, reads


def test_a_stream_outlives_the_metadata(path):
    fill(path)
    f = sheaf.open(path)
    stream = f[3]
    f._metadata.close()
    assert stream.read() == (numpy.arange(6.0) + 3).tobytes()
    f.close()
    assert stream.closed


def test_a_set_without_one_file_is_read_in_the_others(path, tmp_path):
    fill(path, files=4, chunk_size=8 << 20)
    (tmp_path / "a.sion.000003").unlink()
    with sheaf.open(path) as f:
        assert len(f) == 4 and f[1].read() == (numpy.arange(6.0) + 1).tobytes()
        with pytest.raises(sheaf.NotFoundError):
            f[3].read()
