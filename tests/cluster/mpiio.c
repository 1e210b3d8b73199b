// mpiio CASE DIRECTORY: checks one guarantee of MPI for a file that tasks on several hosts share. Without
// arguments, the program prints the cases. The exit code is 0 if all is right, 1 if bytes or sizes are wrong,
// and 2 if a call has failed.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { block = 3000, rounds = 12 };

static int rank, tasks;
static char name[4096];
static long wrong, failed;
static char failure[MPI_MAX_ERROR_STRING + 100];

static void check(int code, const char* call, int round) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  if (!failed++) snprintf(failure, sizeof failure, "task %d, round %d, %s: %s", rank, round, call, text);
}

static void fill(char* data, int of, int round) {
  for (int i = 0; i < block; ++i) data[i] = (char)(of * 37 + round * 101 + i * 7 + i / 256 + 1);
}

static void compare(const char* data, int of, int round) {
  char expected[block];
  fill(expected, of, round);
  for (int i = 0; i < block; ++i) wrong += data[i] != expected[i];
}

static MPI_File opened(int mode, int round) {
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file), "open", round);
  return file;
}

// After a write, a sync, a barrier and a sync, every task must read another task's bytes (MPI 4.1, 14.6.1).
static void sync_read(void) {
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR, 0);
  char data[block];
  for (int r = 0; r < rounds && file != MPI_FILE_NULL; ++r) {
    fill(data, rank, r);
    check(MPI_File_write_at(file, (MPI_Offset)rank * block, data, block, MPI_BYTE, MPI_STATUS_IGNORE),
          "write_at", r);
    check(MPI_File_sync(file), "sync", r);
    MPI_Barrier(MPI_COMM_WORLD);
    check(MPI_File_sync(file), "sync", r);
    const int other = (rank + 1) % tasks;
    memset(data, 0, sizeof data);
    check(MPI_File_read_at(file, (MPI_Offset)other * block, data, block, MPI_BYTE, MPI_STATUS_IGNORE),
          "read_at", r);
    compare(data, other, r);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (file != MPI_FILE_NULL) check(MPI_File_close(&file), "close", rounds);
}

// After a collective set_size, every task must find the new size.
static void set_size(void) {
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR, 0);
  for (int r = 0; r < rounds * 4 && file != MPI_FILE_NULL; ++r) {
    const MPI_Offset size = (MPI_Offset)((r * 7919) % 20011);
    MPI_Offset found = -1;
    check(MPI_File_set_size(file, size), "set_size", r);
    check(MPI_File_get_size(file, &found), "get_size", r);
    wrong += found != size;
  }
  if (file != MPI_FILE_NULL) check(MPI_File_close(&file), "close", rounds);
}

// One task removes a file, and all tasks create a file with the same name. They must find only the new bytes.
static void remade(void) {
  char data[block];
  for (int r = 0; r < rounds; ++r) {
    MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_WRONLY, r);
    if (file == MPI_FILE_NULL) return;
    fill(data, rank, r);
    check(MPI_File_write_at_all(file, (MPI_Offset)rank * block, data, block, MPI_BYTE, MPI_STATUS_IGNORE),
          "write_at_all", r);
    check(MPI_File_close(&file), "close", r);
    file = opened(MPI_MODE_RDONLY, r);
    if (file == MPI_FILE_NULL) return;
    const int other = (rank + 1) % tasks;
    memset(data, 0, sizeof data);
    check(MPI_File_read_at_all(file, (MPI_Offset)other * block, data, block, MPI_BYTE, MPI_STATUS_IGNORE),
          "read_at_all", r);
    compare(data, other, r);
    check(MPI_File_close(&file), "close", r);
    if (rank == r % tasks) check(MPI_File_delete(name, MPI_INFO_NULL), "delete", r);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// Tasks of several hosts write to the same pages, individually and collectively. After a close they must read
// all bytes.
static void shared_pages(void) {
  char data[block];
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_WRONLY, 0);
  for (int r = 0; r < rounds && file != MPI_FILE_NULL; ++r) {
    fill(data, rank, r);
    const MPI_Offset at = ((MPI_Offset)r * tasks + rank) * block;
    if (r % 2)
      check(MPI_File_write_at_all(file, at, data, block, MPI_BYTE, MPI_STATUS_IGNORE), "write_at_all", r);
    else
      check(MPI_File_write_at(file, at, data, block, MPI_BYTE, MPI_STATUS_IGNORE), "write_at", r);
  }
  if (file != MPI_FILE_NULL) check(MPI_File_close(&file), "close", 0);
  file = opened(MPI_MODE_RDONLY, 1);
  for (int r = 0; r < rounds && file != MPI_FILE_NULL; ++r) {
    const int other = (rank + 1) % tasks;
    memset(data, 0, sizeof data);
    check(MPI_File_read_at(file, ((MPI_Offset)r * tasks + other) * block, data, block, MPI_BYTE,
                           MPI_STATUS_IGNORE),
          "read_at", r);
    compare(data, other, r);
  }
  if (file != MPI_FILE_NULL) check(MPI_File_close(&file), "close", 1);
}

