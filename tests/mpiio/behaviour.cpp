// behaviour FILE: a C++ program in which a class owns a file, with collective and independent access. Rank 0
// prints "all right".
#include <mpi.h>

#include <algorithm>
#include <complex>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(int code) {
  if (code == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw std::runtime_error(text.substr(0, static_cast<size_t>(length)));
}

class ScopedMpiFile {
 public:
  ScopedMpiFile(MPI_Comm comm, const std::string& path, int mode) {
    check(MPI_File_open(comm, path.c_str(), mode, MPI_INFO_NULL, &file_));
  }
  ScopedMpiFile(const ScopedMpiFile&) = delete;
  ScopedMpiFile& operator=(const ScopedMpiFile&) = delete;
  ~ScopedMpiFile() { MPI_File_close(&file_); }

  template <class T>
  void write_all(const std::vector<T>& data, MPI_Datatype type, MPI_Offset at) {
    check(MPI_File_write_at_all(file_, at, data.data(), static_cast<int>(data.size()), type,
                                MPI_STATUS_IGNORE));
  }
  template <class T>
  void read(std::vector<T>& data, MPI_Datatype type, MPI_Offset at) {
    check(MPI_File_read_at(file_, at, data.data(), static_cast<int>(data.size()), type, MPI_STATUS_IGNORE));
  }
  MPI_File get() { return file_; }

 private:
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int tasks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  int wrong = 0;
  try {
    bool refused = false;
    try {
      ScopedMpiFile missing(MPI_COMM_WORLD, std::string(argv[1]) + "/missing", MPI_MODE_RDONLY);
    } catch (const std::runtime_error&) {
      refused = true;
    }
    ScopedMpiFile file(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    std::vector<std::complex<double>> mine(1000);
    for (size_t i = 0; i < mine.size(); ++i) mine[i] = {static_cast<double>(rank), static_cast<double>(i)};
    const auto bytes = static_cast<MPI_Offset>(mine.size() * sizeof mine[0]);
    file.write_all(mine, MPI_CXX_DOUBLE_COMPLEX, rank * bytes);
    check(MPI_File_sync(file.get()));
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<std::complex<double>> next(mine.size());
    const int neighbour = (rank + 1) % tasks;
    file.read(next, MPI_CXX_DOUBLE_COMPLEX, neighbour * bytes);
    for (size_t i = 0; i < next.size(); ++i)
      wrong |= next[i] != std::complex<double>(neighbour, static_cast<double>(i));
    wrong |= !refused;
  } catch (const std::exception& error) {
    std::cout << error.what() << '\n';
    wrong = 1;
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0 && !wrong) std::cout << "all right\n";
  MPI_Finalize();
  return wrong;
}
