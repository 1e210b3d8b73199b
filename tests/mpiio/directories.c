/* directories ROOT: opens files by relative names in ROOT. Then every task changes to a directory of its
 * own with files of the same names. The test writes, reads and removes the opened files; the other files
 * must stay unchanged. Prints "all right". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT = 1000, CALLS = 5 };

static int rank, tasks;

static void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "task %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int holds_precious(const char* name) {
  char text[20] = "";
  FILE* file = fopen(name, "r");
  const int read = file && fgets(text, sizeof text, file) != NULL;
  if (file) fclose(file);
  return read && strcmp(text, "precious") == 0;
}

static MPI_File open_file(const char* name, int mode) {
  MPI_File file;
  require(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS, "open");
  return file;
}

int main(int argc, char** argv) {
  static const char* const names[] = {"shared.io", "deleted.io", "stats.json"};
  static int values[COUNT], back[COUNT];
  char own[40];
  struct stat found;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  require(argc == 2 && chdir(argv[1]) == 0, "ROOT");
  sprintf(own, "own%d", rank);
  mkdir(own, 0777);
  for (int i = 0; i < 3; ++i) {
    char name[80];
    sprintf(name, "%s/%s", own, names[i]);
    FILE* file = fopen(name, "w");
    require(file && fputs("precious", file) >= 0 && fclose(file) == 0, "a file of the own directory");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File deleted = open_file("deleted.io", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  MPI_File file = open_file("shared.io", MPI_MODE_CREATE | MPI_MODE_RDWR);
  require(chdir(own) == 0, "chdir");
  for (int i = 0; i < COUNT; ++i) values[i] = rank;
  for (int k = 0; k < CALLS; ++k)
    require(MPI_File_write_shared(file, values, COUNT, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
            "write_shared");
  require(MPI_File_write_ordered(file, values, COUNT, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "write_ordered");
  const MPI_Offset end = (MPI_Offset)sizeof values * CALLS * tasks;
  MPI_Request request;
  require(MPI_File_iwrite_at_all(deleted, (MPI_Offset)sizeof values * rank, values, COUNT, MPI_INT,
                                 &request) == MPI_SUCCESS,
          "iwrite");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  require(MPI_File_read_at_all(file, end + (MPI_Offset)sizeof values * rank, back, COUNT, MPI_INT,
                               MPI_STATUS_IGNORE) == MPI_SUCCESS &&
              memcmp(values, back, sizeof values) == 0,
          "what write_ordered has written");
  require(MPI_File_close(&file) == MPI_SUCCESS, "close");
  require(MPI_File_close(&deleted) == MPI_SUCCESS, "close of a file that goes");
  for (int i = 0; i < 3; ++i) require(holds_precious(names[i]), names[i]);
  require(chdir("..") == 0, "chdir back");
  MPI_Barrier(MPI_COMM_WORLD);
  require(stat("shared.io", &found) == 0 && found.st_size == end + (MPI_Offset)sizeof values * tasks, "size");
  require(stat("deleted.io", &found) != 0, "a file that should be gone");
  if (getenv("SHEAF_STATS")) require(stat("stats.json", &found) == 0, "statistics");
  if (rank == 0) puts("all right");
  MPI_Finalize();
  return 0;
}
