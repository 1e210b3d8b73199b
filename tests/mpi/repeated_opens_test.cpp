// Tests that repeated opens create no communicator. The library must cache the communicators of an open for
// the next open.
#include <algorithm>

#include "comm/mpi/mpi_comm.hpp"
#include "mpi/made_communicators.hpp"
#include "mpi/sion_mpi_case.hpp"
#include "mpiio/file/sequence.hpp"
#include "mpiio/file/shared_file.hpp"
#include "storage/store.hpp"

namespace sheaf::test {

using namespace mpiio;

namespace {

// Calls open_and_close() three times. The second and the third call must create no communicator.
template <class Use>
void require_none_made(const char* what, Use open_and_close) {
  for (int round = 0; round < 3; ++round) {
    const int made = made_communicators;
    open_and_close();
    if (round > 0) require(made_communicators == made, what);
  }
}

void multifile(const std::string& file, const char* mode, int files) {
  ParallelOpenCall open;
  open.file = file;
  open.mode = mode;
  open.files = files;
  const int sid = open();
  require(sid >= 0, "open");
  if (mode[0] == 'w') {
    write_stream(sid, me);
  } else {
    read_stream(sid, me);
  }
  close(sid);
}

void shared_file() {
  const auto file = SharedFile::open(mpi_comm(MPI_COMM_WORLD), posix_store(), path("shared"),
                                     {.read = true, .write = true, .create = true}, {});
  constexpr int64_t record = 8;
  View view;
  view.displacement = record * me;
  view.filetype = layout::TypeMap::bytes(record).resized(0, record * size);
  std::vector<std::byte> memory(1000 * record, static_cast<std::byte>(me + 1));
  const Source from{memory.data(), layout::TypeMap::bytes(1), std::ssize(memory)};
  file->write_at_all(file->sequence(), view, 0, from);
  std::vector<std::byte> back(memory.size());
  const auto sequence = file->make_sequence();
  file->read_at_all(*sequence, view, 0, {back.data(), layout::TypeMap::bytes(1), std::ssize(back)});
  require(back == memory, "what was written is read");
  file->close();
}

void on_hosts(const char* topology) {
  if (topology[0] != '\0') setenv("SHEAF_TOPOLOGY", topology, 1);
  require_none_made("a shared file that is opened again makes no communicator", shared_file);
  for (const int files : {1, 2}) {
    if (files > size) continue;
    require_none_made("a multifile that is written again makes none",
                      [&] { multifile(path("multi"), "wb", files); });
    require_none_made("nor one that is read again", [&] { multifile(path("multi"), "rb", files); });
  }
  unsetenv("SHEAF_TOPOLOGY");
}

void on_one_host() { on_hosts(""); }
void on_hosts_of_a_task() { on_hosts("node=1"); }
void on_hosts_of_two_tasks() { on_hosts("node=2"); }

}  // namespace
}  // namespace sheaf::test

int main(int argc, char** argv) {
  using namespace sheaf::test;
  return run_all(argc, argv,
                 {{"on_one_host", on_one_host},
                  {"on_hosts_of_a_task", on_hosts_of_a_task},
                  {"on_hosts_of_two_tasks", on_hosts_of_two_tasks}});
}
