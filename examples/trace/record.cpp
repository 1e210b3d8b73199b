// trace_record: traces a program in the way of Scalasca (SC'09 paper, section 5.2). Every thread of every
// task records its events in its own buffer. The files are created when the measurement is activated. At the
// end every thread compresses its buffer with gzip and writes it through the FILE* of its multifile. There is
// one multifile per thread number, or one file per task and thread.
//
//   mpirun -n 8 trace_record [--dir .] [--files multifile|tasklocal] [--events 100000] [--threads 1]
//   [--physical 1] [--json]
//
// The traced program is a ring of tasks. Each computes for a while, sends to the next task and receives from
// the preceding one, on a simulated clock. The wait states are therefore known, and trace_analyse has to find
// them.
#include <mpi.h>
#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "event.hpp"
#include "gzip_stream.hpp"
#include "sion.h"

namespace {

struct Options {
  std::string dir = ".";
  bool multifile = true;
  long events = 100000;  // per thread
  int threads = 1;
  int physical = 1;  // physical files per multifile
  bool json = false;
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "trace_record: %s\n", what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

Options options_of(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--json") {
      o.json = true;
      continue;
    }
    if (i + 1 == argc) fail("'" + word + "' is unknown or lacks its value");
    const std::string value = argv[++i];
    if (word == "--dir")
      o.dir = value;
    else if (word == "--files" && (value == "multifile" || value == "tasklocal"))
      o.multifile = value == "multifile";
    else if (word == "--events")
      o.events = std::atol(value.c_str());
    else if (word == "--threads")
      o.threads = std::atoi(value.c_str());
    else if (word == "--physical")
      o.physical = std::atoi(value.c_str());
    else
      fail("'" + word + " " + value + "' is not understood");
  }
  if (o.events < 5 || o.threads < 1 || o.physical < 1)
    fail("--events from 5, --threads and --physical from 1 on");
  return o;
}

// Destination of a thread's trace.
struct Output {
  int sid = -1;
  std::FILE* file = nullptr;
  int block = -1;
};

Output open_output(const Options& o, int thread, int rank) {
  Output out;
  const std::string name = trace::multifile_name(o.dir, thread);
  if (!o.multifile) {
    out.file = std::fopen(trace::task_name(o.dir, thread, rank).c_str(), "wb");
    if (!out.file) fail("cannot create " + trace::task_name(o.dir, thread, rank));
    return out;
  }
  // The chunk is as large as the uncompressed events, so that one chunk suffices.
  sion_int64 chunk =
      static_cast<sion_int64>(o.events) * static_cast<sion_int64>(sizeof(trace::Event)) + 65536;
  int files = o.physical;
  MPI_Comm local = MPI_COMM_NULL;
  out.sid = sion_paropen_mpi(name.c_str(), "wb", &files, MPI_COMM_WORLD, &local, &chunk, &out.block, &rank,
                             &out.file, nullptr);
  if (out.sid < 0) fail("cannot create " + name);
  return out;
}

// Returns the events of one thread. Each iteration has five: it enters region 1, sends a message, receives
// one, leaves region 1, and enters region 2.
std::vector<trace::Event> run(const Options& o, int rank, int size, int thread) {
  std::vector<trace::Event> events;
  events.reserve(static_cast<std::size_t>(o.events));
  const auto next = static_cast<std::uint32_t>((rank + 1) % size);
  const auto before = static_cast<std::uint32_t>((rank + size - 1) % size);
  // Task r needs 1000 + r nanoseconds per iteration, and every task waits for the preceding one. After as
  // many iterations as there are tasks, all tasks are as slow as the slowest one. The program computes the
  // times without messages.
  std::vector<std::uint64_t> clock(static_cast<std::size_t>(size), 0), sent(static_cast<std::size_t>(size));
  for (std::uint64_t message = 1; static_cast<long>(events.size()) + 5 <= o.events; ++message) {
    const auto mine = static_cast<std::size_t>(rank);
    events.push_back({clock[mine], trace::Kind::enter, 1, 0});
    for (std::size_t r = 0; r < clock.size(); ++r)
      sent[r] = clock[r] + 1000 + r + static_cast<std::uint64_t>(thread);
    events.push_back({sent[mine], trace::Kind::send, next, message});
    events.push_back({sent[mine] + 10, trace::Kind::receive, before, message});
    for (std::size_t r = 0; r < clock.size(); ++r)
      clock[r] = std::max(sent[r] + 10, sent[(r + clock.size() - 1) % clock.size()]) + 10;
    events.push_back({clock[mine], trace::Kind::leave, 1, 0});
    events.push_back({clock[mine], trace::Kind::enter, 2, 0});
  }
  return events;
}

std::size_t write_trace(const Output& out, const std::vector<trace::Event>& events) {
  const auto room = [&](std::size_t bytes) {
    return out.sid < 0 || sion_ensure_free_space(out.sid, static_cast<sion_int64>(bytes)) == 1;
  };
  trace::GzipWriter gzip(out.file, room, out.block > 0 ? static_cast<std::size_t>(out.block) : 65536);
  gzip.write(events.data(), events.size() * sizeof(trace::Event));
  gzip.finish();
  return gzip.stored();
}

double most(double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

long long sum(long long value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const Options o = options_of(argc, argv);
  const auto threads = static_cast<std::size_t>(o.threads);

  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  std::vector<Output> outputs;
  for (int thread = 0; thread < o.threads; ++thread) outputs.push_back(open_output(o, thread, rank));
  const double activation = most(MPI_Wtime() - begin);

  std::vector<std::vector<trace::Event>> events(threads);
#pragma omp parallel for num_threads(o.threads)
  for (int thread = 0; thread < o.threads; ++thread)
    events[static_cast<std::size_t>(thread)] = run(o, rank, size, thread);

  MPI_Barrier(MPI_COMM_WORLD);
  begin = MPI_Wtime();
  long long stored = 0, raw = 0;
  try {
    for (std::size_t thread = 0; thread < threads; ++thread) {
      stored += static_cast<long long>(write_trace(outputs[thread], events[thread]));
      raw += static_cast<long long>(events[thread].size() * sizeof(trace::Event));
    }
  } catch (const std::exception& problem) {
    fail(problem.what());
  }
  for (const Output& out : outputs)
    if (out.sid >= 0 ? sion_parclose_mpi(out.sid) != 1 : std::fclose(out.file) != 0)
      fail("a trace could not be closed");
  const double writing = most(MPI_Wtime() - begin);
  raw = sum(raw);
  stored = sum(stored);
  if (rank == 0)
    std::printf(o.json
                    ? "{\"files\": %d, \"activation_s\": %.9f, \"write_s\": %.9f, \"raw_bytes\": %lld, "
                      "\"stored_bytes\": %lld}\n"
                    : "%d files, activation %.6f s, written in %.6f s: %lld bytes of events, %lld stored\n",
                o.threads * (o.multifile ? o.physical : size), activation, writing, raw, stored);
  MPI_Finalize();
  return 0;
}
