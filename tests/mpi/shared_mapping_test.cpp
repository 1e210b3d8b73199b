// Large writes of several processes to a shared file on tmpfs: one in pwrite, others beside it through a mapping
// (storage/file_memory.hpp). Returns 0 if all holds, else says what does not and aborts.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "comm/mpi_comm.hpp"
#include "sharedfile/shared_file.hpp"
#include "storage/file_memory.hpp"

namespace {

using namespace sheaf;
using layout::TypeMap;

int me = 0;
int size = 1;
constexpr int64_t bytes = 512 << 10;  // of a task

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "shared_mapping_test: rank %d of %d: %s\n", me, size, what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

std::byte content(int task, int64_t at) { return static_cast<std::byte>((task + 1) * 31 + at * 7 + at / 251); }

// What this process has given to write(2) and its kin.
int64_t bytes_by_calls() {
  std::ifstream io("/proc/self/io");
  std::string word;
  int64_t value = 0;
  while (io >> word >> value)
    if (word == "wchar:") return value;
  return 0;
}

constexpr int64_t front = 12'345;  // where the tasks' bytes begin: no border of anything

// Everything is in its place, and nothing else has changed.
void check_file(const std::string& path, int64_t piece) {
  std::vector<std::byte> all(static_cast<size_t>(front + bytes * size + 1));
  const auto plain = posix_store().open(path, Access::read);
  require(plain->read_at(all, 0) == all.size() - 1, "size of the file");
  for (int64_t i = 0; i < front; ++i) require(all[static_cast<size_t>(i)] == std::byte{}, "bytes in front");
  for (int64_t i = 0; i < bytes * size; ++i) {
    const int64_t group = i / piece;
    const std::byte wanted = content(static_cast<int>(group % size), group / size * piece + i % piece);
    if (all[static_cast<size_t>(front + i)] != wanted)
      require(false, "byte " + std::to_string(i) + " of pieces of " + std::to_string(piece));
  }
}

// Tasks write pieces of `piece` bytes in turn. `taken`: somebody has the turn all the time, so that every large write goes
// beside it.
void write_all(const std::string& path, int64_t piece, bool taken, bool can_map) {
  auto comm = mpi_comm(MPI_COMM_WORLD);
  Comm& tasks = *comm;
  const auto file = SharedFile::open(std::move(comm), posix_store(), path, {.read = true, .write = true, .create = true});
  View view;
  view.displacement = front + piece * me;
  view.filetype = TypeMap::bytes(piece).resized(0, piece * size);
  std::vector<std::byte> mine(bytes);
  for (int64_t i = 0; i < bytes; ++i) mine[static_cast<size_t>(i)] = content(me, i);
  SharedWord* const words = tasks.shared_words();
  require(size == 1 || words, "tasks of a node share words");
  if (taken && words && me == 0) words[0].store(1);
  MPI_Barrier(MPI_COMM_WORLD);
  const int64_t before = bytes_by_calls();
  file->write_at_all(file->lane(), view, 0, {mine.data(), TypeMap::bytes(1), bytes});
  const int64_t by_calls = bytes_by_calls() - before;
  MPI_Barrier(MPI_COMM_WORLD);
  if (taken && words && me == 0) words[0].store(0);
  if (taken && can_map && size > 1) require(by_calls < bytes / 2, std::to_string(by_calls) + " bytes were not mapped");

  if (me == 0) check_file(path, piece);
  std::vector<std::byte> again(bytes);
  require(file->read_at_all(file->lane(), view, 0, {again.data(), TypeMap::bytes(1), bytes}) == bytes && again == mine, "read again");
  file->close();
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) ::unlink(path.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int id = static_cast<int>(::getpid());
  MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (::access("/dev/shm", W_OK) == 0) {
    const std::string path = "/dev/shm/sheaf-shared-mapping-" + std::to_string(id);
    const std::string own = path + "." + std::to_string(me);
    const auto file = posix_store().open(own, Access::create);
    const std::vector<std::byte> page(4096);
    const std::span<const std::byte> part(page);
    const bool can_map = file->writers_at_once() == 2 && write_mapped(file->descriptor(), {&part, 1}, page.size(), 0);
    ::unlink(own.c_str());
    for (const int64_t piece : {int64_t{4} << 10, int64_t{128} << 10, bytes})  // exchanged, and written by those who have them
      for (const bool taken : {true, false}) write_all(path, piece, taken, can_map);
  }
  MPI_Finalize();
  return 0;
}
