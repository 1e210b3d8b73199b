"""A program that opens a multifile and executes commands on it.

    living_program.py PATH MODE TASKS CHUNK

Commands are lines on stdin. The program answers each with one line on stdout: `write TASK BYTE COUNT` (accepted
bytes), `flush` and `close` (result of the call), `fork` (after the child has ended by exit), `die` (no answer). The
environment variable AS_USER is the user number of the program. This user need not be able to run Python.

With PIPES=DIRECTORY, the program runs under Open MPI, and each rank has one task. A rank uses the pipes in.RANK and
out.RANK in DIRECTORY instead of stdin and stdout, and first prints its process number. It ends at the end of its
commands."""
import ctypes
import os
import pathlib
import sys

LIB = pathlib.Path(os.environ["SHEAF_BIN"]).parent / "lib"
PIPES = os.environ.get("PIPES")


class Parallel:
    """Wraps the calls under Open MPI. MPI_COMM_WORLD is the address of a symbol there."""

    def __init__(self, lib: ctypes.CDLL) -> None:
        self.mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
        self.calls = ctypes.CDLL(str(LIB / "openmpi" / "libsheaf_mpi.so"))
        self.mpi.MPI_Init(None, None)
        rank = os.environ["OMPI_COMM_WORLD_RANK"]
        os.dup2(os.open(f"{PIPES}/in.{rank}", os.O_RDONLY), 0)
        os.dup2(os.open(f"{PIPES}/out.{rank}", os.O_WRONLY), 1)
        print(os.getpid(), flush=True)

    def open(self, path: str, mode: str, chunk: int) -> int:
        world = ctypes.c_void_p(ctypes.addressof(ctypes.c_byte.in_dll(self.mpi, "ompi_mpi_comm_world")))
        return self.calls.sion_paropen_mpi(path.encode(), mode.encode(), ctypes.byref(ctypes.c_int(1)), world,
                                           ctypes.byref(ctypes.c_void_p(world.value)), ctypes.byref(ctypes.c_longlong(chunk)),
                                           ctypes.byref(ctypes.c_int(chunk)), ctypes.byref(ctypes.c_int(0)), None, None)


def main() -> None:
    path, mode, tasks, chunk = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    lib = ctypes.CDLL(str(LIB / "libsheaf.so"))
    lib.sion_fwrite.restype = ctypes.c_size_t
    lib.sion_fwrite.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
    lib.sion_seek.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong]
    if user := os.environ.get("AS_USER"):
        os.setgid(int(user))
        os.setuid(int(user))
    chunks = ctypes.cast((ctypes.c_longlong * tasks)(*[chunk] * tasks), ctypes.POINTER(ctypes.c_longlong))
    ranks = ctypes.cast((ctypes.c_int * tasks)(*range(tasks)), ctypes.POINTER(ctypes.c_int))
    parallel = Parallel(lib) if PIPES else None
    if parallel:
        sid = parallel.open(path, mode, chunk)
    else:
        sid = lib.sion_open(path.encode(), mode.encode(), ctypes.byref(ctypes.c_int(tasks)), ctypes.byref(ctypes.c_int(1)),
                            ctypes.byref(chunks), ctypes.byref(ctypes.c_int(chunk)), ctypes.byref(ranks), None)
    print(sid, flush=True)
    current = 0
    for line in sys.stdin:
        command, *words = line.split()
        if command == "write":
            if int(words[0]) != current:
                current = int(words[0])
                lib.sion_seek(sid, current, -102, -103)  # SION_CURRENT_BLK, SION_CURRENT_POS
            answer = lib.sion_fwrite(words[1].encode() * int(words[2]), 1, int(words[2]), sid)
        elif command == "flush":
            answer = lib.sion_flush(sid)
        elif command == "close":
            answer = parallel.calls.sion_parclose_mpi(sid) if parallel else lib.sion_close(sid)
        elif command == "fork":
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
            answer = 1
        else:
            os._exit(9)
        print(answer, flush=True)
    if parallel:
        parallel.mpi.MPI_Finalize()


main()
