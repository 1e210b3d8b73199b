/* Listing 4 of the SC09 paper: serial read with the view of one task.
 *
 *   listing4_serial_read_local FILE TASK
 *
 * One process opens the logical file of a single task and reads it as in the parallel case (listing 2). */
#include "listing_data.h"
#include "sion.h"

static int read_stream(int sid, FILE* stream, int task) {
  long at = 0;
  for (int odd = 0; !sion_feof(sid); odd = !odd) {
    char data[PIECE];
    const sion_int64 available = sion_bytes_avail_in_chunk(sid);
    const size_t wanted = available < PIECE ? (size_t)available : PIECE;
    if (available <= 0) return 0;
    const size_t bytes = odd ? sion_fread(data, 1, wanted, sid) : fread(data, 1, wanted, stream);
    if (bytes != wanted || !check_piece(task, at, data, bytes)) return 0;
    at += (long)bytes;
  }
  if (at != stream_bytes(task))
    fprintf(stderr, "task %d: %ld bytes instead of %ld\n", task, at, stream_bytes(task));
  return at == stream_bytes(task);
}

int main(int argc, char** argv) {
  int task = argc == 3 ? atoi(argv[2]) : -1;
  if (task < 0) {
    fprintf(stderr, "usage: %s FILE TASK\n", argv[0]);
    return EXIT_FAILURE;
  }
  int ok = 0;
  sion_int64 chunk_size = 0;
  sion_int32 block_size = -1;
  FILE* stream = NULL;
  const int sid = sion_open_rank(argv[1], "br", &chunk_size, &block_size, &task, &stream);
  if (sid >= 0) {
    ok = read_stream(sid, stream, task);
    ok = sion_close(sid) == SION_SUCCESS && ok;
  }
  printf("%s: task %d: %s\n", argv[1], task, ok ? "read and verified" : "FAILED");
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
