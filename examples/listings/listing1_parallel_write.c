/* Listing 1 of the SC09 paper: parallel write.
 *
 *   mpirun -n 4 listing1_parallel_write FILE
 *
 * Open and close are collective. In between, every task writes to its own logical file at any time and as
 * often as needed, with fwrite on an ordinary FILE* or with sion_fwrite. This program mixes the two to
 * show that they share one position. */
#include <mpi.h>

#include "listing_data.h"
#include "sion.h"

/* The C library's fwrite does not know chunks, so the piece must fit into the current one. */
static int write_with_stdio(int sid, FILE* stream, const char* data, size_t bytes) {
  return sion_ensure_free_space(sid, (sion_int64)bytes) == SION_SUCCESS &&
         fwrite(data, 1, bytes, stream) == bytes;
}

/* sion_fwrite continues in a new chunk by itself. */
static int write_with_sion(int sid, const char* data, size_t bytes) {
  return sion_fwrite(data, 1, bytes, sid) == bytes;
}

static int write_stream(const char* name) {
  MPI_Comm all = MPI_COMM_WORLD;
  int files = 1, task = -1;
  sion_int64 chunk_size = CHUNK;
  sion_int32 block_size = BLOCK;
  FILE* stream = NULL;
  const int sid =
      sion_paropen_mpi(name, "bw", &files, all, &all, &chunk_size, &block_size, &task, &stream, NULL);
  if (sid < 0) return 0;

  int ok = 1, odd = 0;
  for (long at = 0; ok && at < stream_bytes(task); at += PIECE, odd = !odd) {
    char data[PIECE];
    const size_t bytes = piece_bytes(task, at);
    fill_piece(task, at, data, bytes);
    ok = odd ? write_with_sion(sid, data, bytes) : write_with_stdio(sid, stream, data, bytes);
  }
  if (!ok) fprintf(stderr, "task %d: cannot write\n", task);
  return sion_parclose_mpi(sid) == SION_SUCCESS && ok;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int task = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &task);
  if (argc != 2) {
    if (task == 0) fprintf(stderr, "usage: %s FILE\n", argv[0]);
    MPI_Finalize();
    return EXIT_FAILURE;
  }
  int ok = write_stream(argv[1]);
  MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (task == 0) printf("%s: %s\n", argv[1], ok ? "written by all tasks" : "FAILED");
  MPI_Finalize();
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
