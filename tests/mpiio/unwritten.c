/* unwritten FILE: writes of a program fail, and the program ignores the results. MPI_File_sync and
 * MPI_File_close must fail on all tasks, with the class and the position of the first failure. They must
 * succeed once the same bytes have been written or the file was truncated before them. To make writes of a
 * task fail, the test limits its file size. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static int rank, tasks, wrong;
static const char *path, *doing;

static void expect(int holds, const char* what) {
  if (holds) return;
  printf("[%d] %s: %s\n", rank, doing, what);
  wrong = 1;
}
static int class_of(int code) {
  int class;
  MPI_Error_class(code, &class);
  return class;
}

enum { place = 4 << 20, length = 1000 };
static char data[length];

static void let_writes(int succeed) {
  struct rlimit most;
  getrlimit(RLIMIT_FSIZE, &most);
  most.rlim_cur = succeed ? most.rlim_max : place;
  setrlimit(RLIMIT_FSIZE, &most);
}

static MPI_File opened(int amode) {
  MPI_File file;
  expect(!MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | amode, MPI_INFO_NULL, &file),
         "open");
  return file;
}

/* Makes a write in which the last task's part fails. In a collective call, any task may write that part. */
static void write_badly(MPI_File file, int kind) {
  MPI_Request request = MPI_REQUEST_NULL;
  const MPI_Offset at = place + (MPI_Offset)rank * length;
  const int last = rank == tasks - 1;
  const int collective = kind % 2;
  if (last || collective) let_writes(0);
  if (kind == 0 && last) MPI_File_write_at(file, at, data, length, MPI_BYTE, MPI_STATUS_IGNORE);
  if (kind == 1) MPI_File_write_at_all(file, at, data, length, MPI_BYTE, MPI_STATUS_IGNORE);
  if (kind == 2 && last) MPI_File_iwrite_at(file, at, data, length, MPI_BYTE, &request);
  if (kind == 3) MPI_File_iwrite_at_all(file, at, data, length, MPI_BYTE, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (last || collective) let_writes(1);
}
enum { kinds = 4 };

static void fails(int code) {
  char text[MPI_MAX_ERROR_STRING], bytes[99];
  int n;
  expect(class_of(code) == MPI_ERR_IO, "expected MPI_ERR_IO");
  MPI_Error_string(code, text, &n);
  expect(strstr(text, path) != NULL && strstr(text, "File too large") != NULL, text);
  snprintf(bytes, sizeof bytes, "bytes %d to ", place + (tasks - 1) * length);
  if (rank == tasks - 1) expect(strstr(text, bytes) != NULL, text);
}

static void run(int kind) {
  doing = "sync and close";
  MPI_File file = opened(0);
  write_badly(file, kind);
  fails(MPI_File_sync(file));
  fails(MPI_File_close(&file));
  expect(file == MPI_FILE_NULL, "the handle is left");

  doing = "a part is repeated";
  file = opened(0);
  write_badly(file, kind);
  const MPI_Offset at = place + (MPI_Offset)rank * length;
  expect(!MPI_File_write_at(file, at + 1, data, length - 1, MPI_BYTE, MPI_STATUS_IGNORE), "write");
  expect(MPI_File_sync(file) != MPI_SUCCESS, "sync succeeds without one byte");
  doing = "repeated";
  expect(!MPI_File_write_at(file, at, data, 1, MPI_BYTE, MPI_STATUS_IGNORE), "write");
  expect(!MPI_File_sync(file), "sync");
  expect(!MPI_File_close(&file), "close");

  doing = "cut";
  file = opened(0);
  write_badly(file, kind);
  expect(!MPI_File_set_size(file, place), "set_size");
  expect(!MPI_File_close(&file), "close");

  doing = "deleted on close";
  file = opened(MPI_MODE_DELETE_ON_CLOSE);
  write_badly(file, kind);
  expect(!MPI_File_close(&file), "close");
}

/* Writes pieces with gaps between them. To succeed again, the program need not write the gaps. */
static void run_with_view(void) {
  doing = "strided";
  MPI_Datatype type;
  MPI_File file = opened(0);
  MPI_Type_vector(10, 100, 300, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_File_set_view(file, place, MPI_BYTE, type, "native", MPI_INFO_NULL);
  let_writes(0);
  expect(MPI_File_write_at_all(file, 0, data, length, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS, "write");
  let_writes(1);
  expect(MPI_File_sync(file) != MPI_SUCCESS, "sync succeeds");
  for (int piece = 0; piece < 10; ++piece) {
    expect(MPI_File_sync(file) != MPI_SUCCESS, "sync succeeds");
    MPI_File_write_at(file, piece * 100, data, 100, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  expect(!MPI_File_sync(file), "sync");
  expect(!MPI_File_close(&file), "close");
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, getenv("UNWRITTEN_THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  path = argv[1];
  signal(SIGXFSZ, SIG_IGN);
  for (int kind = 0; kind < kinds; ++kind) run(kind);
  run_with_view();
  if (rank == 0) MPI_File_delete(path, MPI_INFO_NULL);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) puts(wrong ? "wrong" : "all right");
  MPI_Finalize();
  return wrong;
}