// All tasks write records collectively and leave a gap. In every other round, the last task writes a record
// in the gap at the same time through another handle. Neither write may overwrite the bytes of the other,
// even if the library fills gaps by data sieving.
static void gaps(void) {
  enum { record = 100 };
  char data[block];
  MPI_Datatype type, part;
  MPI_Type_contiguous(record, MPI_BYTE, &part);
  MPI_Type_create_resized(part, 0, (MPI_Aint)(tasks + 1) * record, &type);
  MPI_Type_commit(&type);
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_WRONLY, 0), own;
  for (int r = 0; r < rounds && file != MPI_FILE_NULL; ++r) {
    const int beside = r % 2 == 0 && rank == tasks - 1;
    own = MPI_FILE_NULL;
    if (beside) {
      check(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_WRONLY, MPI_INFO_NULL, &own), "open", r);
      MPI_File_set_view(own, (MPI_Offset)tasks * record, MPI_BYTE, type, "native", MPI_INFO_NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_set_view(file, (MPI_Offset)rank * record, MPI_BYTE, type, "native", MPI_INFO_NULL);
    if (beside) {
      fill(data, tasks, r);
      check(MPI_File_write_at(own, 0, data, block, MPI_BYTE, MPI_STATUS_IGNORE), "write_at", r);
    }
    fill(data, rank, r);
    check(MPI_File_write_at_all(file, 0, data, block, MPI_BYTE, MPI_STATUS_IGNORE), "write_at_all", r);
    if (beside) check(MPI_File_close(&own), "close", r);
  }
  if (file != MPI_FILE_NULL) check(MPI_File_close(&file), "close", 0);
  file = opened(MPI_MODE_RDONLY, 1);
  for (int of = 0; of <= tasks && file != MPI_FILE_NULL; ++of) {
    MPI_File_set_view(file, (MPI_Offset)of * record, MPI_BYTE, type, "native", MPI_INFO_NULL);
    memset(data, 0, sizeof data);
    check(MPI_File_read_at(file, 0, data, block, MPI_BYTE, MPI_STATUS_IGNORE), "read_at", of);
    compare(data, of, of < tasks ? rounds - 1 : rounds - 2);
  }
  if (file != MPI_FILE_NULL) check(MPI_File_close(&file), "close", 1);
  MPI_Type_free(&type);
  MPI_Type_free(&part);
}

// All records written through the shared file pointer must have different offsets.
static void shared_pointer(void) {
  char data[block];
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR, 0);
  for (int r = 0; r < rounds && file != MPI_FILE_NULL; ++r) {
    memset(data, 1 + rank * rounds + r, sizeof data);
    check(MPI_File_write_shared(file, data, block, MPI_BYTE, MPI_STATUS_IGNORE), "write_shared", r);
  }
  if (file != MPI_FILE_NULL) check(MPI_File_close(&file), "close", 0);
  file = opened(MPI_MODE_RDONLY, 1);
  int seen[256] = {0};
  for (int r = 0; r < rounds * tasks && file != MPI_FILE_NULL; ++r) {
    check(MPI_File_read_at(file, (MPI_Offset)r * block, data, block, MPI_BYTE, MPI_STATUS_IGNORE), "read_at",
          r);
    for (int i = 1; i < block; ++i) wrong += data[i] != data[0];
    ++seen[(unsigned char)data[0]];
  }
  for (int v = 1; v <= rounds * tasks && v < 256; ++v) wrong += seen[v] != 1;
  if (file != MPI_FILE_NULL) check(MPI_File_close(&file), "close", 1);
}

