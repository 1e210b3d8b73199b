/* faults DIRECTORY [full]: if a file operation of one task fails, all tasks of a collective call must
 * return the error. The class must be the one of the standard (MPI 3.1, section 13.7), and the next call
 * must work. This program interposes pwrite and similar functions, also for the drop-in. With `full`, the
 * file system of DIRECTORY has too little space for the data. Rank 0 prints "all right". */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int rank, tasks, wrong;
static char path[512];

/* Counts the calls on the file while `armed` is set. Call number `fail_at` and all later ones fail. */
static int armed, calls, fail_at, fail_errno, failed;

static int is_ours(int fd) {
  char link[64], name[600];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, name, sizeof name - 1);
  return n == (ssize_t)strlen(path) && memcmp(name, path, (size_t)n) == 0;
}
static int fails(int fd) {
  if (!armed || !is_ours(fd) || calls++ < fail_at) return 0;
  failed = 1;
  errno = fail_errno;
  return 1;
}
ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t at) {
  return fails(fd) ? -1 : syscall(SYS_pwrite64, fd, data, bytes, at);
}
ssize_t pwritev64(int fd, const struct iovec* pieces, int count, off64_t at) {
  return fails(fd) ? -1 : syscall(SYS_pwritev, fd, pieces, count, at, 0);
}
ssize_t pread64(int fd, void* data, size_t bytes, off64_t at) {
  return fails(fd) ? -1 : syscall(SYS_pread64, fd, data, bytes, at);
}
ssize_t preadv64(int fd, const struct iovec* pieces, int count, off64_t at) {
  return fails(fd) ? -1 : syscall(SYS_preadv, fd, pieces, count, at, 0);
}
int fallocate64(int fd, int mode, off64_t at, off64_t bytes) {
  return fails(fd) ? -1 : (int)syscall(SYS_fallocate, fd, mode, at, bytes);
}
int posix_fallocate64(int fd, off64_t at, off64_t bytes) {
  return fails(fd) ? errno : syscall(SYS_fallocate, fd, 0, at, bytes) == 0 ? 0 : errno;
}
int ftruncate64(int fd, off64_t bytes) { return fails(fd) ? -1 : (int)syscall(SYS_ftruncate, fd, bytes); }
int fsync(int fd) { return fails(fd) ? -1 : (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { return fails(fd) ? -1 : (int)syscall(SYS_fdatasync, fd); }

#define CHECK(condition) check(condition, #condition, __LINE__, where)
static void check(int holds, const char* condition, int line, const char* where) {
  if (holds) return;
  printf("[%d] line %d, %s: %s\n", rank, line, where, condition);
  wrong = 1;
}

static int class_of(int code) {
  int class;
  MPI_Error_class(code, &class);
  return class;
}

enum { ints = 6000 };
static int mine[ints], back[ints];
static const MPI_Offset offset_of_view = 100;

enum kind { writes, writes_later, writes_in_two, reads, reads_later, sets_size, preallocates, syncs, kinds };
static const char* const names[] = {"write_at_all", "iwrite_at_all", "write_at_all_begin", "read_at_all",
                                    "iread_at_all", "set_size",      "preallocate",        "sync"};

static int carried_out(MPI_File file, enum kind kind) {
  MPI_Request request;
  int code;
  switch (kind) {
    case writes:
      return MPI_File_write_at_all(file, 0, mine, ints, MPI_INT, MPI_STATUS_IGNORE);
    case writes_later:
      code = MPI_File_iwrite_at_all(file, 0, mine, ints, MPI_INT, &request);
      return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    case writes_in_two:
      code = MPI_File_write_at_all_begin(file, 0, mine, ints, MPI_INT);
      return code != MPI_SUCCESS ? code : MPI_File_write_at_all_end(file, mine, MPI_STATUS_IGNORE);
    case reads:
      return MPI_File_read_at_all(file, 0, back, ints, MPI_INT, MPI_STATUS_IGNORE);
    case reads_later:
      code = MPI_File_iread_at_all(file, 0, back, ints, MPI_INT, &request);
      return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    case sets_size:
      return MPI_File_set_size(file, 1 << 20);
    case preallocates:
      return MPI_File_preallocate(file, 2 << 20);
    default:
      return MPI_File_sync(file);
  }
}

/* Runs one case. Returns whether this task had a failure. */
static int one(MPI_File file, enum kind kind, int task, int number, int error, int class) {
  char where[100];
  snprintf(where, sizeof where, "%s, call %d of the file by task %d, %s", names[kind], number, task,
           strerror(error));
  if (kind <= writes_in_two) MPI_File_set_size(file, 0); /* otherwise no system call might be necessary */
  calls = failed = 0;
  fail_at = number;
  fail_errno = error;
  armed = rank == task;
  const int code = carried_out(file, kind);
  armed = 0;
  MPI_Bcast(&failed, 1, MPI_INT, task, MPI_COMM_WORLD);
  CHECK(class_of(code) == (failed ? class : MPI_SUCCESS));
  memset(back, 0, sizeof back);
  CHECK(carried_out(file, writes) == MPI_SUCCESS && carried_out(file, reads) == MPI_SUCCESS &&
        memcmp(mine, back, sizeof mine) == 0);
  return failed;
}

static MPI_File opened(const char* where) {
  MPI_File file = MPI_FILE_NULL;
  MPI_Datatype strided;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_Info_set(info, "cb_buffer_size", "16384");
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "romio_cb_read", "enable");
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS);
  MPI_Info_free(&info);
  MPI_Type_vector(ints / 10, 10, 10 * (tasks + 1), MPI_INT, &strided);
  MPI_Type_commit(&strided);
  MPI_File_set_view(file, offset_of_view + 40 * (MPI_Offset)rank, MPI_INT, strided, "native", MPI_INFO_NULL);
  MPI_Type_free(&strided);
  return file;
}

