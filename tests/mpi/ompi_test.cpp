// Tests the hybrid calls under a real MPI with three threads per process. Returns 0 if all checks pass, and
// otherwise prints the failed check and aborts.
#include <mpi.h>
#include <omp.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "sheaf.h"
#include "sion.h"
#include "sion_omp.h"
#include "support/largest_file.hpp"
#include "support/multifile_model.hpp"

namespace {

using sheaf::test::content;

constexpr int threads = 3;
int me = 0;
int size = 1;
std::string directory;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "ompi_test: rank %d of %d: %s (%s)\n", me, size, what, sheaf_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

std::string path(const char* name) { return directory + "/" + name; }
int task() { return me * threads + omp_get_thread_num(); }
int64_t length_of(int number) { return 150 + 37 * number; }

// Writes a multifile and returns its number of files. All threads must call it.
int write(const std::string& file, const char* mode, int files, MPI_Comm local, int* shared_files = nullptr) {
  sion_int64 chunk = 100 + task();
  sion_int32 block = 64;
  int rank = -1;
  char* name = nullptr;
  int* const numfiles = shared_files ? shared_files : &files;
  const int sid = sion_paropen_ompi(file.c_str(), mode, numfiles, MPI_COMM_WORLD, &local, &chunk, &block,
                                    &rank, nullptr, &name);
  require(sid >= 0, "open to write");
  require(rank == task(), "globalrank");
  require(std::string(name).starts_with(file), "name");
  std::free(name);
  const auto data = content(task(), 0, length_of(task()));
  require(sion_fwrite(data.data(), 1, data.size(), sid) == data.size(), "fwrite");
  const int found = sion_get_number_of_files(sid);
  require(sion_parclose_ompi(sid) == 1, "close");
  return found;
}

void read(const std::string& file, int files_expected) {
  sion_int64 chunk = 0;
  sion_int32 block = 0;
  int rank = -1;
  int files = 0;
  const MPI_Comm local = MPI_COMM_NULL;
  const int sid = sion_paropen_ompi(file.c_str(), "rb", &files, MPI_COMM_WORLD, &local, &chunk, &block, &rank,
                                    nullptr, nullptr);
  require(sid >= 0, "open to read");
  require(rank == task() && files == files_expected, "rank and files read");
  std::vector<std::byte> found(static_cast<size_t>(length_of(task())) + 5);
  found.resize(sion_fread(found.data(), 1, found.size(), sid));
  require(found == content(task(), 0, length_of(task())), "what was written is read");
  require(sion_parclose_ompi(sid) == 1, "close after reading");
}

void check(const char* name, const char* mode, int files, MPI_Comm local, int expected) {
  const std::string file = path(name);
  int shared = files;
#pragma omp parallel num_threads(threads)
  {
    require(write(file, mode, files, local, files == 1 ? &shared : nullptr) == expected, "number of files");
    read(file, expected);
  }
  require(shared == (files == 1 ? expected : files), "a shared numFiles");
}

// All threads of a process must be in one file.
void check_placement(const char* name) {
  if (me == 0) {
    const int sid = sion_open(const_cast<char*>(path(name).c_str()), "rb", nullptr, nullptr, nullptr, nullptr,
                              nullptr, nullptr);
    int count = 0, files = 0;
    sion_int32* mapping = nullptr;
    require(sid >= 0 && sion_get_mapping(sid, &count, &mapping, &files) == 1, "mapping");
    for (int t = 0; t < count; ++t)
      require(mapping[2 * t] == mapping[2 * (t / threads * threads)], "threads share a file");
    require(sion_close(sid) == 1, "close of the serial handle");
  }
}

// The threads of one process write many files with few tasks each. Threads of one reading process may
// therefore need different files. The threads of all processes must be able to read these files.
void check_foreign_placement() {
  const std::string file = path("foreign");
  const int tasks = size * threads;
  const int files = tasks / 2 + 1;
  if (me == 0) {
#pragma omp parallel num_threads(tasks)
    {
      sion_int64 chunk = 100;
      sion_int32 block = 64;
      int rank = 0;
      const std::string mode = "wb,files=" + std::to_string(files);
      const int sid = sion_paropen_omp(file.c_str(), mode.c_str(), &chunk, &block, &rank, nullptr, nullptr);
      const int thread = omp_get_thread_num();
      const auto data = content(thread, 0, length_of(thread));
      require(sid >= 0 && sion_fwrite(data.data(), 1, data.size(), sid) == data.size(),
              "fwrite by one process");
      require(sion_parclose_omp(sid) == 1, "close by one process");
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
#pragma omp parallel num_threads(threads)
  read(file, files);
}

// A table assigns every thread to a file. In this test, the threads of a process are in different files.
void check_table() {
  const std::string table = path("table");
  if (me == 0) {
    std::ofstream out(table);
    for (int t = 0; t < size * threads; ++t) out << t % 2 << '\n';
  }
  MPI_Barrier(MPI_COMM_WORLD);
  check("placed", ("wb,files=@" + table).c_str(), 1, MPI_COMM_NULL, 2);
}

void check_errors() {
#pragma omp parallel num_threads(threads)
  {
    sion_int64 chunk = task() == size * threads - 1 ? -1 : 10;
    sion_int32 block = 64;
    int files = 1, rank = 0;
    const MPI_Comm local = MPI_COMM_NULL;
    const auto open = [&](const char* mode, int* numfiles, const MPI_Comm* lcomm) {
      return sion_paropen_ompi(path("bad").c_str(), mode, numfiles, MPI_COMM_WORLD, lcomm, &chunk, &block,
                               &rank, nullptr, nullptr);
    };
    require(open("wb", &files, &local) == -1, "negative chunk size of one thread");
    chunk = 10;
    require(open("wb", nullptr, &local) == -1, "no numFiles");
    require(open("wb", &files, nullptr) == -1, "no lComm");
    files = size + 1;
    require(open("wb", &files, &local) == -1, "more files than processes");
    files = 1;
    require(open(task() == 0 ? "rb" : "wb", &files, &local) == -1, "different modes");
    require(open("rb", &files, &local) == -1, "missing file");
    require(sion_parclose_ompi(-1) == -1 && sion_parclose_ompi(1 << 20) == -1, "invalid handles");
    const int sid = open("wb", &files, &local);
    require(sid >= 0, "open after errors");
    require(sion_parclose_ompi(omp_get_thread_num() == 1 ? -1 : sid) != 1,
            "one invalid handle closes nothing");
    require(sion_parclose_ompi(sid) == 1, "close after that");
  }
  int sid = -1;
#pragma omp parallel num_threads(threads)
  {
    sion_int64 chunk = 10;
    sion_int32 block = 64;
    int files = 1, rank = 0;
    const MPI_Comm local = MPI_COMM_NULL;
    const int own = sion_paropen_ompi(path("ok").c_str(), "wb", &files, MPI_COMM_WORLD, &local, &chunk,
                                      &block, &rank, nullptr, nullptr);
    if (omp_get_thread_num() == 0) sid = own;
#pragma omp barrier
    if (omp_get_thread_num() == 0) require(own == sid, "handle of the master");
#pragma omp barrier
    require(sion_parclose_ompi(own) == 1, "close");
  }
  require(sion_parclose_ompi(sid) == -1, "closed already");
  if (size == 1) return;
  // A local communicator that is larger than the global one.
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, me == size - 1, 0, &part);
  if (me != size - 1) {
#pragma omp parallel num_threads(threads)
    {
      sion_int64 chunk = 10;
      sion_int32 block = 64;
      int files = 0, rank = 0;
      const MPI_Comm all = MPI_COMM_WORLD;
      require(sion_paropen_ompi(path("bad").c_str(), "wb", &files, part, &all, &chunk, &block, &rank, nullptr,
                                nullptr) == -1,
              "a local communicator beyond the global one");
    }
  }
  MPI_Comm_free(&part);
  // Teams of different sizes.
  {
#pragma omp parallel num_threads(me == 0 ? 2 : threads)
    {
      sion_int64 chunk = 10;
      sion_int32 block = 64;
      int files = 1, rank = 0;
      const MPI_Comm local = MPI_COMM_NULL;
      require(sion_paropen_ompi(path("bad").c_str(), "wb", &files, MPI_COMM_WORLD, &local, &chunk, &block,
                                &rank, nullptr, nullptr) == -1,
              "teams of different sizes");
    }
  }
}

// The writes of one thread of one process fail. Then the flush of this thread and the close of every thread
// of all processes must fail, and the old file must keep its name.
void check_failed_write(const char* mode) {
  const std::string file = path("failed");
  std::optional<sheaf::test::LargestFile> limit;
#pragma omp parallel num_threads(threads)
  {
    write(file, "wb,atomic", 1, MPI_COMM_NULL);
    sion_int64 chunk = 100'000;
    sion_int32 block = 4096;
    int files = 1, rank = 0;
    const MPI_Comm local = MPI_COMM_NULL;
    const int sid = sion_paropen_ompi(file.c_str(), mode, &files, MPI_COMM_WORLD, &local, &chunk, &block,
                                      &rank, nullptr, nullptr);
    require(sid >= 0, "open to write");
    const bool fails = task() == size * threads - 2;
#pragma omp barrier
#pragma omp single
    limit.emplace(400'000);
    size_t written = 90'000;
    for (int call = 0; fails && written > 0 && call < 100; ++call) {
      const auto data = content(1009 * call, 0, 90'000);
      written = sion_fwrite(data.data(), 1, data.size(), sid);
    }
    require((written == 0) == fails, "the disk is full for one thread");
#pragma omp barrier
#pragma omp single
    limit.reset();
    require((sion_flush(sid) == 1) == !fails, "flush after a failed write");
    require(sion_parclose_ompi(sid) != 1, "the close fails on every thread");
    const std::string place = "task " + std::to_string(size * threads - 2);
    require(std::string(sheaf_last_error()).find(place) != std::string::npos, "the close names the task");
    read(file, 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  omp_set_dynamic(0);
  char made[] = "/tmp/sheaf_ompi_XXXXXX";
  if (me == 0) require(mkdtemp(made) != nullptr, "mkdtemp");
  MPI_Bcast(made, sizeof made, MPI_CHAR, 0, MPI_COMM_WORLD);
  directory = made;

  check("one", "wb", 1, MPI_COMM_NULL, 1);
  check("posix", "wb,posix", 1, MPI_COMM_NULL, 1);
  check("all", "wb", 0, MPI_COMM_NULL, 1);
  check("each", "wb", size, MPI_COMM_NULL, size);
  check("word", "wb,files=1", size, MPI_COMM_NULL, 1);
  check("node", "wb,files=node", size, MPI_COMM_NULL, 1);
  if (size > 1) {
    check("two", "wb", 2, MPI_COMM_NULL, 2);
    check_placement("two");
    check("words", "wb,files=2", 1, MPI_COMM_NULL, 2);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    check("local", "wb", 0, half, 2);
    check_placement("local");
    MPI_Comm_free(&half);
  }
  check_foreign_placement();
  check_table();
  check("throttled", "wb,iotasks=1", 1, MPI_COMM_NULL, 1);
  sheaf_print_errors(0);
  check_errors();
  for (const char* mode : {"wb,atomic", "wb,atomic,buffer=0", "wb,atomic,compress=lz4"})
    check_failed_write(mode);
  if (size > 1) check_failed_write("wb,atomic,files=2");
  sheaf_print_errors(1);

  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) std::filesystem::remove_all(directory);
  MPI_Finalize();
  return 0;
}
