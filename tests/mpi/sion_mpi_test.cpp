// Tests writing and reading by the MPI calls of the interface under a real MPI.
#include "mpi/sion_mpi_case.hpp"

namespace sheaf::test {
namespace {

void any_number_of_files() {
  for (int files = 1; files <= size; ++files)
    for (const char* mode : {"wb", "wb,posix", "wb,buffer=0", "wb,durable"}) {
      char* name = nullptr;
      ParallelOpenCall open;
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
    ParallelOpenCall open;
    open.files = -groups % 2;  // 0 or -1: both mean "by groups"
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
  ParallelOpenCall open;
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
  int sid = sion_paropen_comms_mpi(name.data(), "wb", &files, MPI_COMM_WORLD, local, &chunk, &block, &rank,
                                   nullptr, nullptr);
  require(sid >= 0 && files == std::min(2, size), "paropen_comms");
  write_stream(sid, me);
  close(sid);
  read_back(file);
  files = size;
  sid = sion_paropen_multi_mpi(name.data(), "wb", &files, MPI_COMM_WORLD, &local, &chunk, &block, &rank,
                               nullptr, nullptr);
  require(sid >= 0 && files == size, "paropen_multi");
  write_stream(sid, me);
  close(sid);
  read_back(file);
  MPI_Comm_free(&local);
}

void streams_of_the_program() {
  FILE* fp = nullptr;
  ParallelOpenCall open;
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
  ParallelOpenCall again;
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
  ParallelOpenCall node;
  node.mode = "wb,files=node";
  write_all(node);
  require(node.files == (size + 1) / 2, "files=node");
  read_back(node.file);
  ParallelOpenCall fixed;
  fixed.mode = "wb,files=1";
  fixed.files = size;
  write_all(fixed);
  require(fixed.files == 1, "files=1 instead of the argument");
  read_back(fixed.file);
  ParallelOpenCall automatic;
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
  ParallelOpenCall open;
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
  ParallelOpenCall open;
  open.files = (size + 1) / 2;
  int sid = open();
  require(sion_parreinit_mpi(sid, 500 + me) == 1, "reinit");
  write_stream(sid, me);
  require(sion_parreinit_mpi(sid, 10) == 0, "reinit after a write");
  close(sid);
  require(sion_parreinit_mpi(sid, 10) == -1 && sion_parreinit_mpi(-1, 10) == -1, "reinit of nothing");
  ParallelOpenCall again;
  again.mode = "rb";
  sid = again();
  require(again.chunk == (500 + me + 63) / 64 * 64, "new chunk size");
  require(sion_parreinit_mpi(sid, 10) == 0, "reinit while reading");
  read_stream(sid, me);
  close(sid);
}

void communicators_that_the_program_frees() {
  ParallelOpenCall open;
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
  ParallelOpenCall open;
  open.file = path(me % 2 ? "odd" : "even");
  open.global = half;
  int sid = open();
  int rank = -1;
  MPI_Comm_rank(half, &rank);
  require(sid >= 0 && open.rank == rank, "open in half of the world");
  write_stream(sid, rank);
  close(sid);
  ParallelOpenCall again;
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
    ParallelOpenCall open;
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
  ParallelOpenCall open;
  write_all(open);
  auto* args = sion_file_check_par_args_init_mpi("rb", MPI_COMM_WORLD, 1, MPI_COMM_WORLD);
  require(args != nullptr, "arguments");
  require(sion_file_check_par_cb_mpi(open.file.data(), args) == 1, "there");
  std::string missing = path("missing");
  require(sion_file_check_par_cb_mpi(missing.data(), args) == 0, "not there");
  require(sion_file_check_par_args_free_mpi(args) == 1 && sion_file_check_par_args_free_mpi(nullptr) == 1,
          "free");
  require(sion_file_check_par_args_init_mpi(nullptr, MPI_COMM_WORLD, 1, MPI_COMM_WORLD) == nullptr,
          "no mode");
}

}  // namespace
}  // namespace sheaf::test

int main(int argc, char** argv) {
  using namespace sheaf::test;
#define TEST(name) \
  { #name, name }
  return run_all(
      argc, argv,
      {TEST(any_number_of_files), TEST(groups_in_reversed_order), TEST(no_local_communicator_is_one_group),
       TEST(the_deprecated_forms), TEST(streams_of_the_program), TEST(words_that_choose_the_files),
       TEST(flags_of_the_environment_count_on_rank_0), TEST(new_chunk_sizes),
       TEST(communicators_that_the_program_frees), TEST(part_of_the_world), TEST(transactions),
       TEST(file_check)});
}
