"""Archives: named objects in a multifile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import sheaf
from sheaf.archive import Archive


def test_objects_come_and_go(path):
    archive = Archive(path, create=True)
    archive.put("a/b", b"1")
    archive.put_many({"a/c": np.arange(3), "big": b"z" * 5_000_000})
    archive.put_many({"fortran": np.asfortranarray(np.arange(6).reshape(2, 3))})
    assert archive.read("fortran") == np.arange(6).tobytes()
    archive.delete(["fortran"])
    archive.put("a/b", b"22")
    assert (
        archive.read("a/b") == b"22"
        and archive.read("big", -3) == b"zzz"
        and archive.children("a") == ["a/b", "a/c"]
    )
    where, offset, size = archive.range_of("big")
    with open(where, "rb") as raw:
        raw.seek(offset)
        assert raw.read(size) == b"z" * 5_000_000
    other = Archive(path)
    archive.delete(["big"])
    assert other.get("big") is None and sorted(other.entries()) == ["a/b", "a/c"]
    before = os.path.getsize(path)
    archive.compact()
    assert (
        os.path.getsize(path) < before / 3
        and other.read("a/c") == np.arange(3).tobytes()
        and sheaf.verify(path)
    )
    assert (
        not archive.put_if_absent("a/b", b"3")
        and archive.put_if_absent("d", b"3")
        and other.read("d") == b"3"
    )
    with pytest.raises(FileNotFoundError):
        archive.read("x")
    with pytest.raises(ValueError, match="no name"):
        archive.put("/x", b"")


def test_other_multifiles_can_be_read(path):
    with sheaf.open(path, "w", tasks=2) as f:
        f[1].write(b"hello")
    archive = Archive(path)
    assert list(archive.entries()) == ["0", "1"] and archive.read("1", 1, 3) == b"el"
    with pytest.raises(sheaf.WrongModeError, match="not an archive"):
        archive.put("x", b"")
    with sheaf.open(path, "w", tasks=2, keyval=True) as f:
        f[1].records[7] = b"seven"
    assert Archive(path).read("1/7") == b"seven"


def test_threads_and_processes_change_one_archive(path):
    Archive(path, create=True)
    code = f"from sheaf.archive import Archive\na = Archive({path!r})\nfor i in range(20): a.put(f'p{{i}}', b'x')"
    process = subprocess.Popen([sys.executable, "-c", code])
    archive = Archive(path)
    threads = [
        threading.Thread(target=lambda t=t: [archive.put(f"t{t}/{i}", b"%d" % i) for i in range(20)])
        for t in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert process.wait() == 0
    assert len(archive.entries()) == 80 and archive.read("t2/19") == b"19" and sheaf.verify(path)
