// The MPI calls of the interface under a real MPI. Returns 0 if all holds, else says what does not and aborts.
#include <mpi.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sheaf.h"
#include "sion.h"
#include "support/multifile_model.hpp"

namespace {

using sheaf::test::content;

int me = 0;
int size = 1;
std::string directory;
const char* doing = "";

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "sion_mpi_test: rank %d of %d, %s: %s (%s)\n", me, size, doing, what.c_str(), sheaf_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

std::string path(const char* name) { return directory + "/" + name; }

// The arguments of an open call, with what most tests pass.
struct Open {
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

  Open() = default;
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  int operator()() {
    return sion_paropen_mpi(file.c_str(), mode, &files, global, local_given, &chunk, &block, &rank, fileptr, newname);
  }
};

size_t length_of(int rank) { return static_cast<size_t>(150 + 37 * rank); }

void write_stream(int sid, int task) {
  const auto data = content(task, 0, static_cast<int64_t>(length_of(task)));
  require(sion_fwrite(data.data(), 1, 60, sid) == 60, "fwrite");
  require(sion_fwrite(data.data() + 60, 1, data.size() - 60, sid) == data.size() - 60, "fwrite of the rest");
}

void read_stream(int sid, int task) {
  const auto data = content(task, 0, static_cast<int64_t>(length_of(task)));
  std::vector<std::byte> found(data.size() + 10);
  require(sion_fread(found.data(), 1, found.size(), sid) == data.size(), "length read");
  found.resize(data.size());
  require(found == data, "bytes read");
  require(sion_feof(sid) == 1, "end");
}

void close(int sid) { require(sion_parclose_mpi(sid) == 1, "parclose"); }

// Reads the multifile in parallel; returns the number of files.
int read_back(const std::string& file, const char* mode = "rb") {
  Open open;
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

void write_all(Open& open) {
  const int sid = open();
  require(sid >= 0, "open for writing");
  require(open.rank == me, "global rank");
  write_stream(sid, me);
  close(sid);
}

bool exists(const std::string& file) { return std::filesystem::exists(file); }

std::string name_of(const std::string& base, int number) {
  char suffix[16] = "";
  if (number > 0) std::snprintf(suffix, sizeof suffix, ".%06d", number);
  return base + suffix;
}

void fresh_directory() {
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0)
    for (const auto& entry : std::filesystem::directory_iterator(directory)) std::filesystem::remove_all(entry);
  MPI_Barrier(MPI_COMM_WORLD);
}

// --- writing and reading ----------------------------------------------------------------------------------------------

void any_number_of_files() {
  for (int files = 1; files <= size; ++files)
    for (const char* mode : {"wb", "wb,posix", "wb,buffer=0", "wb,durable"}) {
      char* name = nullptr;
      Open open;
      open.files = files;
      open.mode = mode;
      open.newname = &name;
      write_all(open);
      const int mine = std::min(me / (size / files), files - 1);
      require(open.files == files && open.block == 64 && open.chunk == 100, "arguments are kept");
      require(name && name == name_of(open.file, mine), "newfname");
      std::free(name);
      require(read_back(open.file, files % 2 ? "rb" : "rb,posix") == files, "number of files");
    }
}

void groups_in_reversed_order() {
  for (const int groups : {1, 2, 3}) {
    Open open;
    open.files = -groups % 2;  // 0 or -1: both mean "as the groups say"
    MPI_Comm_split(MPI_COMM_WORLD, me % groups, -me, &open.local);
    write_all(open);
    MPI_Comm_free(&open.local);
    require(open.files == std::min(groups, size), "one file per group");
    require(read_back(open.file) == open.files, "number of files");
    if (me == 0) {  // serially
      int n = 0;
      const int sid = sion_open(open.file.data(), "rb", &n, nullptr, nullptr, nullptr, nullptr, nullptr);
      require(sid >= 0 && n == size, "serial open");
      for (int t = 0; t < n; ++t) {
        require(sion_seek(sid, t, 0, 0) == 1, "seek");
        read_stream(sid, t);
      }
      require(sion_close(sid) == 1, "serial close");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void no_local_communicator_is_one_group() {
  Open open;
  open.files = -1;
  write_all(open);
  require(open.files == 1 && read_back(open.file) == 1, "one file");
}

void the_deprecated_forms() {
  const std::string file = path("a");
  int files = 1;
  sion_int64 chunk = 100;
  sion_int32 block = 64;
  int rank = -1;
  MPI_Comm local;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &local);
  std::string name = file;
  int sid = sion_paropen_comms_mpi(name.data(), "wb", &files, MPI_COMM_WORLD, local, &chunk, &block, &rank, nullptr, nullptr);
  require(sid >= 0 && files == std::min(2, size), "paropen_comms");
  write_stream(sid, me);
  close(sid);
  read_back(file);
  files = size;
  sid = sion_paropen_multi_mpi(name.data(), "wb", &files, MPI_COMM_WORLD, &local, &chunk, &block, &rank, nullptr, nullptr);
  require(sid >= 0 && files == size, "paropen_multi");
  write_stream(sid, me);
  close(sid);
  read_back(file);
  MPI_Comm_free(&local);
}

void streams_of_the_program() {
  FILE* fp = nullptr;
  Open open;
  open.fileptr = &fp;
  open.chunk = 1000;
  int sid = open();
  require(sid >= 0 && fp, "open with a stream");
  const auto data = content(me, 0, static_cast<int64_t>(length_of(me)));
  require(sion_ensure_free_space(sid, static_cast<sion_int64>(data.size())) == 1, "space");
  require(std::fwrite(data.data(), 1, 100, fp) == 100, "fwrite to the stream");
  require(sion_fwrite(data.data() + 100, 1, data.size() - 100, sid) == data.size() - 100, "sion_fwrite");
  require(sion_seek(sid, me, SION_CURRENT_BLK, SION_CURRENT_POS) == 1, "seek to the own task");
  require(sion_seek(sid, size, SION_CURRENT_BLK, SION_CURRENT_POS) == 0, "no other task");
  require(sion_is_serial_opened(sid) == 0, "parallel handle");
  require(sion_close(sid) == 0, "sion_close refuses a parallel handle");
  close(sid);
  Open again;
  again.mode = "rb";
  again.fileptr = &fp;
  sid = again();
  std::vector<std::byte> found(data.size());
  require(std::fread(found.data(), 1, 50, fp) == 50, "fread");
  require(sion_fread(found.data() + 50, 1, found.size() - 50, sid) == found.size() - 50, "sion_fread");
  require(found == data, "bytes");
  close(sid);
}

void words_that_choose_the_files() {
  setenv("SHEAF_TOPOLOGY", "node=2", 1);
  Open node;
  node.mode = "wb,files=node";
  write_all(node);
  require(node.files == (size + 1) / 2, "files=node");
  read_back(node.file);
  Open fixed;
  fixed.mode = "wb,files=1";
  fixed.files = size;
  write_all(fixed);
  require(fixed.files == 1, "files=1 instead of the argument");
  read_back(fixed.file);
  Open automatic;
  automatic.mode = "wb,files=auto";
  write_all(automatic);
  require(automatic.files >= 1 && automatic.files <= size, "files=auto");
  read_back(automatic.file);
  unsetenv("SHEAF_TOPOLOGY");
}

void flags_of_the_environment_count_on_rank_0() {
  if (me == 0) setenv("SHEAF_FLAGS", "files=1,posix", 1);
  if (me != 0) setenv("SHEAF_FLAGS", "files=99", 1);
  FILE* fp = stderr;
  Open open;
  open.files = size;
  open.fileptr = &fp;
  const int sid = open();
  require(sid >= 0 && open.files == 1 && fp == nullptr && sion_get_fd(sid) >= 0, "SHEAF_FLAGS");
  write_stream(sid, me);
  close(sid);
  unsetenv("SHEAF_FLAGS");
  read_back(open.file);
}

void new_chunk_sizes() {
  Open open;
  open.files = (size + 1) / 2;
  int sid = open();
  require(sion_parreinit_mpi(sid, 500 + me) == 1, "reinit");
  write_stream(sid, me);
  require(sion_parreinit_mpi(sid, 10) == 0, "reinit after a write");
  close(sid);
  require(sion_parreinit_mpi(sid, 10) == -1, "reinit of nothing");
  Open again;
  again.mode = "rb";
  sid = again();
  require(again.chunk == (500 + me + 63) / 64 * 64, "new chunk size");
  require(sion_parreinit_mpi(sid, 10) == 0, "reinit while reading");
  read_stream(sid, me);
  close(sid);
}

void communicators_that_the_program_frees() {
  Open open;
  open.files = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &open.global);
  MPI_Comm_split(MPI_COMM_WORLD, me / 2, 0, &open.local);
  const int sid = open();
  MPI_Comm_free(&open.global);
  MPI_Comm_free(&open.local);
  write_stream(sid, me);
  close(sid);
  read_back(open.file);
}

void part_of_the_world() {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
  Open open;
  open.file = path(me % 2 ? "odd" : "even");
  open.global = half;
  int sid = open();
  int rank = -1;
  MPI_Comm_rank(half, &rank);
  require(sid >= 0 && open.rank == rank, "open in half of the world");
  write_stream(sid, rank);
  close(sid);
  Open again;
  again.file = open.file;
  again.mode = "rb";
  again.global = half;
  sid = again();
  read_stream(sid, rank);
  close(sid);
  MPI_Comm_free(&half);
}

void transactions() {
  for (const char* step : {"1", "2", "100", "x"}) {
    setenv("SION_SERBLOCKSIZE", step, 1);
    Open open;
    open.files = size;
    const int sid = open();
    require(sion_startof_transaction_mpi(sid) == 1, "start");
    write_stream(sid, me);
    require(sion_endof_transaction_mpi(sid) == 1, "end");
    close(sid);
    read_back(open.file);
  }
  unsetenv("SION_SERBLOCKSIZE");
  require(sion_startof_transaction_mpi(-1) == 0 && sion_endof_transaction_mpi(-1) == 0, "invalid handle");
}

void file_check() {
  Open open;
  write_all(open);
  auto* args = sion_file_check_par_args_init_mpi("rb", MPI_COMM_WORLD, 1, MPI_COMM_WORLD);
  require(args != nullptr, "arguments");
  require(sion_file_check_par_cb_mpi(open.file.data(), args) == 1, "there");
  std::string missing = path("missing");
  require(sion_file_check_par_cb_mpi(missing.data(), args) == 0, "not there");
  require(sion_file_check_par_args_free_mpi(args) == 1 && sion_file_check_par_args_free_mpi(nullptr) == 1, "free");
  require(sion_file_check_par_args_init_mpi(nullptr, MPI_COMM_WORLD, 1, MPI_COMM_WORLD) == nullptr, "no mode");
}

// --- bad input --------------------------------------------------------------------------------------------------------

// `change` spoils the call on one rank: -1 on all, the old file keeps its bytes, no other file appears.
void refused(const char* what, const std::function<void(Open&)>& change, const char* mode = "wb") {
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
    Open open;
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
      require(std::fread(bytes, 1, 20, old) == 8 && std::strcmp(bytes, "precious") == 0, std::string("kept: ") + what);
      std::fclose(old);
      for (const auto& entry : std::filesystem::directory_iterator(directory))
        require(entry.path().filename() == "a", std::string("no new file: ") + what);
    }
  }
}

