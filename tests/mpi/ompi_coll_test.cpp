// Tests collective writing and reading in hybrid programs under a real MPI, with two threads per process and
// MPI_THREAD_FUNNELED. Between the calls, the threads wait in OpenMP barriers, in which no thread makes
// progress for the library. Returns 0 if all checks pass.
#include <mpi.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sheaf.h"
#include "sion.h"
#include "support/multifile_model.hpp"

namespace {

using sheaf::test::content;

constexpr int threads = 2;
int me = 0;
int size = 1;

void require(bool holds, const char* what, int line) {
  if (holds) return;
  std::fprintf(stderr, "ompi_coll_test: rank %d of %d, thread %d, line %d: %s (%s)\n", me, size,
               omp_get_thread_num(), line, what, sheaf_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define REQUIRE(condition) require(condition, #condition, __LINE__)

int task() { return me * threads + omp_get_thread_num(); }

int open(const std::string& name, const char* mode, sion_int64 chunk, sion_int32 block, int files = 1) {
  const MPI_Comm none = MPI_COMM_NULL;
  int global = -1;
  return sion_paropen_ompi(name.c_str(), mode, &files, MPI_COMM_WORLD, &none, &chunk, &block, &global,
                           nullptr, nullptr);
}

void meet() {
#pragma omp barrier
}

// Reads and checks `bytes` bytes of every task. All threads must call it. `mode` may request collective
// reading.
void read_all(const std::string& name, const char* mode, size_t bytes) {
  const int sid = open(name, mode, 0, -1);
  REQUIRE(sid >= 0);
  std::vector<std::byte> all;
  for (size_t piece = 1; all.size() < bytes; piece = 3 * piece + 1) {
    std::vector<std::byte> part(std::min(piece, bytes - all.size()));
    const bool alone = piece % 5 == 3 && task() == 1;
    REQUIRE((alone ? sion_fread : sion_coll_fread)(part.data(), 1, alone ? part.size() / 2 : part.size(),
                                                   sid) == (alone ? part.size() / 2 : part.size()));
    if (alone) {
      const size_t rest = part.size() - part.size() / 2;
      REQUIRE(sion_coll_fread(part.data() + part.size() / 2, 1, rest, sid) == rest);
    }
    all.insert(all.end(), part.begin(), part.end());
    meet();
  }
  REQUIRE(all == content(task(), 0, static_cast<int64_t>(bytes)));
  std::byte more{};
  REQUIRE(sion_coll_fread(&more, 1, 1, sid) == 0);
  REQUIRE(sion_parclose_ompi(sid) == 1);
}

// Every task writes in collective calls of about `piece` bytes, some of them empty. Task 1 sometimes writes
// independently. Then all tasks read the file back.
void check_sizes(const std::string& name, const char* mode, size_t piece, int calls, sion_int64 chunk,
                 int files) {
  const int sid = open(name, mode, chunk, 4096, files);
  REQUIRE(sid >= 0);
  int64_t done = 0;
  for (int call = 0; call < calls; ++call) {
    if (call % 5 == 4 && task() == 1) {
      const auto own = content(task(), done, 100);
      REQUIRE(sion_fwrite(own.data(), 1, 100, sid) == 100);
      done += 100;
    }
    const size_t n = task() == call % (threads * size) ? 0 : piece;
    const auto data = content(task(), done, static_cast<int64_t>(n));
    REQUIRE(sion_coll_fwrite(data.data(), 1, n, sid) == n);
    done += static_cast<int64_t>(n);
    meet();
  }
  REQUIRE(sion_get_bytes_written(sid) == done);
  REQUIRE(sion_parclose_ompi(sid) == 1);
  for (const char* const reading : {"br", "br,collective=auto", "br,collective=2"}) {
    const int again = open(name, reading, 0, -1);
    REQUIRE(again >= 0);
    std::vector<std::byte> found(static_cast<size_t>(done));
    REQUIRE(sion_coll_fread(found.data(), 1, found.size(), again) == found.size());
    REQUIRE(found == content(task(), 0, done));
    REQUIRE(sion_feof(again) == 1);
    REQUIRE(sion_parclose_ompi(again) == 1);
  }
}

void check_same_size(const std::string& name) {
  const int sid = open(name, "bw,collective,collsize=3", 2000, 512);
  REQUIRE(sid >= 0);
  for (int call = 0; call < 8; ++call) {
    const auto data = content(task(), 1500 * call, 1500);
    REQUIRE(sion_coll_fwrite(data.data(), 1, 1500, sid) == 1500);
  }
  REQUIRE(sion_parclose_ompi(sid) == 1);
  for (const char* const mode : {"br", "br,collective=3"}) read_all(name, mode, 12000);
}

// A large collective call with bad arguments on one task must fail on all tasks. The next call must succeed.
void check_failures(const std::string& name) {
#pragma omp single
  sheaf_print_errors(0);
  const int sid = open(name, "bw,collective,collsize=2", 1 << 20, 4096);
  REQUIRE(sid >= 0);
  const auto data = content(task(), 0, 1 << 20);
  const bool bad = task() == threads * size - 1;
  REQUIRE(sion_coll_fwrite(bad ? nullptr : data.data(), 1, data.size(), sid) == 0);
  REQUIRE(sion_coll_fwrite(data.data(), 1, data.size(), sid) == data.size());
  REQUIRE(sion_parclose_ompi(sid) == 1);
  read_all(name, "br,collective=2", data.size());
  const int none = open(name, "bw,collective,collsize=2", 0, 4096);
  REQUIRE(none >= 0);
  REQUIRE(sion_coll_fwrite(data.data(), 1, 0, none) == 0);
  REQUIRE(sion_parclose_ompi(none) == 1);
}

// A group of tasks with one collector must begin with the first thread of a process. If it could begin with
// any thread, every task would be a group of its own, because its 1000 bytes exceed a block of 512 bytes.
void check_groups(const std::string& name) {
  const int sid = open(name, "bw,collective,collsize=1", 1000, 512);
  REQUIRE(sid >= 0);
  REQUIRE(sion_parclose_ompi(sid) == 1);
  sion_int64 chunk = 0;
  sion_int32 block = -1;
  int files = 1;
  int global = -1;
  const MPI_Comm none = MPI_COMM_NULL;
  const int again = sion_paropen_ompi(name.c_str(), "br", &files, MPI_COMM_WORLD, &none, &chunk, &block,
                                      &global, nullptr, nullptr);
  REQUIRE(again >= 0);
  REQUIRE(chunk == (omp_get_thread_num() + 1 < threads ? 1000 : 2048 - 1000));
  REQUIRE(sion_parclose_ompi(again) == 1);
}

// Tests buddy copies of the files of groups of processes, with and without a FILE* of the program.
void check_buddies(const std::string& name) {
  const int files = std::min(2, size);
  const int sid = open(name, "bw,buddy", 1000, 512, files);
  REQUIRE(sid >= 0);
  const auto data = content(task(), 0, 800);
  REQUIRE(sion_coll_fwrite(data.data(), 1, 800, sid) == 800);
  REQUIRE(sion_parclose_ompi(sid) == 1);
#pragma omp master
  {
    if (me == 0) std::remove(name.c_str());
    MPI_Barrier(MPI_COMM_WORLD);
  }
  meet();
  read_all(name, "br,buddy", 800);
  {
    sion_int64 chunk = 0;
    sion_int32 block = -1;
    int numfiles = 0;
    int global = -1;
    const MPI_Comm none = MPI_COMM_NULL;
    FILE* stream = nullptr;
    const int again = sion_paropen_ompi(name.c_str(), "br,buddy", &numfiles, MPI_COMM_WORLD, &none, &chunk,
                                        &block, &global, &stream, nullptr);
    REQUIRE(again >= 0 && stream);
    std::vector<std::byte> found(800);
    REQUIRE(std::fread(found.data(), 1, 300, stream) == 300);
    REQUIRE(sion_fread(found.data() + 300, 1, 500, again) == 500);
    REQUIRE(found == content(task(), 0, 800));
    REQUIRE(sion_feof(again) == 1);
    REQUIRE(sion_parclose_ompi(again) == 1);
  }
  meet();
#pragma omp master
  {
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
      for (const char* const end : {"", ".000001", "_BUDDY_00", "_BUDDY_00.000001"})
        std::remove((name + end).c_str());
    MPI_Barrier(MPI_COMM_WORLD);
  }
  meet();
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int process = static_cast<int>(getpid());
  MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const char* const parent = std::getenv("TMPDIR");
  const std::string name =
      std::string(parent ? parent : "/tmp") + "/sheaf_ompi_coll." + std::to_string(process);
  omp_set_dynamic(0);
#pragma omp parallel num_threads(threads)
  {
    const int files = std::min(2, size);
    check_sizes(name, "bw,collective", 40, 30, 100, 1);                             // buffered, many chunks
    check_sizes(name, "bw,posix,collective,collsize=2", 5000, 60, 1 << 20, files);  // several rounds
    if (size <= 4) {
      check_sizes(name, "bw,collective,collsize=3", 300'000, 3, 100'000,
                  1);  // written at once, larger than the chunk
      check_sizes(name, "bw,collective,collsize=100", 9000, 40, 1 << 20, files);
    }
    check_same_size(name);
    check_failures(name);
    check_groups(name);
    check_buddies(name);
  }
  if (me == 0) {
    std::remove(name.c_str());
    std::remove((name + ".000001").c_str());
  }
  MPI_Finalize();
  return 0;
}
