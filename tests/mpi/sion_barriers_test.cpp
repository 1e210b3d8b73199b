// Opens and closes multifiles under conditions of real programs: many at once, on communicators that the
// program frees, and while its messages are in flight. Also exchanges more data between tasks than their
// shared memory holds.
#include <chrono>
#include <fstream>

#include "mpi/sion_mpi_case.hpp"

namespace sheaf::test {
namespace {

// Exceeds the number of duplicates cached by a communicator.
constexpr int many = 11;

std::string numbered(int i) { return path("a") + std::to_string(i); }

int open_one(const std::string& file, const char* mode, MPI_Comm comm, sion_int64 chunk = 100) {
  ParallelOpenCall open;
  open.file = file;
  open.mode = mode;
  open.global = comm;
  open.files = file.back() % 2 && size > 1 ? 2 : 1;
  open.chunk = chunk;
  const int sid = open();
  require(sid >= 0, std::string("open ") + mode + " of " + file);
  return sid;
}

// Returns the number of barriers whose shared memory still has a name.
int names_in_shared_memory() {
  int found = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", none))
    found += entry.path().filename().string().starts_with("sheaf." + std::to_string(getpid()) + ".");
  return found;
}

// Returns the number of barriers whose shared memory this process maps.
int barriers_mapped() {
  std::ifstream maps("/proc/self/maps");
  int found = 0;
  for (std::string line; std::getline(maps, line);)
    found += line.find("/dev/shm/sheaf.") != std::string::npos;
  return found;
}

void write_many(MPI_Comm comm, int step, bool free_while_open) {
  std::vector<int> sids;
  for (int i = 0; i < many; ++i) sids.push_back(open_one(numbered(i), "wb", comm));
  if (free_while_open) MPI_Comm_free(&comm);
  for (int i = 0; i < many; ++i) write_stream(sids[static_cast<size_t>(i)], me + i);
  // Closes each handle once, because `step` and `many` have no common divisor.
  for (int i = 0; i < many; ++i) close(sids[static_cast<size_t>(i * step % many)]);
}

void read_many(MPI_Comm comm, int step) {
  std::vector<int> sids;
  for (int i = 0; i < many; ++i) sids.push_back(open_one(numbered(i), "rb", comm));
  for (int i = many - 1; i >= 0; --i) read_stream(sids[static_cast<size_t>(i)], me + i);
  for (int i = 0; i < many; ++i) close(sids[static_cast<size_t>(i * step % many)]);
}

void many_opens_at_once() {
  for (const int step : {1, many - 1, 4}) {
    write_many(MPI_COMM_WORLD, step, false);
    read_many(MPI_COMM_WORLD, step);
  }
  require(names_in_shared_memory() == 0, "no name is left in shared memory");
}

// Closes some files and opens others while the rest stays open.
void opens_between_closes() {
  std::vector<int> sids;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < many; ++i) sids.push_back(open_one(numbered(round * many + i), "wb", MPI_COMM_WORLD));
    for (int i = 0; i < many - 2; ++i) {
      const auto at = sids.begin() + (i * 5 + round) % std::ssize(sids);
      write_stream(*at, me);
      close(*at);
      sids.erase(at);
    }
  }
  for (const int sid : sids) write_stream(sid, me);
  for (const int sid : sids) close(sid);
  for (int i = 0; i < 4 * many; ++i) read_back(numbered(i));
}

// Returns a communicator of all tasks in a different order than in MPI_COMM_WORLD.
MPI_Comm turned_round() {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &comm);
  return comm;
}

void communicators_that_are_freed_while_files_are_open() {
  MPI_Comm comm = turned_round();
  write_many(comm, 4, true);
  const int mapped = barriers_mapped();
  for (int round = 0; round < 3; ++round) {
    comm = turned_round();
    write_many(comm, 4, true);
    comm = turned_round();
    read_many(comm, 1);
    MPI_Comm_free(&comm);
  }
  require(barriers_mapped() == mapped, "memory of the meetings goes with the communicator");
}

// Opens files on duplicates of MPI_COMM_WORLD, as HDF5 does for each file. All duplicates must share the
// barrier that is cached for MPI_COMM_WORLD.
void duplicates_of_the_world() {
  write_many(MPI_COMM_WORLD, 1, false);
  const int mapped = barriers_mapped();
  for (int round = 0; round < 3; ++round) {
    MPI_Comm comms[3];
    for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    std::vector<int> sids;
    for (int i = 0; i < many; ++i)
      sids.push_back(open_one(numbered(i), "wb", i % 4 < 3 ? comms[i % 4] : MPI_COMM_WORLD));
    require(barriers_mapped() == mapped, "meetings of the world serve its duplicates");
    MPI_Comm_free(&comms[1]);
    for (int i = 0; i < many; ++i) write_stream(sids[static_cast<size_t>(i)], me);
    for (int i = 0; i < many; ++i) close(sids[static_cast<size_t>(i * 4 % many)]);
    sids.clear();
    for (int i = 0; i < many; ++i) sids.push_back(open_one(numbered(i), "rb", comms[i % 2 * 2]));
    for (const int sid : sids) read_stream(sid, me);
    for (const int sid : sids) close(sid);
    for (const int i : {0, 2}) MPI_Comm_free(&comms[i]);
  }
}

