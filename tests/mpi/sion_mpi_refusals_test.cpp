// Tests MPI opens that must fail. Every rank must get the same outcome, no rank may hang, and the disk must
// stay unchanged.
#include <sys/stat.h>

#include <climits>
#include <functional>

#include "mpi/sion_mpi_case.hpp"

namespace sheaf::test {
namespace {

// Opens a file with arguments that `change` makes invalid on one rank. All ranks must get -1, the old file
// must keep its bytes, and no other file may appear.
void refused(const char* what, const std::function<void(ParallelOpenCall&)>& change,
             const char* mode = "wb") {
  for (const int bad : {0, size - 1}) {
    fresh_directory();
    if (me == 0) {
      FILE* old = std::fopen(path("a").c_str(), "w");
      std::fputs("precious", old);
      std::fclose(old);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    FILE* fp = stderr;
    char* name = nullptr;
    ParallelOpenCall open;
    open.mode = mode;
    open.fileptr = &fp;
    open.newname = &name;
    if (me == bad) change(open);
    require(open() == -1, what);
    require(std::strlen(sheaf_last_error()) > 0, std::string("message: ") + what);
    require(fp == stderr && name == nullptr, std::string("results untouched: ") + what);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
      char bytes[20] = {};
      FILE* old = std::fopen(path("a").c_str(), "r");
      require(std::fread(bytes, 1, 20, old) == 8 && std::strcmp(bytes, "precious") == 0,
              std::string("kept: ") + what);
      std::fclose(old);
      for (const auto& entry : std::filesystem::directory_iterator(directory))
        require(entry.path().filename() == "a", std::string("no new file: ") + what);
    }
  }
}

void bad_arguments_on_one_rank() {
  static const char* no_name = nullptr;
  refused("no lComm", [](ParallelOpenCall& o) { o.local_given = nullptr; });
  refused("negative chunk", [](ParallelOpenCall& o) { o.chunk = -1; });
  refused("huge chunk", [](ParallelOpenCall& o) { o.chunk = LLONG_MAX; });
  refused("no direction", [](ParallelOpenCall& o) { o.mode = "posix"; });
  refused("no mode", [](ParallelOpenCall& o) { o.mode = no_name; });
  refused("impossible word", [](ParallelOpenCall& o) { o.mode = "wb,keyval=hash"; });
  refused("too many files", [](ParallelOpenCall& o) { o.files = size + 1; });
  if (size == 1) return;
  refused("another name", [](ParallelOpenCall& o) { o.file = path("b"); });
  refused("another mode", [](ParallelOpenCall& o) { o.mode = "wb,posix"; });
  refused("reading", [](ParallelOpenCall& o) { o.mode = "rb"; });
  refused("another number of files", [](ParallelOpenCall& o) { o.files = 2; });
  refused("another block size", [](ParallelOpenCall& o) { o.block = 128; });
}

void null_pointers_on_one_rank() {
  for (const int missing : {0, 1, 2, 3}) {
    const std::string file = path("new");
    int files = 1;
    sion_int64 chunk = 10;
    sion_int32 block = 64;
    MPI_Comm local = MPI_COMM_WORLD;
    const bool bad = me == size - 1;
    const int sid = sion_paropen_mpi(bad && missing == 0 ? nullptr : file.c_str(), "wb",
                                     bad && missing == 1 ? nullptr : &files, MPI_COMM_WORLD, &local,
                                     bad && missing == 2 ? nullptr : &chunk,
                                     bad && missing == 3 ? nullptr : &block, nullptr, nullptr, nullptr);
    require(sid == -1 && !exists(file), "NULL on one rank");
  }
}

// Ranks that pass a local communicator must not wait for a rank that passes none.
void a_local_communicator_on_some_ranks_only() {
  if (size == 1) return;
  fresh_directory();
  ParallelOpenCall open;
  open.files = -1;
  if (me != size - 1) open.local = MPI_COMM_WORLD;
  require(open() == -1 && !exists(open.file), "MPI_COMM_NULL on one rank only");
}

void bad_files() {
  fresh_directory();
  ParallelOpenCall missing;
  missing.mode = "rb";
  require(missing() == -1, "missing file");
  ParallelOpenCall below;
  below.file = path("no/such/directory");
  require(below() == -1, "missing directory");
  ParallelOpenCall place;
  place.file = directory;
  require(place() == -1, "a directory");
  // No process has the other end of the pipe open, so an ordinary open would wait.
  ParallelOpenCall pipe;
  pipe.file = path("pipe");
  if (me == 0) require(mkfifo(pipe.file.c_str(), 0666) == 0, "mkfifo");
  MPI_Barrier(MPI_COMM_WORLD);
  for (const char* mode : {"rb", "wb", "wb,collective,collsize=2", "wb,atomic", "append"}) {
    pipe.mode = mode;
    require(pipe() == -1, std::string("a pipe: ") + mode);
  }
  ParallelOpenCall set;
  set.files = size;
  write_all(set);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) std::filesystem::remove(name_of(set.file, size - 1));
  MPI_Barrier(MPI_COMM_WORLD);
  set.mode = "rb";
  require(set() == -1, "missing physical file");
  ParallelOpenCall other;
  if (size > 1) {
    other.global = MPI_COMM_SELF;
    if (me == 0) write_all(other);
    MPI_Barrier(MPI_COMM_WORLD);
    ParallelOpenCall wrong;
    wrong.mode = "rb";
    require(wrong() == -1, "another number of tasks");
  }
  ParallelOpenCall unclosed;
  unclosed.mode = "wb,journal=off";
  const int sid = unclosed();
  ParallelOpenCall early;
  early.mode = "rb";
  require(early() == -1, "unclosed");
  close(sid);
  require(sion_parclose_mpi(sid) == -1 && sion_parclose_mpi(-1) == -1, "closed twice");
}

}  // namespace
}  // namespace sheaf::test

int main(int argc, char** argv) {
  using namespace sheaf::test;
#define TEST(name) \
  { #name, name }
  return run_all(argc, argv,
                 {TEST(bad_arguments_on_one_rank), TEST(null_pointers_on_one_rank),
                  TEST(a_local_communicator_on_some_ranks_only), TEST(bad_files)});
}