void bad_arguments_on_one_rank() {
  static const char* no_name = nullptr;
  refused("no lComm", [](Open& o) { o.local_given = nullptr; });
  refused("negative chunk", [](Open& o) { o.chunk = -1; });
  refused("huge chunk", [](Open& o) { o.chunk = LLONG_MAX; });
  refused("no direction", [](Open& o) { o.mode = "posix"; });
  refused("no mode", [](Open& o) { o.mode = no_name; });
  refused("impossible word", [](Open& o) { o.mode = "wb,keyval=hash"; });
  refused("too many files", [](Open& o) { o.files = size + 1; });
  if (size == 1) return;
  refused("another name", [](Open& o) { o.file = path("b"); });
  refused("another mode", [](Open& o) { o.mode = "wb,posix"; });
  refused("reading", [](Open& o) { o.mode = "rb"; });
  refused("another number of files", [](Open& o) { o.files = 2; });
  refused("another block size", [](Open& o) { o.block = 128; });
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
                                     bad && missing == 2 ? nullptr : &chunk, bad && missing == 3 ? nullptr : &block,
                                     nullptr, nullptr, nullptr);
    require(sid == -1 && !exists(file), "NULL on one rank");
  }
}

// The ranks that name a group must not wait for the one that does not.
void a_local_communicator_on_some_ranks_only() {
  if (size == 1) return;
  fresh_directory();
  Open open;
  open.files = -1;
  if (me != size - 1) open.local = MPI_COMM_WORLD;
  require(open() == -1 && !exists(open.file), "MPI_COMM_NULL on one rank only");
}

