"""A program with a multifile open that does what it is told: living_program.py PATH MODE TASKS CHUNK.

Commands on stdin, one per line, each answered with one line on stdout: `write TASK BYTE COUNT` (bytes accepted), `flush` and
`close` (what the call returned), `fork` (a child is born and ends by exit), `die` (no answer). AS_USER: the number of the user who
opens the multifile, who need not be able to run Python."""
import ctypes
import os
import pathlib
import sys

LIB = pathlib.Path(os.environ["SHEAF_BIN"]).parent / "lib"


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
            answer = lib.sion_close(sid)
        elif command == "fork":
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
            answer = 1
        else:
            os._exit(9)
        print(answer, flush=True)


main()