static void sweep(void) {
  static const struct {
    int error, class;
  } errors[] = {{ENOSPC, MPI_ERR_NO_SPACE}, {EDQUOT, MPI_ERR_QUOTA}, {EIO, MPI_ERR_IO}, {EFBIG, MPI_ERR_IO}};
  const char* where = "open";
  int faults = 0;
  MPI_File file = opened(where);
  CHECK(carried_out(file, writes) == MPI_SUCCESS);
  for (enum kind kind = 0; kind < kinds; ++kind)
    for (int e = 0; e < 4; ++e) {
      const int reading = kind == reads || kind == reads_later;
      if (reading && errors[e].error != EIO) continue;
      for (int task = 0; task < tasks; ++task)
        for (int number = 0; number < 100 && one(file, kind, task, number, errors[e].error, errors[e].class);
             ++number)
          ++faults;
    }
  where = "close";
  CHECK(faults > 20); /* not every transfer makes a call, because files may be mapped */
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/* Injects no faults: the file system itself is full. */
static void full(void) {
  const char* where = "full";
  const int bytes = 4 << 20;
  char* data = calloc(1, bytes);
  MPI_File file = opened(where);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  CHECK(class_of(MPI_File_write_at_all(file, (MPI_Offset)rank * bytes, data, bytes, MPI_BYTE,
                                       MPI_STATUS_IGNORE)) == MPI_ERR_NO_SPACE);
  CHECK(class_of(MPI_File_write_ordered(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_NO_SPACE);
  CHECK(class_of(MPI_File_preallocate(file, 16 << 20)) == MPI_ERR_NO_SPACE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    CHECK(class_of(MPI_File_write_at(file, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_NO_SPACE);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_set_size(file, 0) == MPI_SUCCESS);
  CHECK(MPI_File_write_at_all(file, rank * 1000, data, 1000, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  free(data);
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD,
                          MPI_ERRORS_RETURN); /* MPI_Wait calls the handler of MPI_COMM_WORLD */
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  snprintf(path, sizeof path, "%s/faults", argv[1]);
  for (int i = 0; i < ints; ++i) mine[i] = 1000000 * rank + i;
  if (argc > 2)
    full();
  else
    sweep();
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) MPI_File_delete(path, MPI_INFO_NULL);
  if (rank == 0 && !wrong) printf("all right\n");
  MPI_Finalize();
  return wrong;
}
