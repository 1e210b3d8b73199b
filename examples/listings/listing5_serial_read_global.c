/* Listing 5 of the SC09 paper: serial read with the global view.
 *
 *   listing5_serial_read_global FILE
 *
 * One process opens all logical files at once and gets the numbers of tasks and chunks and the bytes in
 * each chunk. It can seek to any chunk; this program reads every chunk, the last one first, alternating
 * between fread and sion_fread. */
#include "listing_data.h"
#include "sion.h"

/* Returns the bytes in the chunks of `task` before chunk `block`. `sizes` has one row per round, with one
 * entry per task. */
static long bytes_before(const sion_int64* sizes, int tasks, int task, sion_int64 block) {
  long bytes = 0;
  for (sion_int64 b = 0; b < block; b++) bytes += (long)sizes[tasks * b + task];
  return bytes;
}

static int read_chunk(int sid, int task, int block, size_t bytes, long at) {
  FILE* stream = NULL;
  if (sion_seek_fp(sid, task, block, 0, &stream) != SION_SUCCESS) return 0;
  char* data = malloc(bytes > 0 ? bytes : 1);
  if (!data) return 0;
  const size_t got = bytes == 0  ? 0
                     : block % 2 ? sion_fread(data, 1, bytes, sid)
                                 : fread(data, 1, bytes, stream);
  const int ok = got == bytes && check_piece(task, at, data, bytes);
  free(data);
  return ok;
}

static int read_all(int sid) {
  int tasks = 0, rounds = 0;
  sion_int64 round_bytes = 0, end_of_data = 0;
  sion_int64 *chunk_sizes = NULL, *global_ranks = NULL, *chunk_counts = NULL, *sizes = NULL;
  if (sion_get_locations(sid, &tasks, &rounds, &round_bytes, &end_of_data, &chunk_sizes, &global_ranks,
                         &chunk_counts, &sizes) != SION_SUCCESS)
    return 0;
  for (int task = tasks - 1; task >= 0; task--) {
    const long all = bytes_before(sizes, tasks, task, chunk_counts[task]);
    printf("task %3d: %lld chunks of %lld bytes hold %ld bytes\n", task, chunk_counts[task],
           chunk_sizes[task], all);
    if (all != stream_bytes(task)) return 0;
    for (int block = (int)chunk_counts[task] - 1; block >= 0; block--)
      if (!read_chunk(sid, task, block, (size_t)sizes[(long)tasks * block + task],
                      bytes_before(sizes, tasks, task, block)))
        return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return EXIT_FAILURE;
  }
  int tasks = 0, files = 0, ok = 0;
  sion_int32 block_size = -1;
  FILE* stream = NULL;
  const int sid = sion_open(argv[1], "br", &tasks, &files, NULL, &block_size, NULL, &stream);
  if (sid >= 0) {
    ok = read_all(sid);
    ok = sion_close(sid) == SION_SUCCESS && ok;
  }
  printf("%s: %s\n", argv[1], ok ? "all chunks of all tasks read and verified" : "FAILED");
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
