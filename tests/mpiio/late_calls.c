/* late_calls FILE [LIBRARY]: one task that, like mpi4py, looks up the MPI-IO functions with large counts
 * at run time. If LIBRARY is given, the program loads it as its MPI. Prints "refused" if a count beyond
 * int is rejected with MPI_ERR_UNSUPPORTED_OPERATION, and "all right" if small counts work. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* function(const char* name) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  if (!found) {
    printf("no %s\n", name);
    exit(1);
  }
  return found;
}
#define CALL(name, ...) ((int (*)(__VA_ARGS__))function(#name))

typedef int at_c(MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype, MPI_Status*);

static int works(const char* path) {
  char back[5] = "";
  int large = 0;
  MPI_File file;
  MPI_Aint extent = 0;
  at_c* const write_at_c = (at_c*)function("MPI_File_write_at_c");
  at_c* const read_at_c = (at_c*)function("MPI_File_read_at_c");
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
  if (CALL(MPI_File_open, MPI_Comm, const char*, int, MPI_Info, MPI_File*)(MPI_COMM_WORLD, path, mode,
                                                                           MPI_INFO_NULL, &file))
    return 0;
  if (write_at_c(file, 4, (char[]){"text"}, 4, MPI_BYTE, MPI_STATUS_IGNORE)) return 0;
  if (read_at_c(file, 4, back, 4, MPI_BYTE, MPI_STATUS_IGNORE) || strcmp(back, "text") != 0) return 0;
  if (CALL(MPI_File_get_type_extent_c, MPI_File, MPI_Datatype, MPI_Aint*)(file, MPI_INT, &extent) ||
      extent != sizeof(int))
    return 0;
  if (CALL(MPI_File_fromint, int) == NULL || CALL(MPI_File_toint, MPI_File)(file) == 0) return 0;
  int code = MPI_SUCCESS;
#ifdef OPEN_MPI /* MPICH 4.0 has the functions, but ends programs with counts beyond int */
  /* Writes 2^32 empty elements, which needs a call with counts wider than int. */
  MPI_Datatype nothing;
  CALL(MPI_Type_contiguous, int, MPI_Datatype, MPI_Datatype*)(0, MPI_BYTE, &nothing);
  CALL(MPI_Type_commit, MPI_Datatype*)(&nothing);
  code = write_at_c(file, 0, back, (MPI_Count)1 << 32, nothing, MPI_STATUS_IGNORE);
  if (code) CALL(MPI_Error_class, int, int*)(code, &large);
  if (large == MPI_ERR_UNSUPPORTED_OPERATION) puts("refused");
  CALL(MPI_Type_free, MPI_Datatype*)(&nothing);
#endif
  return (code == 0 || large == MPI_ERR_UNSUPPORTED_OPERATION) && !CALL(MPI_File_close, MPI_File*)(&file);
}

int main(int argc, char** argv) {
  if (argc > 2 && !dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL)) {
    puts(dlerror());
    return 1;
  }
  CALL(MPI_Init, int*, char***)(&argc, &argv);
  const int right = works(argv[1]);
  puts(right ? "all right" : "wrong");
  CALL(MPI_Finalize, void)();
  return !right;
}
