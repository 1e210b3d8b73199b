/* Listing 3 of the SC09 paper: serial write.
 *
 *   listing3_serial_write FILE TASKS
 *
 * One process writes the logical files of all tasks, like a converter or a generator of input data. It
 * passes an array of chunk sizes instead of a single one, and sion_seek selects the task to write to. The
 * program writes the pieces of the tasks in turn, to show that each stream continues at its last position. */
#include "listing_data.h"
#include "sion.h"

static int write_piece(int sid, FILE* stream, int task, long at) {
  char data[PIECE];
  const size_t bytes = piece_bytes(task, at);
  fill_piece(task, at, data, bytes);
  if (sion_seek(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS) != SION_SUCCESS) return 0;
  if (task % 2) return sion_fwrite(data, 1, bytes, sid) == bytes;
  return sion_ensure_free_space(sid, (sion_int64)bytes) == SION_SUCCESS &&
         fwrite(data, 1, bytes, stream) == bytes;
}

static int write_all(int sid, FILE* stream, int tasks) {
  int more = 1;
  for (long at = 0; more; at += PIECE) {
    more = 0;
    for (int task = 0; task < tasks; task++)
      if (at < stream_bytes(task)) {
        if (!write_piece(sid, stream, task, at)) {
          fprintf(stderr, "task %d: cannot write\n", task);
          return 0;
        }
        more = 1;
      }
  }
  return 1;
}

int main(int argc, char** argv) {
  int tasks = argc == 3 ? atoi(argv[2]) : 0;
  if (tasks < 1) {
    fprintf(stderr, "usage: %s FILE TASKS\n", argv[0]);
    return EXIT_FAILURE;
  }
  sion_int64* chunk_sizes = malloc((size_t)tasks * sizeof *chunk_sizes);
  int* global_ranks = malloc((size_t)tasks * sizeof *global_ranks);
  if (!chunk_sizes || !global_ranks) return EXIT_FAILURE;
  for (int task = 0; task < tasks; task++) {
    chunk_sizes[task] = CHUNK;
    global_ranks[task] = task;
  }

  int files = 1, ok = 0;
  sion_int32 block_size = BLOCK;
  FILE* stream = NULL;
  const int sid = sion_open(argv[1], "bw", &tasks, &files, &chunk_sizes, &block_size, &global_ranks, &stream);
  if (sid >= 0) {
    ok = write_all(sid, stream, tasks);
    ok = sion_close(sid) == SION_SUCCESS && ok;
  }
  free(chunk_sizes);
  free(global_ranks);
  printf("%s: %s\n", argv[1], ok ? "written for all tasks" : "FAILED");
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
