// hosts_test [DIRECTORY]: two compute tasks write two striped files over the hosts n0 and n1, in DIRECTORY
// there, and read them back.
#include <cstdio>
#include <string>
#include <vector>

#include "sfio.h"
#include "sheaf.h"

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const std::string disk = argc > 1 ? argv[1] : "";
  if (sfio_start(MPI_COMM_WORLD, nullptr, nullptr) != 0) return 1;
  int me = 0;
  MPI_Comm_rank(sfio_comm(), &me);
  const auto require = [](bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "hosts_test: %s (%s)\n", what, sheaf_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
  };
  const auto name = [&](const char* file) {
    return "n0," + disk + "/" + file + ";n1," + disk + "/" + file + ";";
  };

  MFILE* f = mopen(name("fig4").c_str(), 5);
  require(f != nullptr, "mopen");
  mwritec(f, 13 * me, "Hello*World!*", 13);
  if (me == 0) mwritec(f, 26, "Hello*World!*", 13);
  mclose(f);

  f = mopen(name("large").c_str(), 200);
  require(f != nullptr, "mopen");
  constexpr int64_t bytes = 1 << 20;
  std::vector<char> data(bytes, static_cast<char>('a' + me));
  require(sfio_mwritec(f, bytes * me, data.data(), bytes) == bytes, "mwritec");
  MPI_Barrier(sfio_comm());
  require(sfio_mreadc(f, bytes * (1 - me), data.data(), bytes) == bytes, "mreadc");
  require(data == std::vector<char>(bytes, static_cast<char>('b' - me)), "bytes");
  MPI_Barrier(sfio_comm());
  mclose(f);
  require(sfio_stop() == 0, "stop");
  if (me == 0) std::puts("works");
  std::fflush(stdout);  // before MPICH's MPI_Finalize, which may hang
  MPI_Finalize();
  return 0;
}
