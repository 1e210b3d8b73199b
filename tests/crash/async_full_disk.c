/* async_full_disk FILE BALLAST ask|leave: an MPI program that saves in the background on a disk that becomes
 * full.
 *
 * The first save becomes durable. The second one fails while the file BALLAST takes most of the disk.
 * ask: every task learns that from its wait, FILE has the first save, and a third one succeeds without
 * BALLAST. leave: the program does not ask and ends; with `async_exit=fail` its status is 1.
 *
 * The exit code is 2, with the problem on stdout, if a requirement is violated. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sheaf.h"
#include "sheaf_mpi.h"
#include "sion.h"

enum { bytes = 500000 };

static int me, bad;

static void wrong(const char* what) {
  printf("[%d] %s (%s)\n", me, what, sheaf_last_error());
  bad = 1;
}

static void fill(unsigned char* data, int save, int task) {
  unsigned state = (unsigned)(save * 1000003 + task * 10007 + 1);
  for (int i = 0; i < bytes; ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = (unsigned char)(state >> 24);
  }
}

static sheaf_save* save(const char* file, unsigned char* data, int number) {
  int files = 1, rank = me;
  sion_int32 block = 4096;
  sion_int64 chunk = bytes;
  MPI_Comm local = MPI_COMM_NULL;
  const int sid = sion_paropen_mpi(file, "bw,async,async_exit=fail", &files, MPI_COMM_WORLD, &local, &chunk,
                                   &block, &rank, NULL, NULL);
  if (sid < 0) {
    wrong("open");
    return NULL;
  }
  fill(data, number, me);
  /* A failure of an earlier write in the background may reach this call, and then the close. */
  sion_fwrite(data, 1, bytes, sid);
  memset(data, 0, bytes);
  return sheaf_parclose_async(sid);
}

static int has(const char* file, unsigned char* data, int number) {
  static unsigned char found[bytes + 1];
  int rank = me;
  const int sid = sion_open_rank((char*)file, "rb", NULL, NULL, &rank, NULL);
  if (sid < 0) return 0;
  const size_t length = sion_fread(found, 1, bytes + 1, sid);
  sion_close(sid);
  fill(data, number, me);
  return length == bytes && memcmp(found, data, bytes) == 0;
}

static void take_disk(const char* ballast, const unsigned char* data) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    FILE* const taken = fopen(ballast, "w");
    setvbuf(taken, NULL, _IONBF, 0);
    while (fwrite(data, 1, 4096, taken) == 4096) {
    }
    if (ftruncate(fileno(taken), ftell(taken) - bytes / 2) != 0) wrong("ballast");
    fclose(taken);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const char *const file = argv[1], *const ballast = argv[2];
  const int asks = strcmp(argv[3], "ask") == 0;
  unsigned char* const data = malloc(bytes);
  sheaf_save* first = save(file, data, 1);
  if (sheaf_save_wait_mpi(first, SHEAF_SAVE_DURABLE, MPI_COMM_WORLD) != 1) wrong("the first save");
  sheaf_save_free(first);
  take_disk(ballast, data);
  sheaf_print_errors(!asks);
  sheaf_save* second = save(file, data, 2);
  if (asks) {
    if (second && sheaf_save_wait(second, SHEAF_SAVE_DURABLE) == 1) wrong("the second save is durable");
    if (second && sheaf_save_test(second) != SHEAF_SAVE_FAILED) wrong("the second save has not failed");
    if (second && !strstr(sheaf_save_error(second), "o space")) wrong("the error does not tell why");
    MPI_Barrier(MPI_COMM_WORLD);
    if (!has(file, data, 1)) wrong("the first save is not there");
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) unlink(ballast);
    MPI_Barrier(MPI_COMM_WORLD);
    sheaf_save* third = save(file, data, 3);
    if (sheaf_save_wait_mpi(third, SHEAF_SAVE_DURABLE, MPI_COMM_WORLD) != 1) wrong("the third save");
    sheaf_save_free(third);
    if (!has(file, data, 3)) wrong("the third save is not there");
  } else if (!second) {
    bad = 1; /* the close has told already */
  }
  sheaf_save_free(second);
  free(data);
  MPI_Finalize();
  return bad ? 2 : 0;
}
