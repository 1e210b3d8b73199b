/* domains FILE BLOCK: file domains must begin at multiples of the block size, which the environment sets
 * (SHEAF_BLOCK_SIZE) and the info reports. To observe the writes of each task, this program interposes
 * pwrite and mmap (on tmpfs a task may write through a mapping). */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static long first = -1;
static int in_call;

static void see(off64_t at) {
  if (in_call && (first < 0 || at < first)) first = at;
}

ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t at) {
  see(at);
  return syscall(SYS_pwrite64, fd, data, bytes, at);
}

void* mmap64(void* where, size_t bytes, int protection, int flags, int fd, off64_t at) {
  if (fd >= 0 && (flags & MAP_SHARED) && (protection & PROT_WRITE)) see(at);
  return (void*)syscall(SYS_mmap, where, bytes, protection, flags, fd, at);
}

void* mmap(void* where, size_t bytes, int protection, int flags, int fd, off_t at) {
  return mmap64(where, bytes, protection, flags, fd, at);
}

int main(int argc, char** argv) {
  enum { bytes = 333333 };
  static char data[bytes];
  MPI_File file;
  MPI_Datatype strided;
  MPI_Info info;
  char value[32] = "";
  int rank, tasks, found = 0, right = 1, writers;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  const long block = atol(argv[2]);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_get_info(file, &info);
  MPI_Info_get(info, "sheaf_block_size", 31, value, &found);
  MPI_Info_free(&info);
  right = found && atol(value) == block;
  MPI_Type_vector(bytes, 1, tasks, MPI_BYTE, &strided);
  MPI_Type_commit(&strided);
  MPI_File_set_view(file, rank, MPI_BYTE, strided, "native", MPI_INFO_NULL);
  MPI_Type_free(&strided);
  in_call = 1;
  right &= MPI_File_write_all(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS;
  in_call = 0;
  right &= first < 0 || first % block == 0;
  if (!right) printf("[%d] block '%s', writes from %ld\n", rank, value, first);
  writers = first >= 0;
  MPI_Allreduce(MPI_IN_PLACE, &writers, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_File_close(&file);
  if (rank == 0 && right && writers == tasks) printf("all right\n");
  MPI_Finalize();
  return 0;
}
