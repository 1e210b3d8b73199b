/* forgotten_writer FILE WORDS WAY: opens FILE with WORDS, writes `records` records of each task, and ends
 * without a close. The i-th record of task r is the int 1000 r + i.
 *
 * WAY is serial, parallel, mapped, omp or ompi (two threads), or a variant:
 * exit   parallel, without MPI_Finalize
 * some   parallel; the last task has abandoned its handle
 * fork   serial; a child that has inherited the handle ends first */
#include <fcntl.h>
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sheaf.h"
#include "sion.h"
#include "sion_omp.h"
#include "sion_ompi.h"

enum { records = 1000 };
static int rank, tasks;
static const char* leaving; /* file with one byte for each task that has ended; NULL: no waiting */

/* Waits at exit until all tasks have ended. The program registers it first, so that it runs after the
 * library's work at exit. Without the wait, the launcher of Open MPI would kill the other tasks when the
 * first task ends without MPI_Finalize. */
static void leave_together(void) {
  struct stat found;
  if (!leaving) return;
  const int file = open(leaving, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0 || write(file, "x", 1) != 1) _exit(3);
  for (int waits = 0; waits < 60000 && fstat(file, &found) == 0 && found.st_size < tasks; ++waits)
    usleep(1000);
}

static void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "forgotten_writer: %s: %s\n", what, sheaf_last_error());
  exit(2);
}

static void write_records(int sid, int task, int collectively) {
  for (int i = 0; i < records; ++i) {
    const int record = 1000 * task + i;
    require((collectively ? sion_coll_fwrite(&record, sizeof record, 1, sid)
                          : sion_fwrite(&record, sizeof record, 1, sid)) == 1,
            "write");
  }
}

static void serial(const char* file, const char* words) {
  int n = 2, files = 1, block = -1, ranks[2] = {0, 1}, *ranks_at = ranks;
  sion_int64 chunks[2] = {100000, 100000}, *chunks_at = chunks;
  const int sid = sion_open((char*)file, words, &n, &files, &chunks_at, &block, &ranks_at, NULL);
  require(sid >= 0, "open");
  for (int task = 0; task < 2; ++task) {
    sion_seek(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS);
    write_records(sid, task, 0);
  }
}

static int parallel(const char* file, const char* words) {
  int files = 1, block = -1, global = 0;
  sion_int64 chunk = 100000;
  MPI_Comm local = MPI_COMM_NULL;
  const int sid =
      sion_paropen_mpi(file, words, &files, MPI_COMM_WORLD, &local, &chunk, &block, &global, NULL, NULL);
  require(sid >= 0, "open");
  write_records(sid, rank, strstr(words, "coll") != NULL);
  return sid;
}

/* Writes the streams of two tasks in each process. */
static void mapped(const char* file, const char* words) {
  int files = 1, n = 2, block = -1, ranks[2], numbers[2] = {0, 0}, places[2];
  int *ranks_at = ranks, *numbers_at = numbers, *places_at = places;
  sion_int64 chunks[2] = {100000, 100000}, *chunks_at = chunks;
  for (int i = 0; i < 2; ++i) ranks[i] = places[i] = 2 * rank + i;
  const int sid = sion_paropen_mapped_mpi((char*)file, words, &files, MPI_COMM_WORLD, &n, &ranks_at,
                                          &chunks_at, &numbers_at, &places_at, &block, NULL);
  require(sid >= 0, "open");
  for (int i = 0; i < 2; ++i) {
    sion_seek(sid, ranks[i], SION_CURRENT_BLK, SION_CURRENT_POS);
    write_records(sid, ranks[i], 0);
  }
}

static void threads(const char* file, const char* words, int with_mpi) {
#pragma omp parallel num_threads(2)
  {
    int files = 1, block = -1, global = 0;
    sion_int64 chunk = 100000;
    MPI_Comm local = MPI_COMM_NULL;
    const int sid = with_mpi ? sion_paropen_ompi(file, words, &files, MPI_COMM_WORLD, &local, &chunk, &block,
                                                 &global, NULL, NULL)
                             : sion_paropen_omp(file, words, &chunk, &block, &global, NULL, NULL);
    require(sid >= 0, "open");
    write_records(sid, 2 * (with_mpi ? rank : 0) + omp_get_thread_num(), 0);
  }
}

int main(int argc, char** argv) {
  const char *file = argv[1], *words = argv[2], *way = argv[argc > 3 ? 3 : 0];
  int level;
  atexit(leave_together);
  if (strcmp(way, "serial") == 0 || strcmp(way, "fork") == 0) serial(file, words);
  if (strcmp(way, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) exit(0);
    int status = 0;
    waitpid(child, &status, 0);
    char journal[600];
    snprintf(journal, sizeof journal, "%s.journal", file);
    require(status == 0 && access(journal, F_OK) != 0, "the child has flushed");
  }
  if (strcmp(way, "omp") == 0) threads(file, words, 0);
  if (strcmp(way, "serial") == 0 || strcmp(way, "fork") == 0 || strcmp(way, "omp") == 0) return 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  if (strcmp(way, "mapped") == 0)
    mapped(file, words);
  else if (strcmp(way, "ompi") == 0)
    threads(file, words, 1);
  else {
    const int sid = parallel(file, words);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(way, "some") == 0 && rank == tasks - 1)
      require(sion_flush(sid) == 1 && sheaf_abandon(sid) == 1, "abandon");
    if (strcmp(way, "exit") == 0) {
      static char name[600];
      snprintf(name, sizeof name, "%s.leaving", file);
      leaving = name;
      exit(0);
    }
  }
  MPI_Finalize();
  return 0;
}
