/* Listing 2 of the SC09 paper: parallel read.
 *
 *   mpirun -n 4 listing2_parallel_read FILE      (with as many tasks as have written FILE)
 *
 * Every task reads its own logical file to the end and compares it with the data written by listing 1 or
 * 3. */
#include <mpi.h>

#include "listing_data.h"
#include "sion.h"

/* Reads the next piece into `data` of PIECE bytes, at most to the end of the current chunk. Uses fread on
 * the FILE*, or sion_fread, which could also continue in the next chunk. Returns the bytes read, 0 on
 * failure. */
static size_t read_piece(int sid, FILE* stream, int with_sion, char* data) {
  const sion_int64 available = sion_bytes_avail_in_chunk(sid);
  if (available <= 0) return 0;
  const size_t wanted = available < PIECE ? (size_t)available : PIECE;
  return with_sion ? sion_fread(data, 1, wanted, sid) : fread(data, 1, wanted, stream);
}

static int read_stream(const char* name) {
  MPI_Comm all = MPI_COMM_WORLD;
  int files = 1, task = -1;
  sion_int64 chunk_size = 0;
  sion_int32 block_size = -1;
  FILE* stream = NULL;
  const int sid =
      sion_paropen_mpi(name, "br", &files, all, &all, &chunk_size, &block_size, &task, &stream, NULL);
  if (sid < 0) return 0;

  int ok = 1, odd = 0;
  long at = 0;
  while (ok && !sion_feof(sid)) { /* sion_feof also moves on to the next chunk */
    char data[PIECE];
    const size_t bytes = read_piece(sid, stream, odd, data);
    ok = bytes > 0 && check_piece(task, at, data, bytes);
    at += (long)bytes;
    odd = !odd;
  }
  if (ok && at != stream_bytes(task)) {
    fprintf(stderr, "task %d: %ld bytes instead of %ld\n", task, at, stream_bytes(task));
    ok = 0;
  }
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
  int ok = read_stream(argv[1]);
  MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (task == 0) printf("%s: %s\n", argv[1], ok ? "read and verified by all tasks" : "FAILED");
  MPI_Finalize();
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
