/* locked FILE HOLDER [atomic]: transfers while a process has locked the file with lockf or fcntl, as
 * programs do to guard their files. All calls must end, write the correct bytes, and leave the bytes
 * between them unchanged. HOLDER is `file` or `part` (task 0 locks the file or some bytes), `other` (the
 * process that started this one holds a lock), or `none`. With `atomic`, the test also uses the atomic
 * mode, in which a call may fail after ten seconds, but only on all tasks. Rank 0 prints "all right". */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { run = 4, runs = 20000, ints = run * runs }; /* per task; gaps of the same size may follow each run */

static int rank, tasks, wrong;
static const char* holder;

#define CHECK(condition) check(condition, #condition, __LINE__, where)
static void check(int holds, const char* condition, int line, const char* where) {
  if (holds) return;
  printf("[%d] line %d, %s: %s\n", rank, line, where, condition);
  wrong = 1;
}

/* Locks the file. Called after each open, because a process loses its locks when it closes any descriptor
 * of the file, even one of the library. */
static void lock_it(const char* path) {
  if (rank != 0 || !strcmp(holder, "none") || !strcmp(holder, "other")) return;
  struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (!strcmp(holder, "part")) {
    range.l_start = 100000;
    range.l_len = 50001;
  }
  const int fd = open(path, O_RDWR | O_CREAT, 0644);
  if (fd < 0 || (strcmp(holder, "file") ? fcntl(fd, F_SETLK, &range) : lockf(fd, F_TLOCK, 0)) != 0) {
    perror(path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
} /* the descriptor stays open */

static int old_value(long at) { return (int)(-1 - at); }
static int new_value(int round, long at) { return (int)(at * 7 + round); }

/* Returns the position in the file of a task's i-th int, in ints. */
static long place(int task, long i, int gaps) {
  const long slot = (i / run) * tasks + task;
  return slot * run * (gaps ? 2 : 1) + i % run;
}

/* Fills the file by system calls, which need no lock. */
static void fill(const char* path, long count, int* all) {
  for (long at = 0; at < count; at++) all[at] = old_value(at);
  const int fd = open(path, O_RDWR);
  if (write(fd, all, sizeof(int) * (size_t)count) != (ssize_t)(sizeof(int) * (size_t)count)) wrong = 1;
  close(fd);
}

enum way { together, later, in_two, alone, ways };
static const char* const names[] = {"write_at_all", "iwrite_at_all", "write_at_all_begin", "write_at"};

static int written(MPI_File file, enum way way, const int* mine) {
  MPI_Request request;
  int code;
  switch (way) {
    case together:
      return MPI_File_write_at_all(file, 0, mine, ints, MPI_INT, MPI_STATUS_IGNORE);
    case later:
      code = MPI_File_iwrite_at_all(file, 0, mine, ints, MPI_INT, &request);
      return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    case in_two:
      code = MPI_File_write_at_all_begin(file, 0, mine, ints, MPI_INT);
      return code != MPI_SUCCESS ? code : MPI_File_write_at_all_end(file, mine, MPI_STATUS_IGNORE);
    default:
      return MPI_File_write_at(file, 0, mine, ints, MPI_INT, MPI_STATUS_IGNORE);
  }
}

static void one(const char* path, enum way way, int gaps, const char* sieving, int round, int* mine,
                int* all) {
  char where[100];
  snprintf(where, sizeof where, "%s, %s, sieving %s", names[way], gaps ? "gaps" : "no gaps", sieving);
  const long count = (long)ints * tasks * (gaps ? 2 : 1);
  if (rank == 0) fill(path, count, all);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_ds_write", sieving);
  MPI_File file;
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, info, &file) == MPI_SUCCESS);
  lock_it(path);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Datatype type;
  const int slot = run * (gaps ? 2 : 1);
  MPI_Type_vector(runs, run, slot * tasks, MPI_INT, &type);
  MPI_Type_commit(&type);
  CHECK(MPI_File_set_view(file, (MPI_Offset)sizeof(int) * rank * slot, MPI_INT, type, "native", info) ==
        MPI_SUCCESS);
  for (long i = 0; i < ints; i++) mine[i] = new_value(round, place(rank, i, gaps));
  CHECK(written(file, way, mine) == MPI_SUCCESS);
  memset(mine, 0, sizeof(int) * ints);
  CHECK(MPI_File_sync(file) == MPI_SUCCESS);
  CHECK((way == alone ? MPI_File_read_at : MPI_File_read_at_all)(file, 0, mine, ints, MPI_INT,
                                                                 MPI_STATUS_IGNORE) == MPI_SUCCESS);
  int same = 1;
  for (long i = 0; i < ints; i++) same &= mine[i] == new_value(round, place(rank, i, gaps));
  CHECK(same);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  if (rank == 0) {
    const int fd = open(path, O_RDONLY);
    CHECK(pread(fd, all, sizeof(int) * (size_t)count, 0) == (ssize_t)(sizeof(int) * (size_t)count));
    close(fd);
    for (long at = 0; at < count; at++) {
      const int gap = gaps && at / run % 2 == 1;
      same &= all[at] == (gap ? old_value(at) : new_value(round, at));
    }
    CHECK(same);
  }
  MPI_Type_free(&type);
  MPI_Info_free(&info);
}

static void shared_pointer(const char* path) {
  const char* const where = "shared pointer";
  MPI_File file;
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  lock_it(path);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_write_ordered(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_File_write_shared(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MPI_Offset end;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_get_position_shared(file, &end) == MPI_SUCCESS);
  CHECK(end == (MPI_Offset)(2 * sizeof(int)) * tasks);
  int found = -1;
  CHECK(MPI_File_read_at_all(file, (MPI_Offset)sizeof(int) * rank, &found, 1, MPI_INT, MPI_STATUS_IGNORE) ==
        MPI_SUCCESS);
  CHECK(found == rank);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/* In atomic mode, a task must own its range exclusively, and nothing can replace the lock. */
static void atomic_mode(const char* path, int* mine) {
  const char* const where = "atomic mode";
  MPI_File file;
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  lock_it(path);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
  for (int i = 0; i < ints; i++) mine[i] = rank;
  const int code = MPI_File_write_at_all(file, 100000, mine, ints, MPI_INT, MPI_STATUS_IGNORE);
  int class = MPI_SUCCESS, least, most;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  MPI_Allreduce(&class, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&class, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK(least == most);
  CHECK(least == (strcmp(holder, "none") ? MPI_ERR_IO : MPI_SUCCESS));
  CHECK(MPI_File_set_atomicity(file, 0) == MPI_SUCCESS);
  if (code != MPI_SUCCESS) /* repeats the failed write, because otherwise the close fails */
    CHECK(MPI_File_write_at_all(file, 100000, mine, ints, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_File_write_at_all(file, (MPI_Offset)sizeof(int) * rank, mine, 1, MPI_INT, MPI_STATUS_IGNORE) ==
        MPI_SUCCESS);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const char* const path = argv[1];
  holder = argv[2];
  int *const mine = malloc(sizeof(int) * ints), *const all = malloc(sizeof(int) * 2 * ints * (size_t)tasks);
  int round = 0;
  for (enum way way = 0; way < ways; way++)
    for (int gaps = 0; gaps < 2; gaps++) {
      one(path, way, gaps, "automatic", ++round, mine, all);
      one(path, way, gaps, "enable", ++round, mine, all);
    }
  shared_pointer(path);
  if (argc > 3) atomic_mode(path, mine);
  free(mine);
  free(all);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0 && !wrong) puts("all right");
  MPI_Finalize();
  return wrong;
}
