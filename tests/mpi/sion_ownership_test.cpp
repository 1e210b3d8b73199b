// Tests two writers of one name under a real MPI. Returns 0 if all checks pass, and otherwise prints the
// failed check and aborts.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "sheaf.h"
#include "sion.h"

namespace {

int me = 0;
int size = 1;
std::string file;
const char* doing = "";

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "sion_ownership_test: rank %d of %d, %s: %s (%s)\n", me, size, doing, what.c_str(),
               sheaf_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

bool last_error_has(const char* text) {
  return std::string(sheaf_last_error()).find(text) != std::string::npos;
}

int open(const std::string& mode, MPI_Comm comm, int nfiles = 1) {
  MPI_Comm local = comm;
  sion_int64 chunk = 1000;
  sion_int32 block = 512;
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return sion_paropen_mpi(file.c_str(), mode.c_str(), &nfiles, comm, &local, &chunk, &block, &rank, nullptr,
                          nullptr);
}

int open_mapped(MPI_Comm comm) {
  int nfiles = 1, tasks = 1, number = 0, global = 0, local = 0, block = 512;
  sion_int64 chunk = 1000;
  int *ranks = &global, *numbers = &number, *locals = &local;
  sion_int64* chunks = &chunk;
  return sion_paropen_mapped_mpi(const_cast<char*>(file.c_str()), "wb", &nfiles, comm, &tasks, &ranks,
                                 &chunks, &numbers, &locals, &block, nullptr);
}

void write(int sid, char letter, size_t bytes) {
  const std::string text(bytes, letter);
  require(sion_fwrite(text.data(), 1, bytes, sid) == bytes, "fwrite");
}

void require_stream(int task, const std::string& expected) {
  const int sid = sion_open_rank(const_cast<char*>(file.c_str()), "rb", nullptr, nullptr, &task, nullptr);
  require(sid >= 0, "open to read");
  std::string text(1 << 20, '\0');
  text.resize(sion_fread(text.data(), 1, text.size(), sid));
  require(text == expected,
          "task " + std::to_string(task) + " has " + std::to_string(text.size()) + " bytes");
  sion_close(sid);
}

// Each rank is a job of its own.
void test_two_jobs() {
  doing = "two jobs";
  int sid = -1;
  if (me == 0) {
    sid = open("wb", MPI_COMM_SELF);
    require(sid >= 0, "open");
    write(sid, 'a', 3000);
    require(sion_flush(sid) == 1, "flush");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 1) {
    for (const char* mode : {"wb", "append", "wb,atomic"}) {
      require(open(mode, MPI_COMM_SELF) == -1, std::string(mode) + " is refused");
      require(last_error_has("is being written by process"), mode);
    }
    require(open_mapped(MPI_COMM_SELF) == -1 && last_error_has("is being written by"), "mapped");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    write(sid, 'b', 3000);
    require(sion_parclose_mpi(sid) == 1, "close");
    require_stream(0, std::string(3000, 'a') + std::string(3000, 'b'));
    sid = open("append", MPI_COMM_SELF);
    write(sid, 'c', 3000);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 1) {
    require(open("append", MPI_COMM_SELF) == -1, "append beside an append is refused");
    const int thief = open("wb,steal", MPI_COMM_SELF);
    require(thief >= 0, "steal");
    write(thief, 'd', 2000);
    require(sion_parclose_mpi(thief) == 1, "close of the thief");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    require(sion_flush(sid) != 1, "flush of what was stolen");
    require(sion_parclose_mpi(sid) != 1, "close of what was stolen");
    require_stream(0, std::string(2000, 'd'));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void test_a_forgotten_close(int nfiles) {
  doing = "a forgotten close";
  const int first = open("wb", MPI_COMM_WORLD, nfiles);
  require(first >= 0, "open");
  write(first, 'a', 3000);
  const int second = open("wb", MPI_COMM_WORLD, nfiles);
  require(second >= 0, "second open");
  write(second, 'b', 2000);
  write(first, 'a', 3000);
  require(sion_parclose_mpi(first) != 1, "the first close fails on every task");
  write(second, 'b', 2000);
  require(sion_parclose_mpi(second) == 1, "the second close");
  require_stream(me, std::string(4000, 'b'));
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  sheaf_print_errors(0);
  char name[64] = "";
  if (me == 0) std::snprintf(name, sizeof name, "/tmp/sheaf_ownership_mpi.%d", static_cast<int>(getpid()));
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (me == 0) std::filesystem::create_directory(name);
  MPI_Barrier(MPI_COMM_WORLD);
  file = std::string(name) + "/a";
  if (size > 1) test_two_jobs();
  test_a_forgotten_close(1);
  test_a_forgotten_close(size);
  if (me == 0) {
    require(!std::filesystem::exists(file + ".lease"), "no lease is left");
    std::filesystem::remove_all(name);
  }
  MPI_Finalize();
  return 0;
}
