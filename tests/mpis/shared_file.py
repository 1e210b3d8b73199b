"""shared_file.py FILE: tests one file of all tasks with mpi4py. Every task writes its own piece collectively
and reads the piece of the next task independently. Task 0 prints the version of the MPI library and
"all right", or "wrong"."""
import sys

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
size = 100
mine = numpy.arange(size, dtype="i") + 1000 * comm.rank
file = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR | MPI.MODE_DELETE_ON_CLOSE)
file.Set_view(0, MPI.INT)
file.Write_at_all(comm.rank * size, mine)
file.Sync()
comm.Barrier()
back = numpy.zeros(size, dtype="i")
file.Iread_at((comm.rank + 1) % comm.size * size, back).Wait()
right = bool((back == numpy.arange(size) + 1000 * ((comm.rank + 1) % comm.size)).all())
right = right and file.Get_size() == 4 * size * comm.size and file.Get_type_extent(MPI.INT) == 4
file.Close()
right = comm.allreduce(right, MPI.LAND)
if comm.rank == 0:
    print("library:", MPI.Get_library_version().splitlines()[0])
    print("all right" if right else "wrong")
sys.exit(0 if right else 1)