void bad_files() {
  fresh_directory();
  Open missing;
  missing.mode = "rb";
  require(missing() == -1, "missing file");
  Open below;
  below.file = path("no/such/directory");
  require(below() == -1, "missing directory");
  Open place;
  place.file = directory;
  require(place() == -1, "a directory");
  Open set;
  set.files = size;
  write_all(set);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) std::filesystem::remove(name_of(set.file, size - 1));
  MPI_Barrier(MPI_COMM_WORLD);
  set.mode = "rb";
  require(set() == -1, "missing physical file");
  Open other;
  if (size > 1) {
    other.global = MPI_COMM_SELF;
    if (me == 0) write_all(other);
    MPI_Barrier(MPI_COMM_WORLD);
    Open wrong;
    wrong.mode = "rb";
    require(wrong() == -1, "another number of tasks");
  }
  Open unclosed;
  const int sid = unclosed();
  Open early;
  early.mode = "rb";
  require(early() == -1, "unclosed");
  close(sid);
  require(sion_parclose_mpi(sid) == -1 && sion_parclose_mpi(-1) == -1, "closed twice");
}

void run(const char* name, void (*test)()) {
  doing = name;
  fresh_directory();
  test();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[200] = "/tmp/sheaf_mpi_XXXXXX";
  if (me == 0 && !mkdtemp(name)) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  directory = name;
  sheaf_print_errors(0);
#define RUN(test) run(#test, test)
  RUN(any_number_of_files);
  RUN(groups_in_reversed_order);
  RUN(no_local_communicator_is_one_group);
  RUN(the_deprecated_forms);
  RUN(streams_of_the_program);
  RUN(words_that_choose_the_files);
  RUN(flags_of_the_environment_count_on_rank_0);
  RUN(new_chunk_sizes);
  RUN(communicators_that_the_program_frees);
  RUN(part_of_the_world);
  RUN(transactions);
  RUN(file_check);
  RUN(bad_arguments_on_one_rank);
  RUN(null_pointers_on_one_rank);
  RUN(a_local_communicator_on_some_ranks_only);
  RUN(bad_files);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) std::filesystem::remove_all(directory);
  MPI_Finalize();
  return 0;
}
