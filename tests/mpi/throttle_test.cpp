// Tests the open mode words iotasks=K between processes, and files=@TABLE. Returns 0 if all checks pass, and
// otherwise prints the failed check and aborts.
#include <mpi.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "comm/mpi/mpi_comm.hpp"
#include "multifile/writer/writer.hpp"
#include "sheaf.h"
#include "sion.h"
#include "support/counting_store.hpp"

namespace {

using namespace sheaf;
using namespace sheaf::multifile;

int me = 0;
int size = 1;
std::string directory;
constexpr size_t piece = 128 << 10;

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "throttle_test: rank %d of %d: %s (%s)\n", me, size, what.c_str(), sheaf_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Counters shared by all ranks.
class SharedWriterCounters {
 public:
  SharedWriterCounters() {
    const std::string name = directory + "/counters";
    const auto file = posix_store().open(name, Access::create);
    file->resize(sizeof(test::WritersAtWork));
    void* const at = mmap(nullptr, sizeof(test::WritersAtWork), PROT_READ | PROT_WRITE, MAP_SHARED,
                          file->descriptor(DescriptorKind::file).number, 0);
    require(at != MAP_FAILED, "mmap");
    at_ = static_cast<test::WritersAtWork*>(at);
  }
  ~SharedWriterCounters() { munmap(at_, sizeof(test::WritersAtWork)); }
  SharedWriterCounters(const SharedWriterCounters&) = delete;
  SharedWriterCounters& operator=(const SharedWriterCounters&) = delete;
  test::WritersAtWork& count() { return *at_; }

 private:
  test::WritersAtWork* at_;
};

std::vector<char> bytes_of(int task) { return std::vector<char>(piece, static_cast<char>('a' + task)); }

void check_bytes(const std::string& path, int pieces) {
  MPI_Barrier(MPI_COMM_WORLD);
  sion_int64 chunk = 0;
  sion_int32 block = 0;
  int files = 0;
  int rank = 0;
  MPI_Comm local = MPI_COMM_NULL;
  const int sid = sion_paropen_mpi(path.c_str(), "rb", &files, MPI_COMM_WORLD, &local, &chunk, &block, &rank,
                                   nullptr, nullptr);
  require(sid >= 0, "open to read");
  std::vector<char> found(piece);
  for (int i = 0; i < pieces; ++i) {
    require(sion_fread(found.data(), 1, piece, sid) == piece && found == bytes_of(me), "bytes");
  }
  require(sion_feof(sid) == 1, "end");
  require(sion_parclose_mpi(sid) == 1, "close after reading");
}

// Writes a multifile. Returns the maximum number of processes that were in a write at the same time.
int max_at_work(const std::string& mode) {
  SharedWriterCounters shared;
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) shared.count().most = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  test::CountingStore store(posix_store(), shared.count(), 32 << 10);
  const std::string path = directory + "/throttled";
  ParallelWriteRequest request;
  request.path = path;
  request.chunk_size = 6 * piece;
  Writer writer(store, mpi_comm(MPI_COMM_WORLD), std::move(request), parse_open_mode(mode));
  const auto bytes = bytes_of(me);
  for (int i = 0; i < 6; ++i) writer.stream().write(std::as_bytes(std::span(bytes)));
  writer.close();
  check_bytes(path, 6);
  return shared.count().most;
}

void so_many_processes_write_at_once() {
  for (const int allowed : {1, 2, 3}) {
    const int most = max_at_work("w,iotasks=" + std::to_string(allowed));
    require(most == std::min(allowed, size),
            "iotasks=" + std::to_string(allowed) + ", but " + std::to_string(most) + " wrote at once");
  }
  require(size < 5 || max_at_work("w") > 3, "without the word all write at once");
}

void nodes_do_not_wait_for_each_other() {
  setenv("SHEAF_TOPOLOGY", "node=2", 1);
  const int nodes = (size + 1) / 2;
  const int most = max_at_work("w,iotasks=1");
  require(most <= nodes && (nodes == 1 || most > 1),
          "one writer per node, but " + std::to_string(most) + " at once");
  unsetenv("SHEAF_TOPOLOGY");
}

int write_through_interface(const std::string& path, const char* mode) {
  sion_int64 chunk = piece;
  sion_int32 block = -1;
  int files = 1;
  int rank = me;
  MPI_Comm local = MPI_COMM_NULL;
  const int sid = sion_paropen_mpi(path.c_str(), mode, &files, MPI_COMM_WORLD, &local, &chunk, &block, &rank,
                                   nullptr, nullptr);
  require(sid >= 0, "open to write");
  const auto bytes = bytes_of(me);
  require(sion_fwrite(bytes.data(), 1, piece, sid) == piece, "sion_fwrite");
  require(sion_parclose_mpi(sid) == 1, "close after writing");
  return files;
}

void words_of_the_environment() {
  setenv("SHEAF_FLAGS", "iotasks=1,strict", 1);
  write_through_interface(directory + "/flags", "wb");
  unsetenv("SHEAF_FLAGS");
  check_bytes(directory + "/flags", 1);
}

void a_table_places_the_tasks() {
  const std::string table = directory + "/table";
  if (me == 0) {
    std::ofstream out(table);
    for (int t = 0; t < size; ++t) out << (size - 1 - t) / 2 << "  # task " << t << '\n';
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const std::string path = directory + "/placed";
  require(write_through_interface(path, ("wb,files=@" + table).c_str()) == (size + 1) / 2,
          "files of the table");
  check_bytes(path, 1);
  const auto last = static_cast<int32_t>((size - 1) / 2);
  require(std::filesystem::exists(format::physical_name(path, last)) &&
              !std::filesystem::exists(format::physical_name(path, last + 1)),
          "files on disk");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[] = "/tmp/sheaf_throttle_XXXXXX";
  if (me == 0) require(mkdtemp(name) != nullptr, "mkdtemp");
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  directory = name;
  so_many_processes_write_at_once();
  nodes_do_not_wait_for_each_other();
  words_of_the_environment();
  a_table_places_the_tasks();
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) std::filesystem::remove_all(directory);
  MPI_Finalize();
  return 0;
}
