/* shared_file FILE: every task writes and reads pieces of one file by ordered calls, by collective calls
 * through a view, and by independent calls. Task 0 prints the version of the MPI library and "all right". */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { pieces = 16, ints = 8 };

static int wrong;

static void check(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return;
  wrong = 1;
  MPI_Error_string(code, text, &length);
  printf("%s: %s\n", what, text);
}

static int value(int task, int i) { return 1000 * task + i; }

/* Writes and reads collectively. From offset `begin` on, the file has the pieces of all tasks in turn. */
static void through_a_view(MPI_File file, MPI_Offset begin, int rank, int tasks) {
  int mine[pieces * ints], back[pieces * ints];
  MPI_Datatype type;
  MPI_Status status;
  int count = 0;
  for (int i = 0; i < pieces * ints; ++i) mine[i] = value(rank, i);
  memset(back, 0, sizeof back);
  MPI_Type_vector(pieces, ints, ints * tasks, MPI_INT, &type);
  MPI_Type_commit(&type);
  check(MPI_File_set_view(file, begin + rank * ints * (MPI_Offset)sizeof(int), MPI_INT, type, "native",
                          MPI_INFO_NULL),
        "view");
  check(MPI_File_write_at_all(file, 0, mine, pieces * ints, MPI_INT, &status), "write_at_all");
  MPI_Get_count(&status, MPI_INT, &count);
  wrong |= count != pieces * ints;
  check(MPI_File_read_at_all(file, 0, back, pieces * ints, MPI_INT, MPI_STATUS_IGNORE), "read_at_all");
  wrong |= memcmp(mine, back, sizeof mine) != 0;
  check(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "view of bytes");
  MPI_Type_free(&type);
}

/* Reads the data of the next task by a nonblocking call. */
static void of_the_next(MPI_File file, MPI_Offset begin, int rank, int tasks) {
  const int next = (rank + 1) % tasks;
  int back[ints] = {0};
  MPI_Request request;
  check(MPI_File_sync(file), "sync");
  MPI_Barrier(MPI_COMM_WORLD);
  check(MPI_File_iread_at(file, begin + next * (MPI_Offset)sizeof back, back, ints, MPI_INT, &request),
        "iread_at");
  check(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
  for (int i = 0; i < ints; ++i) wrong |= back[i] != value(next, i);
}

int main(int argc, char** argv) {
  static char version[MPI_MAX_LIBRARY_VERSION_STRING];
  char word[5] = "";
  int rank, tasks, length;
  MPI_File file;
  if (argc < 2) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  check(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                      MPI_INFO_NULL, &file),
        "open");
  if (!wrong) {
    const MPI_Offset begin = 4 * (MPI_Offset)tasks;
    check(MPI_File_write_ordered(file, "text", 4, MPI_BYTE, MPI_STATUS_IGNORE), "write_ordered");
    through_a_view(file, begin, rank, tasks);
    of_the_next(file, begin, rank, tasks);
    check(MPI_File_read_at(file, 4 * rank, word, 4, MPI_BYTE, MPI_STATUS_IGNORE), "read_at");
    wrong |= strcmp(word, "text") != 0;
    check(MPI_File_close(&file), "close");
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Get_library_version(version, &length);
  if (rank == 0) printf("library: %s\n%s\n", strtok(version, "\n"), wrong ? "wrong" : "all right");
  MPI_Finalize();
  return wrong;
}
