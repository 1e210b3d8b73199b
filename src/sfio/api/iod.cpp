// sheaf-iod: an I/O listener as a separate program in the MPI launch of an application:
//   mpirun -np 8 app : -np 2 sheaf-iod
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/printable.hpp"
#include "sfio.h"

namespace {

const char* const usage =
    "Usage: mpirun -np N PROGRAM : -np K sheaf-iod [--name HOST] [--root DIR] [--buffer BYTES]\n"
    "An I/O listener for the striped files of PROGRAM, on the nodes where it is started; ends with the "
    "program's session.\n"
    "  --name HOST     name that striped files know this listener by (default: that of the machine)\n"
    "  --root DIR      directory DIR/HOST stands for the root of the file system\n"
    "  --buffer BYTES  data of one message, with K, M or G (default 1M)\n"
    "  --version       print the version\n";

int refuse(const char* word) {
  std::fprintf(stderr, "sheaf-iod: unknown option or missing value: %s\n%s", sheaf::printable(word).c_str(),
               usage);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0)
      return std::fputs(usage, stdout) < 0;
    if (std::strcmp(argv[i], "--version") == 0) return std::printf("sheaf-iod %s\n", SHEAF_VERSION) < 0;
    const char* variable = nullptr;
    if (std::strcmp(argv[i], "--name") == 0) variable = "SHEAF_SFIO_NAME";
    if (std::strcmp(argv[i], "--root") == 0) variable = "SHEAF_SFIO_ROOT";
    if (std::strcmp(argv[i], "--buffer") == 0) variable = "SHEAF_SFIO_BUFFER";
    if (!variable || i + 1 == argc) return refuse(argv[i]);
    setenv(variable, argv[++i], 1);
  }
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  if (sfio_start(MPI_COMM_WORLD, "listener", nullptr) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return 0;
}
