/* views DIRECTORY [TURNS [SHAPE]]: runs the cases of views.h, each shape through each way, or only those
 * of SHAPE. TURNS (4) is the number of choices of etype, memory, arrangement, displacement and hints.
 * Prints failures, and on task 0 "N checks, 0 failed". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "views.h"

/* Hints of the cases. They must not change the results of transfers. */
static const char* const hints[][5][2] = {
    {{NULL, NULL}},
    {{"romio_cb_write", "enable"},
     {"romio_cb_read", "enable"},
     {"cb_buffer_size", "256"},
     {"cb_nodes", "2"},
     {NULL, NULL}},
    {{"romio_cb_write", "disable"},
     {"romio_cb_read", "disable"},
     {"romio_ds_write", "disable"},
     {"romio_ds_read", "disable"},
     {NULL, NULL}},
    {{"romio_cb_write", "disable"},
     {"romio_ds_write", "enable"},
     {"ind_wr_buffer_size", "512"},
     {"ind_rd_buffer_size", "300"},
     {NULL, NULL}},
};

static MPI_File opened(const char* path, int turn) {
  MPI_File file = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  for (int i = 0; i < 5 && hints[turn % 4][i][0]; ++i)
    MPI_Info_set(info, hints[turn % 4][i][0], hints[turn % 4][i][1]);
  now("turn %d", turn);
  gives(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file), MPI_SUCCESS,
        "MPI_File_open");
  MPI_Info_free(&info);
  return file;
}

int main(int argc, char** argv) {
  int level;
  char path[600];
  MPI_Init_thread(&argc, &argv, getenv("VIEWS_THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPI_Wait calls its handler */
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  snprintf(path, sizeof path, "%s/views", argc > 1 ? argv[1] : ".");
  const int turns = argc > 2 ? atoi(argv[2]) : 4;
  int number = 0;
  for (int turn = 0; turn < turns; ++turn) {
    MPI_File file = opened(path, turn);
    for (int s = 0; s < shape_count; ++s)
      for (int w = 0; w < way_count; ++w, ++number) {
        if (!(shapes[s].use & in_file) || (argc > 3 && strcmp(argv[3], shapes[s].name) != 0)) continue;
        run_case(file, path, &shapes[s], &ways[w], turn, number);
      }
    now("turn %d", turn);
    gives(MPI_File_close(&file), MPI_SUCCESS, "MPI_File_close");
  }
  if (argc <= 3) run_refused(path);
  if (rank == 0) MPI_File_delete(path, MPI_INFO_NULL);
  const int right = summary();
  MPI_Finalize();
  return !right;
}
