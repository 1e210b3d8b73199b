// Bandwidth of striped files per node, for one node and for as many nodes as the machine has cores. A node is
// one core: its tasks are bound to it. Every node both computes and serves, as in the measurements of the
// SFIO paper. One node and K nodes run in turn, each on its own communicator, while the other tasks sleep.
// Every compute task writes, then reads, its own range over all listeners. The ratio is the bandwidth per
// listener with K nodes / with one node: 1 is linear. The file has the same stripes in both cases.
// bench_sfio_fibers covers more nodes than cores.
//
// - mpirun -np 2*K mpi_bench_sfio_nodes_openmpi --dir DIR: the second half of the tasks are listeners, one on
//   every core
// - mpirun -np K mpi_bench_sfio_nodes_openmpi --threads: an I/O thread in every task
//
// Options: [--pairs N] [--bytes B per compute task] [--unit U] [--subfiles S].
//
// Rows without a target: `lent`, the same transfers from memory of sfio_malloc(), which are faster with any
// number of nodes, and most of all with one; and the limits of the machine. In `plain`, every core writes
// with pwrite to its own file; in `limit`, it sends contiguous messages to the listeners.
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench_common.hpp"
#include "quiet_mpi.hpp"
#include "sfio.h"
#include "sfio_limit.hpp"
#include "yielding_mpi.hpp"

namespace {

using yielding::timed;

struct SfioNodesSetting {
  std::string dir;
  int pairs = 5;
  int64_t bytes = 0;
  int unit = 200;
  int subfiles = 0;
  int nodes = 0;
  int node = 0;  // node of this task
  bool threads = false;
  bool computes = true;
};

void bind_to(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  bench::require(sched_setaffinity(0, sizeof cores, &cores) == 0, "sched_setaffinity");
}

bench::Times striped(const SfioNodesSetting& setting, MPI_Comm nodes, int listeners, char* data) {
  bench::Times times(2, 1.0);
  const std::string how = setting.threads ? "thread" : "listeners=" + std::to_string(listeners);
  bench::require(sfio_start(nodes, how.c_str(), nullptr) == 0, "sfio_start");
  if (sfio_comm() == MPI_COMM_NULL) return times;
  std::string name;
  for (int i = 0; i < setting.subfiles; ++i)
    name += "#" + std::to_string(i % listeners) + "," + setting.dir + "/striped." + std::to_string(i) + ";";
  MFILE* f = sfio_mopen(name.c_str(), setting.unit);
  bench::require(f != nullptr, "mopen");
  const int64_t at = setting.bytes * setting.node;
  const auto bytes = static_cast<size_t>(setting.bytes);
  times[0] = timed(sfio_comm(),
                   [&] { bench::require(sfio_mwritec(f, at, data, bytes) == setting.bytes, "mwritec"); });
  times[1] =
      timed(sfio_comm(), [&] { bench::require(sfio_mreadc(f, at, data, bytes) == setting.bytes, "mreadc"); });
  sfio_mclose(f);
  sfio_mdelete(name.c_str());
  sfio_stop();
  return times;
}

// Measures the same bytes as contiguous messages that listeners write with pwrite (sfio_limit.hpp).
bench::Times limit(const SfioNodesSetting& setting, MPI_Comm nodes, int number, std::vector<char>& data) {
  const sfio_limit::MessageStream stream{nodes, number, number, setting.bytes, 1 << 20};
  return {timed(nodes, [&] {
    if (setting.computes)
      sfio_limit::send(stream, data);
    else
      sfio_limit::receive(stream, setting.dir + "/limit." + std::to_string(setting.node));
  })};
}

// Measures pwrite alone, each node to its own file.
bench::Times plain(const SfioNodesSetting& setting, MPI_Comm nodes, std::vector<char>& data) {
  MPI_Comm compute;
  MPI_Comm_split(nodes, setting.computes ? 0 : MPI_UNDEFINED, setting.node, &compute);
  if (!setting.computes) return {1.0};
  const std::string path = setting.dir + "/plain." + std::to_string(setting.node);
  const int file = open(path.c_str(), O_CREAT | O_RDWR, 0666);
  constexpr int64_t piece = 1 << 20;
  const double seconds = timed(compute, [&] {
    for (int64_t at = 0; at < setting.bytes; at += piece)
      bench::require(pwrite(file, data.data() + at, piece, at) == piece, "pwrite");
  });
  close(file);
  unlink(path.c_str());
  MPI_Comm_free(&compute);
  return {seconds};
}

// Compares `work(nodes, number of nodes)` with all nodes ("ours") and with one ("peer").
template <class Work>
void compare(const SfioNodesSetting& setting, const std::vector<bench::ResultRow>& rows, int me, Work work) {
  const auto with = [&](int nodes) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, setting.node < nodes ? 0 : MPI_UNDEFINED, me, &comm);
    bench::Times times(rows.size(), 1.0);
    if (comm != MPI_COMM_NULL) {
      times = work(comm, nodes);
      MPI_Comm_free(&comm);
    }
    quiet::barrier();
    return times;
  };
  bench::compare(
      rows, bench::file_system_of(setting.dir), setting.pairs, me == 0, [&] { return with(setting.nodes); },
      [&] { return with(1); }, [] {});
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  int me = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bench::BenchOptions options(argc, argv);
  SfioNodesSetting setting;
  setting.dir = options.text("--dir", "/dev/shm");
  setting.pairs = static_cast<int>(options.number("--pairs", 11));
  setting.bytes = options.number("--bytes", 64 << 20);
  setting.unit = static_cast<int>(options.number("--unit", 200));
  setting.subfiles = static_cast<int>(options.number("--subfiles", 0));
  setting.threads = options.flag("--threads");
  options.check();
  setting.nodes = setting.threads ? size : size / 2;
  if (setting.subfiles == 0) setting.subfiles = 2 * setting.nodes;
  setting.node = me % setting.nodes;
  setting.computes = me < setting.nodes;
  bind_to(setting.node);
  bench::ScratchDirectory scratch(setting.dir, me == 0, 0);
  setting.dir = scratch.path();
  std::vector<char> data(static_cast<size_t>(setting.computes ? setting.bytes : 0), 'x');
  quiet::barrier();

  const std::string on =
      std::to_string(setting.nodes) + "-nodes" + (setting.threads ? "-threads" : "") + "/one";
  const auto unit = std::to_string(setting.unit);
  compare(setting, {{"sfio-per-listener-plain-" + on, true, 0, 0}}, me,
          [&](MPI_Comm comm, int) { return plain(setting, comm, data); });
  if (!setting.threads)
    compare(setting, {{"sfio-per-listener-limit-" + on, true, 0, 0}}, me,
            [&](MPI_Comm comm, int nodes) { return limit(setting, comm, nodes, data); });
  auto* const lent = static_cast<char*>(sfio_malloc(data.size()));
  bench::require(lent != nullptr, "sfio_malloc");
  std::ranges::copy(data, lent);
  for (const bool lends : {false, true}) {
    const std::string row = std::string("sfio-per-listener-") + (lends ? "lent-" : "");
    const double target = lends ? 0 : 0.9;
    char* const memory = lends ? lent : data.data();
    compare(setting,
            {{row + "write-" + unit + "B-" + on, true, target, 0},
             {row + "read-" + unit + "B-" + on, true, target, 0}},
            me, [&](MPI_Comm comm, int nodes) { return striped(setting, comm, nodes, memory); });
  }
  sfio_free(lent);
  quiet::barrier();
  MPI_Finalize();
  return 0;
}
