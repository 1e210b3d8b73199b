// build: mpicxx -std=c++20 $(sionconfig --cflags --mpi --cxx) app.cpp -o app $(sionconfig --libs --mpi --cxx)
// run: mpirun -n 2 ./app
// run: test "$(sheaf cat data.sion | wc -c)" = 160
#include <vector>
@INCLUDES@

static void run() {
  std::vector<double> particles(10, 1.5);
  const auto bytes_of_this_task = static_cast<sion_int64>(particles.size() * sizeof(double));
  @SNIPPET@
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  run();
  MPI_Finalize();
}