// Half of the tasks open files on one communicator and the others on another. In between, all tasks open
// files on MPI_COMM_WORLD.
void communicators_beside_each_other() {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &half);
  int rank = -1;
  MPI_Comm_rank(half, &rank);
  for (int round = 0; round < 10; ++round) {
    ParallelOpenCall of_half;
    of_half.file = path(me % 2 ? "odd" : "even");
    of_half.global = half;
    const int one = of_half();
    const int all = open_one(path("all"), "wb", MPI_COMM_WORLD);
    require(one >= 0, "open of half");
    write_stream(all, me);
    write_stream(one, rank);
    close(round % 2 ? all : one);
    close(round % 2 ? one : all);
  }
  MPI_Comm_free(&half);
  read_back(path("all"));
}

void a_bad_topology_is_an_error_on_all() {
  for (const int bad : {0, size}) {  // on rank 0, which determines the result, or on all ranks
    if (bad == size || me == bad) setenv("SHEAF_TOPOLOGY", "node=many", 1);
    for (const char* mode : {"wb,files=node", "wb,files=auto"}) {
      ParallelOpenCall open;
      open.mode = mode;
      require(open() == -1 && std::strstr(sheaf_last_error(), "SHEAF_TOPOLOGY"), "a bad SHEAF_TOPOLOGY");
      require(!exists(open.file), "no file");
    }
    unsetenv("SHEAF_TOPOLOGY");
  }
  if (me != 0) setenv("SHEAF_TOPOLOGY", "node=many", 1);
  ParallelOpenCall open;
  open.mode = "wb,files=node";
  write_all(open);
  unsetenv("SHEAF_TOPOLOGY");
}

// Tests closes in which some or all tasks have metadata of more than 1 KiB, and the others a few bytes.
void many_chunks_on_some_tasks() {
  for (const int first : {0, size - 1, size})
    for (const int blocks : {100, 127, 128, 129, 1000}) {
      const std::string file = path("a");
      const bool long_row = me >= first || first == size;
      int sid = open_one(file, "wb", MPI_COMM_WORLD, 64);
      const auto data = content(me, 0, long_row ? 64 * blocks : 10);
      require(sion_fwrite(data.data(), 1, data.size(), sid) == data.size(), "fwrite");
      close(sid);
      sid = open_one(file, "rb", MPI_COMM_WORLD);
      std::vector<std::byte> found(data.size() + 1);
      require(sion_fread(found.data(), 1, found.size(), sid) == data.size(), "fread");
      found.pop_back();
      require(found == data, "bytes");
      close(sid);
    }
}

// Even ranks send a message to the next rank and continue. The receiver reaches the open or the close only
// after receiving it.
void messages_on_their_way() {
  const int peer = me ^ 1;
  const auto meet = [&](std::vector<char>& message, auto&& collective) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (peer < size && me % 2 == 0)
      MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_CHAR, peer, 3, MPI_COMM_WORLD,
                &request);
    if (me % 2 == 1) {
      MPI_Recv(message.data(), static_cast<int>(message.size()), MPI_CHAR, peer, 3, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      require(message.front() == peer && message.back() == peer, "message");
    }
    collective();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  };
  for (const size_t bytes : {size_t{1}, size_t{100} << 10, size_t{32} << 20}) {
    std::vector<char> message(bytes, static_cast<char>(me));
    int sid = -1;
    meet(message, [&] { sid = open_one(path("a"), "wb", MPI_COMM_WORLD); });
    write_stream(sid, me);
    const auto begin = std::chrono::steady_clock::now();
    meet(message, [&] { close(sid); });
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (getenv("SHEAF_TEST_TIMES") && me == 0) std::printf("%zu bytes: %.4f s\n", bytes, taken.count());
    read_back(path("a"));
  }
}

}  // namespace
}  // namespace sheaf::test

int main(int argc, char** argv) {
  using namespace sheaf::test;
#define TEST(name) \
  { #name, name }
  return run_all(argc, argv,
                 {TEST(many_opens_at_once), TEST(opens_between_closes),
                  TEST(communicators_that_are_freed_while_files_are_open), TEST(duplicates_of_the_world),
                  TEST(communicators_beside_each_other), TEST(a_bad_topology_is_an_error_on_all),
                  TEST(many_chunks_on_some_tasks), TEST(messages_on_their_way)});
}
