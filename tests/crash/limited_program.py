"""The program that test_real_limits.py runs against limits. It writes a multifile, serially or under Open MPI, and
reports the results of all calls. Or it reads a multifile.

    limited_program.py write PATH WORDS PIECE COUNT EVERY COLLECTIVE OUT

Every task writes COUNT pieces of PIECE bytes and flushes after every EVERY pieces (0: never). It stops at the
first failure and closes. Each task writes a JSON object with its results to OUT.TASK. If PATH has several paths,
separated by colons, the program writes them one after another, and a JSON list of results. The environment
variable AS_USER is the user number of the writer. This user need not be able to run Python.

    limited_program.py read PATH PIECE

Prints the number of bytes of each task as JSON, and fails if a byte is wrong. Prints a list if PATH has several
paths."""
import ctypes
import hashlib
import json
import os
import pathlib
import sys

LIB = pathlib.Path(os.environ["SHEAF_BIN"]).parent / "lib"


def content(task: int, number: int, size: int) -> bytes:
    return hashlib.shake_128(f"{task} {number}".encode()).digest(size)  # incompressible


def library() -> ctypes.CDLL:
    lib = ctypes.CDLL(str(LIB / "libsheaf.so"), mode=ctypes.RTLD_GLOBAL)
    for name in ("sion_fwrite", "sion_coll_fwrite", "sion_fread"):
        getattr(lib, name).restype = ctypes.c_size_t
        getattr(lib, name).argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
    lib.sion_seek.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong]
    lib.sheaf_last_error.restype = ctypes.c_char_p
    return lib


class Serial:
    def __init__(self, lib: ctypes.CDLL) -> None:
        self.lib, self.task = lib, 0

    def open(self, path: str, words: str, chunk: int) -> int:
        chunks = ctypes.pointer(ctypes.c_longlong(chunk))
        ranks = ctypes.pointer(ctypes.c_int(0))
        return self.lib.sion_open(path.encode(), words.encode(), ctypes.byref(ctypes.c_int(1)), ctypes.byref(ctypes.c_int(1)),
                                  ctypes.byref(chunks), ctypes.byref(ctypes.c_int(4096)), ctypes.byref(ranks), None)

    def close(self, sid: int) -> int:
        return self.lib.sion_close(sid)

    def end(self) -> None:
        pass


class Parallel:
    """Wraps the calls under Open MPI. MPI_COMM_WORLD is the address of a symbol there."""

    def __init__(self, lib: ctypes.CDLL) -> None:
        self.mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
        self.lib = ctypes.CDLL(str(LIB / "openmpi" / "libsheaf_mpi.so"), mode=ctypes.RTLD_GLOBAL)
        self.mpi.MPI_Init(None, None)
        self.world = ctypes.c_void_p(ctypes.addressof(ctypes.c_byte.in_dll(self.mpi, "ompi_mpi_comm_world")))
        rank = ctypes.c_int()
        self.mpi.MPI_Comm_rank(self.world, ctypes.byref(rank))
        self.task = rank.value

    def open(self, path: str, words: str, chunk: int) -> int:
        local = ctypes.c_void_p(self.world.value)
        return self.lib.sion_paropen_mpi(path.encode(), words.encode(), ctypes.byref(ctypes.c_int(1)), self.world,
                                         ctypes.byref(local), ctypes.byref(ctypes.c_longlong(chunk)),
                                         ctypes.byref(ctypes.c_int(4096)), ctypes.byref(ctypes.c_int(self.task)), None, None)

    def close(self, sid: int) -> int:
        return self.lib.sion_parclose_mpi(sid)

    def end(self) -> None:
        self.mpi.MPI_Finalize()


def write(paths: str, words: str, piece: int, count: int, every: int, collective: bool, out: str) -> None:
    lib = library()
    peer = (Parallel if "OMPI_COMM_WORLD_SIZE" in os.environ else Serial)(lib)
    if user := os.environ.get("AS_USER"):
        os.setgid(int(user))
        os.setuid(int(user))
    told = [write_one(lib, peer, path, words, piece, count, every, collective) for path in paths.split(":")]
    pathlib.Path(f"{out}.{peer.task}").write_text(json.dumps(told if ":" in paths else told[0]))
    peer.end()


def write_one(lib: ctypes.CDLL, peer: Serial | Parallel, path: str, words: str, piece: int, count: int, every: int,
              collective: bool) -> dict:
    put = lib.sion_coll_fwrite if collective else lib.sion_fwrite
    told = {"opened": False, "failed": None, "error": "", "pieces": 0, "flushed": 0, "closed": None}

    def fail(what: str) -> None:
        if told["failed"] is None:
            told.update(failed=what, error=lib.sheaf_last_error().decode())

    sid = peer.open(path, words, 64 << 10)
    if sid < 0:
        fail("open")
    else:
        told["opened"] = True
        for number in range(count):
            if put(content(peer.task, number, piece), 1, piece, sid) != piece:
                fail("write")
                break
            told["pieces"] += 1
            if every and (number + 1) % every == 0:
                if lib.sion_flush(sid) != 1:
                    fail("flush")
                    # All tasks continue with collective calls.
                    if not collective:
                        break
                else:
                    told["flushed"] = told["pieces"]
        told["closed"] = peer.close(sid)
        if told["closed"] != 1:
            fail("close")
    return told


def read(lib: ctypes.CDLL, path: str, piece: int) -> list[int]:
    sid = lib.sion_open(path.encode(), b"rb", None, None, None, None, None, None)
    if sid < 0:
        sys.exit(lib.sheaf_last_error().decode())
    tasks = ctypes.c_int()
    lib.sion_get_locations(sid, ctypes.byref(tasks), None, None, None, None, None, None, None)
    lengths = []
    for task in range(tasks.value):
        lib.sion_seek(sid, task, 0, 0)
        length = 0
        buffer = ctypes.create_string_buffer(piece)
        while got := lib.sion_fread(buffer, 1, piece, sid):
            if buffer.raw[:got] != content(task, length // piece, piece)[:got]:
                sys.exit(f"task {task}: wrong bytes in piece {length // piece}")
            length += got
            if got < piece:
                break
        lengths.append(length)
    lib.sion_close(sid)
    return lengths


if __name__ == "__main__":
    if sys.argv[1] == "read":
        with_library = library()
        found = [read(with_library, path, int(sys.argv[3])) for path in sys.argv[2].split(":")]
        print(json.dumps(found if ":" in sys.argv[2] else found[0]))
    else:
        write(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6]), sys.argv[7] == "1", sys.argv[8])
