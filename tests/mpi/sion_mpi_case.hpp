// sion_mpi_case: code that the tests of the MPI calls share: a directory, an open call with its arguments,
// functions that write and check streams. Each test is a function. A failed check prints a message and ends
// the program on all ranks.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "sheaf.h"
#include "sion.h"
#include "support/multifile_model.hpp"

namespace sheaf::test {

inline int me = 0;
inline int size = 1;
inline std::string directory;
inline const char* doing = "";

inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "rank %d of %d, %s: %s (%s)\n", me, size, doing, what.c_str(), sheaf_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

inline std::string path(const char* name) { return directory + "/" + name; }

// The arguments of an open call, with common defaults.
struct ParallelOpenCall {
  std::string file = path("a");
  const char* mode = "wb";
  int files = 1;
  MPI_Comm global = MPI_COMM_WORLD;
  MPI_Comm local = MPI_COMM_NULL;
  const MPI_Comm* local_given = &local;
  sion_int64 chunk = 100;
  sion_int32 block = 64;
  int rank = -7;
  FILE** fileptr = nullptr;
  char** newname = nullptr;

  ParallelOpenCall() = default;
  ParallelOpenCall(const ParallelOpenCall&) = delete;
  ParallelOpenCall& operator=(const ParallelOpenCall&) = delete;
  int operator()() {
    return sion_paropen_mpi(file.c_str(), mode, &files, global, local_given, &chunk, &block, &rank, fileptr,
                            newname);
  }
};

inline size_t length_of(int rank) { return static_cast<size_t>(150 + 37 * rank); }

inline void write_stream(int sid, int task) {
  const auto data = content(task, 0, static_cast<int64_t>(length_of(task)));
  require(sion_fwrite(data.data(), 1, 60, sid) == 60, "fwrite");
  require(sion_fwrite(data.data() + 60, 1, data.size() - 60, sid) == data.size() - 60, "fwrite of the rest");
}

inline void read_stream(int sid, int task) {
  const auto data = content(task, 0, static_cast<int64_t>(length_of(task)));
  std::vector<std::byte> found(data.size() + 10);
  require(sion_fread(found.data(), 1, found.size(), sid) == data.size(), "length read");
  found.resize(data.size());
  require(found == data, "bytes read");
  require(sion_feof(sid) == 1, "end");
}

inline void close(int sid) { require(sion_parclose_mpi(sid) == 1, "parclose"); }

// Reads the multifile in parallel. Returns the number of files.
inline int read_back(const std::string& file, const char* mode = "rb") {
  ParallelOpenCall open;
  open.file = file;
  open.mode = mode;
  open.chunk = -5;
  const int sid = open();
  require(sid >= 0, "open for reading");
  require(open.rank == me && open.block > 0 && open.chunk >= 0, "results of the open for reading");
  read_stream(sid, me);
  close(sid);
  return open.files;
}

inline void write_all(ParallelOpenCall& open) {
  const int sid = open();
  require(sid >= 0, "open for writing");
  require(open.rank == me, "global rank");
  write_stream(sid, me);
  close(sid);
}

inline bool exists(const std::string& file) { return std::filesystem::exists(file); }

inline std::string name_of(const std::string& base, int number) {
  char suffix[16] = "";
  if (number > 0) std::snprintf(suffix, sizeof suffix, ".%06d", number);
  return base + suffix;
}

inline void fresh_directory() {
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0)
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      std::filesystem::remove_all(entry);
  MPI_Barrier(MPI_COMM_WORLD);
}

struct NamedTest {
  const char* name;
  void (*test)();
};

// Runs all tests, each in an empty directory. Returns the exit code of main().
inline int run_all(int argc, char** argv, std::initializer_list<NamedTest> tests) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[200] = "/tmp/sheaf_mpi_XXXXXX";
  if (me == 0 && !mkdtemp(name)) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  directory = name;
  sheaf_print_errors(0);
  for (const NamedTest& t : tests) {
    doing = t.name;
    fresh_directory();
    t.test();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) std::filesystem::remove_all(directory);
  MPI_Finalize();
  return 0;
}

}  // namespace sheaf::test
