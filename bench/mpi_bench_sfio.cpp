// Striped files. Compares mwritec and mreadc with the unoptimised mwrite and mread of the SFIO paper, and
// with the physical limit (sfio_limit.hpp). Also compares collective calls with their schedule to those
// without one.
//
// Half of the tasks compute, half are I/O listeners; every compute task writes its own range over all
// listeners.
//   mpirun -np 2*K mpi_bench_sfio_openmpi --dir DIR [--pairs N] [--bytes B per compute task] [--unit BYTES,
//   instead of 200 and 64K]
//     [--only unoptimised|limit|collective]
#include <mpi.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bench_common.hpp"
#include "sfio.h"
#include "sfio_limit.hpp"
#include "yielding_mpi.hpp"

namespace {

using yielding::barrier;
using yielding::timed;

struct SfioBenchSetting {
  std::string dir;
  int pairs = 5;
  int64_t bytes = 0;   // per compute task
  int64_t simple = 0;  // bytes of the unoptimised form, per compute task
  int64_t room = 1 << 20;
  int compute = 0;
  int listeners = 0;
  int unit = 0;      // a single stripe unit; 0: all
  std::string only;  // "unoptimised", "limit" or "collective"; empty: all
  bool wants(const char* part) const { return only.empty() || only == part; }
};

enum class SfioCallKind : uint8_t { optimised, simple, collective };

int64_t write(SfioCallKind kind, MFILE* f, int64_t at, const char* data, size_t bytes) {
  if (kind == SfioCallKind::collective) return sfio_mwritec_all(f, at, data, bytes);
  return kind == SfioCallKind::simple ? sfio_mwrite(f, at, data, bytes) : sfio_mwritec(f, at, data, bytes);
}

int64_t read(SfioCallKind kind, MFILE* f, int64_t at, char* data, size_t bytes) {
  if (kind == SfioCallKind::collective) return sfio_mreadc_all(f, at, data, bytes);
  return kind == SfioCallKind::simple ? sfio_mread(f, at, data, bytes) : sfio_mreadc(f, at, data, bytes);
}

int me = 0;  // rank in MPI_COMM_WORLD

std::string name_of(const SfioBenchSetting& setting) {
  std::string name;
  for (int i = 0; i < setting.listeners; ++i)
    name += "#" + std::to_string(i) + "," + setting.dir + "/striped." + std::to_string(i) + ";";
  return name;
}

// Returns the seconds of writing and reading.
bench::Times striped(const SfioBenchSetting& setting, int unit, SfioCallKind kind, std::vector<char>& data) {
  const std::string name = name_of(setting);
  const auto bytes = static_cast<size_t>(kind == SfioCallKind::simple ? setting.simple : setting.bytes);
  const int64_t at = static_cast<int64_t>(bytes) * me;
  MFILE* f = sfio_mopen(name.c_str(), unit);
  bench::require(f != nullptr, "mopen");
  bench::Times times;
  times.push_back(timed(sfio_comm(), [&] {
    bench::require(write(kind, f, at, data.data(), bytes) == static_cast<int64_t>(bytes), "write");
  }));
  times.push_back(timed(sfio_comm(), [&] {
    bench::require(read(kind, f, at, data.data(), bytes) == static_cast<int64_t>(bytes), "read");
  }));
  sfio_mclose(f);
  sfio_mdelete(name.c_str());
  // Scales the time to the bytes of the optimised form.
  for (double& seconds : times) seconds *= static_cast<double>(setting.bytes) / static_cast<double>(bytes);
  return times;
}

void run(SfioBenchSetting setting, bool is_listener, MPI_Comm compute) {
  std::vector<char> data(static_cast<size_t>(is_listener ? 0 : setting.bytes), 'x');
  const std::string on = std::to_string(setting.listeners) + "-listeners";
  const std::string fs = bench::file_system_of(setting.dir);
  const double moved = static_cast<double>(setting.bytes) * setting.compute;
  // Each run has its own session, because between two sessions the listeners work for the limit's side.
  const auto session = [&](auto body) -> bench::Times {
    bench::Times times;
    if (sfio_start(MPI_COMM_WORLD, ("listeners=" + std::to_string(setting.listeners)).c_str(), nullptr) != 0)
      bench::fail("sfio_start");
    if (sfio_comm() != MPI_COMM_NULL) {
      times = body();
      sfio_stop();
    }
    barrier(MPI_COMM_WORLD);
    return is_listener ? bench::Times(3, 1.0) : times;
  };
  const std::vector<int> units =
      setting.unit != 0 ? std::vector<int>{setting.unit} : std::vector<int>{200, 64 << 10};
  for (const int unit : units) {
    const std::string stripes = (unit == 64 << 10 ? "64K-" : std::to_string(unit) + "B-") + on;
    const auto striped_by = [&](SfioCallKind kind) {
      return [&, kind] { return session([&] { return striped(setting, unit, kind, data); }); };
    };
    if ((unit == 200 || setting.unit != 0) && setting.wants("unoptimised"))
      bench::compare({{"sfio-write-" + stripes + "/unoptimised", true, 20, moved},
                      {"sfio-read-" + stripes + "/unoptimised", true, 20, moved}},
                     fs, setting.pairs, me == 0, striped_by(SfioCallKind::optimised),
                     striped_by(SfioCallKind::simple), [] {});
    if (setting.wants("collective"))
      bench::compare({{"sfio-collective-write-" + stripes + "/own", true, 0.95, moved},
                      {"sfio-collective-read-" + stripes + "/own", true, 0.95, moved}},
                     fs, setting.pairs, me == 0, striped_by(SfioCallKind::collective),
                     striped_by(SfioCallKind::optimised), [] {});
    if (!setting.wants("limit")) continue;
    bench::compare(
        {{"sfio-write-" + stripes + "/limit", true, unit == 200 ? 0.6 : 0.85, moved}}, fs, setting.pairs,
        me == 0, striped_by(SfioCallKind::optimised),
        [&] {
          const sfio_limit::MessageStream stream{MPI_COMM_WORLD, setting.compute, setting.listeners,
                                                 setting.bytes, setting.room};
          bench::Times times{1.0};
          if (is_listener)
            sfio_limit::receive(stream, setting.dir + "/limit." + std::to_string(me));
          else
            times = {timed(compute, [&] { sfio_limit::send(stream, data); })};
          barrier(MPI_COMM_WORLD);
          return times;
        },
        [] {});
  }
}

}  // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bench::BenchOptions options(argc, argv);
  SfioBenchSetting setting;
  setting.dir = options.text("--dir", "/dev/shm");
  setting.pairs = static_cast<int>(options.number("--pairs", 5));
  setting.listeners = static_cast<int>(options.number("--listeners", size / 2));
  setting.compute = size - setting.listeners;
  setting.bytes = options.number("--bytes", 32 << 20) / setting.listeners * setting.listeners;
  setting.simple = options.number("--simple", 256 << 10);
  setting.room = options.number("--room", 1 << 20);
  setting.unit = static_cast<int>(options.number("--unit", 0));
  setting.only = options.text("--only", "");
  options.check();
  setenv("SHEAF_SFIO_BUFFER", std::to_string(setting.room).c_str(), 1);
  const bool is_listener = me >= setting.compute;
  MPI_Comm compute;
  MPI_Comm_split(MPI_COMM_WORLD, is_listener, me, &compute);
  bench::ScratchDirectory scratch(setting.dir, me == 0, 0);
  setting.dir = scratch.path();
  barrier(MPI_COMM_WORLD);
  run(setting, is_listener, compute);
  barrier(MPI_COMM_WORLD);
  MPI_Comm_free(&compute);
  MPI_Finalize();
  return 0;
}
