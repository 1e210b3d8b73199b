// Tests collective writing and reading through the C interface under MPI. Returns 0 if all checks pass on all
// ranks.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sheaf.h"
#include "sion.h"

namespace {

int rank = 0;
int size = 1;

void require(bool holds, const char* what, int line) {
  if (holds) return;
  std::fprintf(stderr, "sion_coll_mpi_test: rank %d, line %d: %s\n", rank, line, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define REQUIRE(condition) require(condition, #condition, __LINE__)

std::vector<unsigned char> content(int task, size_t from, size_t count) {
  std::vector<unsigned char> bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<unsigned char>(17 * task + 5 * (from + i) + (from + i) / 251);
  return bytes;
}

int open(const std::string& name, const char* mode, sion_int64 chunk, sion_int32 block,
         FILE** stream = nullptr) {
  int files = 1;
  const MPI_Comm none = MPI_COMM_NULL;
  int global = -1;
  return sion_paropen_mpi(name.c_str(), mode, &files, MPI_COMM_WORLD, &none, &chunk, &block, &global, stream,
                          nullptr);
}

void check_reading(const std::string& name, size_t bytes, const char* environment) {
  if (environment) setenv("SION_COLLSIZE", environment, 1);
  const int sid = open(name, "br", 0, -1);
  REQUIRE(sid >= 0);
  // Every task must make the same number of calls, even if it has no more data.
  auto most = static_cast<unsigned long>(bytes);
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UNSIGNED_LONG, MPI_MAX, MPI_COMM_WORLD);
  std::vector<unsigned char> all;
  for (size_t piece = 1, reached = 0; reached < most; reached += piece, piece = 3 * piece + 1) {
    std::vector<unsigned char> part(std::min(piece, bytes - all.size()));
    REQUIRE(sion_coll_fread(part.data(), 1, part.size(), sid) == part.size());
    all.insert(all.end(), part.begin(), part.end());
  }
  REQUIRE(all == content(rank, 0, bytes));
  unsigned char more = 0;
  REQUIRE(sion_coll_fread_mpi(&more, 1, 1, sid) == 0);
  REQUIRE(sion_feof(sid) == 1);
  REQUIRE(sion_parclose_mpi(sid) == 1);
  unsetenv("SION_COLLSIZE");
}

void check_sizes(const std::string& name, const char* mode, size_t piece, int calls, sion_int64 chunk) {
  const int sid = open(name, mode, chunk, 4096);
  REQUIRE(sid >= 0);
  size_t done = 0;
  for (int call = 0; call < calls; ++call) {
    const size_t n = rank == call % size && call % 3 == 2 ? 0 : piece;
    const auto data = content(rank, done, n);
    REQUIRE(sion_coll_fwrite(data.data(), 1, n, sid) == n);
    done += n;
    if (call % 5 == 4 && rank % 2 == 1) {
      const auto own = content(rank, done, 100);
      REQUIRE(sion_fwrite(own.data(), 1, 100, sid) == 100);
      done += 100;
    }
  }
  REQUIRE(sion_get_bytes_written(sid) == static_cast<sion_int64>(done));
  REQUIRE(sion_parclose_mpi(sid) == 1);
  for (const char* const environment : {static_cast<const char*>(nullptr), "-1", "1", "2", "1000"})
    check_reading(name, done, environment);
}

void check_stream_between_calls(const std::string& name) {
  FILE* stream = nullptr;
  const int sid = open(name, "bw,collective", 1000, 512, &stream);
  REQUIRE(sid >= 0 && stream);
  auto data = content(rank, 0, 300);
  REQUIRE(sion_coll_fwrite(data.data(), 3, 100, sid) == 100);
  REQUIRE(sion_ensure_free_space(sid, 200) == 1);
  data = content(rank, 300, 200);
  REQUIRE(std::fwrite(data.data(), 1, 200, stream) == 200);
  data = content(rank, 500, 400);
  REQUIRE(sion_coll_fwrite_mpi(data.data(), 1, 400, sid) == 400);
  REQUIRE(sion_parclose_mpi(sid) == 1);
  check_reading(name, 900, "2");
}

// Each group of tasks stores a buddy copy of the file of another group. Checks the file information that the
// tasks get, and that readers find all data if a file is lost.
void check_buddies(const std::string& name) {
  const int group = rank % 2;
  MPI_Comm local;
  MPI_Comm_split(MPI_COMM_WORLD, group, rank, &local);
  int files = -1, global = -1;
  sion_int64 chunk = 1000;
  sion_int32 block = 512;
  int sid = sion_paropen_mpi(name.c_str(), "bw,buddy", &files, MPI_COMM_WORLD, &local, &chunk, &block,
                             &global, nullptr, nullptr);
  REQUIRE(sid >= 0);
  const auto data = content(rank, 0, 800);
  REQUIRE(sion_coll_fwrite(data.data(), 1, 800, sid) == 800);
  sion_io_stat_t* info = sion_get_io_info(sid);
  REQUIRE(info && info->nfiles == 2);
  REQUIRE(info->sizes[0] == 800 && info->roles[0] == SION_ROLE_WRITER);
  REQUIRE(std::string(info->names[0]) == name + (group == 1 ? ".000001" : ""));
  REQUIRE(std::string(info->names[1]).find("_BUDDY_00") != std::string::npos);
  REQUIRE(sion_free_io_info(info) == 1);
  info = sion_get_io_info_by_spec(sid, SION_ROLE_SENDER, 0);
  REQUIRE(info && info->nfiles == 1);
  sion_free_io_info(info);
  REQUIRE(sion_parclose_mpi(sid) == 1);
  if (rank == 0) std::remove(name.c_str());
  MPI_Barrier(MPI_COMM_WORLD);
  sid = sion_paropen_mpi(name.c_str(), "br,buddy", &files, MPI_COMM_WORLD, &local, &chunk, &block, &global,
                         nullptr, nullptr);
  REQUIRE(sid >= 0);
  std::vector<unsigned char> found(800);
  REQUIRE(sion_coll_fread(found.data(), 1, 800, sid) == 800);
  REQUIRE(found == data);
  info = sion_get_io_info_by_spec(sid, SION_ROLE_READER, 0);
  REQUIRE(info && info->nfiles == 1 && info->sizes[0] == 800);
  sion_free_io_info(info);
  REQUIRE(sion_parclose_mpi(sid) == 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    for (const char* const end : {"", ".000001", "_BUDDY_00", "_BUDDY_00.000001"})
      std::remove((name + end).c_str());
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_free(&local);
  sheaf_print_errors(0);
  REQUIRE(sion_get_io_info(4711) == nullptr);
  char byte = 0;
  REQUIRE(sion_coll_fwrite_mpi(&byte, 1, 1, -1) == static_cast<size_t>(-1));
  REQUIRE(sion_coll_fread_mpi(&byte, 1, 1, -1) == static_cast<size_t>(-1));
  sheaf_print_errors(1);
}

// The library renumbers tasks so that tasks on suitable hosts become collectors. In this test all tasks are
// on one suitable host.
void check_renumbering(const std::string& name) {
  if (size % 2 != 0) return;
  setenv("SION_COLLSIZE", "2", 1);
  const std::string host = [] {
    char text[256] = {};
    gethostname(text, sizeof text - 1);
    return std::string(text);
  }();
  for (const std::string& expression : {std::string(), "^" + host + "$", std::string("elsewhere")}) {
    setenv("SION_MSA_COLLECTOR_HOSTNAME_REGEX", expression.c_str(), 1);
    const auto data = content(rank, 0, 90);
    const int sid = open(name, "bw,collmsa", 100, 64);
    REQUIRE((sid >= 0) == (expression != "elsewhere"));
    if (sid < 0) continue;
    REQUIRE(sion_coll_fwrite(data.data(), 1, 90, sid) == 90);
    REQUIRE(sion_parclose_mpi(sid) == 1);
    const int back = open(name, "br,collmsa", 0, -1);
    REQUIRE(back >= 0);
    std::vector<unsigned char> found(90);
    REQUIRE(sion_coll_fread(found.data(), 1, 90, back) == 90);
    REQUIRE(found == data);
    REQUIRE(sion_parclose_mpi(back) == 1);
  }
  unsetenv("SION_MSA_COLLECTOR_HOSTNAME_REGEX");
  unsetenv("SION_COLLSIZE");
}

void check_failures(const std::string& name) {
  REQUIRE(sion_coll_fwrite("x", 1, 1, 12345) == static_cast<size_t>(-1));
  REQUIRE(sion_coll_fread(nullptr, 1, 1, -7) == static_cast<size_t>(-1));
  // The last task makes a large request with bad arguments. No task may write, and no task may hang.
  const int sid = open(name, "bw,collective", 1 << 20, 4096);
  REQUIRE(sid >= 0);
  const auto data = content(rank, 0, 1 << 20);
  const bool bad = rank == size - 1;
  REQUIRE(sion_coll_fwrite(bad ? nullptr : data.data(), 1, data.size(), sid) == 0);
  REQUIRE(sion_coll_fwrite(data.data(), 1, data.size(), sid) == data.size());
  REQUIRE(sion_parclose_mpi(sid) == 1);
  check_reading(name, data.size(), "-1");
  // With chunks of size 0, collective calls must not crash.
  const int none = open(name, "bw,collective,collsize=2", 0, 4096);
  REQUIRE(none >= 0);
  REQUIRE(sion_coll_fwrite(data.data(), 1, 0, none) == 0);
  REQUIRE(sion_parclose_mpi(none) == 1);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int process = static_cast<int>(getpid());
  MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const char* const parent = std::getenv("TMPDIR");
  const std::string name = std::string(parent ? parent : "/tmp") + "/sheaf_coll." + std::to_string(process);
  for (const char* const mode :
       {"bw", "bw,collective", "bw,posix,collective,collsize=2", "bw,collective,collsize=100"}) {
    check_sizes(name, mode, 40, 120, 100);         // buffered, many chunks
    check_sizes(name, mode, 5000, 120, 1 << 20);   // several rounds
    check_sizes(name, mode, 300'000, 4, 1 << 20);  // written at once
  }
  check_stream_between_calls(name);
  check_buddies(name);
  sheaf_print_errors(0);
  check_renumbering(name);
  check_failures(name);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::remove(name.c_str());
  MPI_Finalize();
  return 0;
}