// In atomic mode, a read must never return a mixture of concurrent writes. If locks of the file system do not
// exclude other hosts, all tasks must get an error instead.
static void atomic(void) {
  static char data[20000];
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR, 0);
  if (file == MPI_FILE_NULL) return;
  const int code = MPI_File_set_atomicity(file, 1);
  int class = MPI_SUCCESS, least, most;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  MPI_Allreduce(&class, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&class, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  wrong += least != most || (class != MPI_SUCCESS && class != MPI_ERR_UNSUPPORTED_OPERATION);
  for (int r = 0; r < rounds && class == MPI_SUCCESS; ++r) {
    memset(data, 1 + rank * rounds + r, sizeof data);
    check(MPI_File_write_at(file, 1000, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE), "write_at", r);
    check(MPI_File_read_at(file, 1000, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE), "read_at", r);
    for (size_t i = 1; i < sizeof data; ++i) wrong += data[i] != data[0];
  }
  check(MPI_File_close(&file), "close", rounds);
}

// All tasks write small interleaved rows as for a chunked dataset, with one collective call for each row.
// With independent calls, the hosts would take the locks of the shared pages from each other for each row
// (docs/tuning.md, GlusterFS).
static void interleaved_rows(void) {
  enum { row = 124, rows = 300 };
  char data[block];
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_WRONLY, 0);
  for (int r = 0; r < rows && file != MPI_FILE_NULL; ++r) {
    fill(data, rank, r);
    const MPI_Offset at = ((MPI_Offset)r * tasks + rank) * row;
    check(MPI_File_write_at_all(file, at, data, row, MPI_BYTE, MPI_STATUS_IGNORE), "write_at_all", r);
  }
  if (file != MPI_FILE_NULL) check(MPI_File_close(&file), "close", rows);
  file = opened(MPI_MODE_RDONLY, rows);
  if (file == MPI_FILE_NULL) return;
  MPI_Offset size = 0;
  check(MPI_File_get_size(file, &size), "get_size", rows);
  wrong += size != (MPI_Offset)rows * tasks * row;
  for (int r = 0; r < rows; ++r) {
    const int other = (rank + 1) % tasks;
    char expected[block];
    memset(data, 0, sizeof data);
    const MPI_Offset at = ((MPI_Offset)r * tasks + other) * row;
    check(MPI_File_read_at(file, at, data, row, MPI_BYTE, MPI_STATUS_IGNORE), "read_at", r);
    fill(expected, other, r);
    wrong += memcmp(data, expected, row) != 0;
  }
  check(MPI_File_close(&file), "close", rows);
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {{"sync-read", sync_read}, {"set-size", set_size},
             {"remade", remade},       {"shared-pages", shared_pages},
             {"gaps", gaps},           {"shared-pointer", shared_pointer},
             {"atomic", atomic},       {"interleaved-rows", interleaved_rows}};

int main(int argc, char** argv) {
  const int count = (int)(sizeof cases / sizeof *cases);
  if (argc < 3) {
    for (int i = 0; i < count; ++i) puts(cases[i].name);
    return argc < 2 ? 0 : 2;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  snprintf(name, sizeof name, "%s/%s", argv[2], argv[1]);
  for (int i = 0; i < count; ++i)
    if (strcmp(argv[1], cases[i].name) == 0) cases[i].run();
  long own[2] = {wrong, failed}, all[2];
  MPI_Allreduce(own, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %ld wrong, %ld failing calls\n", argv[1], all[0], all[1]);
  if (failed) puts(failure);
  fflush(stdout);
  MPI_Finalize();
  return all[1] ? 2 : all[0] ? 1 : 0;
}
