"""Minimum functions of a wheel under any Python without other packages. Must run with the interpreter that has the
wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading

import sheaf


def main() -> None:
    assert sheaf.library_path() is not None and "SHEAF_LIBRARY" not in os.environ
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "a.sion")
        with sheaf.open(path, "w", tasks=8, chunk_size=1000, compress="zstd" if has_zstd() else None) as f:
            threads = [
                threading.Thread(target=f[rank].write, args=(b"task %d" % rank * 10_000,))
                for rank in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        with sheaf.open(path) as f:
            assert [stream.read() for stream in f] == [b"task %d" % rank * 10_000 for rank in range(8)]
        try:
            sheaf.open(path + ".none")
        except FileNotFoundError as error:
            assert error.errno == 2
        assert sheaf.verify(path)
        with sheaf.open(path, "w", keyval=True) as f:
            f[0].records[7] = b"seven"
            f[0].records[8] = b"eight"
        assert dict(sheaf.open(path)[0].records) == {7: b"seven", 8: b"eight"}
        out = subprocess.run(
            [sys.executable, "-m", "sheaf", "info", path], capture_output=True, text=True, check=True
        ).stdout
        assert "key-value records     yes" in out, out
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"Python {sys.version.split()[0]}{'' if gil else ', free-threaded'}: works")


def has_zstd() -> bool:
    import ctypes.util

    return ctypes.util.find_library("zstd") is not None


if __name__ == "__main__":
    main()
