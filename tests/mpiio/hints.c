/* hints FILE [KEY VALUE]: opens FILE twice, with the hint KEY if given. Each task prints the hints in use,
 * with commas between the words of a value. The program is linked with the MPI alone. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static const char* const keys[] = {"cb_nodes", "cb_buffer_size", "romio_cb_write", "romio_aggregator_list"};

int main(int argc, char** argv) {
  MPI_File file;
  MPI_Info info = MPI_INFO_NULL;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 3) {
    MPI_Info_create(&info);
    MPI_Info_set(info, argv[2], argv[3]);
  }
  for (int i = 0; i < 2; ++i) {
    MPI_Info used;
    char line[1000];
    int length = 0;
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], mode, info, &file)) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_File_get_info(file, &used);
    for (int k = 0; k < 4; ++k) {
      char value[MPI_MAX_INFO_VAL + 1] = "-";
      int there;
      MPI_Info_get(used, keys[k], MPI_MAX_INFO_VAL, value, &there);
      for (char* blank = value; (blank = strchr(blank, ' ')) != NULL;) *blank = ',';
      length += snprintf(line + length, sizeof line - (size_t)length, " %s", value);
    }
    printf("%d%s\n", rank, line);
    MPI_Info_free(&used);
    MPI_File_close(&file);
  }
  MPI_Finalize();
  return 0;
}
