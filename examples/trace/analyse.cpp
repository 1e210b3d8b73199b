// trace_analyse: finds late senders in the traces of trace_record, in parallel, with any number of tasks.
// Each task loads the traces of some traced tasks into memory, through the serial interface in the task-local
// view (sion_open_rank), as Scalasca does.
//
//   mpirun -n 3 trace_analyse [--dir .] [--json]
//
// A receive that starts before its message is sent waits for the difference. To compare the times, each task
// transfers its send times to the tasks that hold the matching receives.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "event.hpp"
#include "gzip_stream.hpp"
#include "sion.h"

namespace {

// A message as recorded at one of its ends.
struct End {
  std::uint64_t from, to, thread, message, time;
  auto key() const { return std::tie(from, to, thread, message); }
};

using Visit = std::function<void(const trace::Event&)>;

// Splits data into events. A piece of data may end within an event.
class EventCutter {
 public:
  explicit EventCutter(const Visit& visit) : visit_(visit) {}
  void take(const unsigned char* bytes, std::size_t count) {
    rest_.insert(rest_.end(), bytes, bytes + count);
    std::size_t at = 0;
    for (trace::Event event; at + sizeof event <= rest_.size(); at += sizeof event) {
      std::memcpy(&event, rest_.data() + at, sizeof event);
      visit_(event);
    }
    rest_.erase(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(at));
  }

 private:
  const Visit& visit_;
  std::vector<unsigned char> rest_;
};

// Loads the trace of one thread of one task, from the multifile if it exists, otherwise from the thread's own
// file.
void load(const std::string& dir, int thread, int task, const Visit& visit) {
  EventCutter cutter(visit);
  const auto take = [&](const unsigned char* bytes, std::size_t count) { cutter.take(bytes, count); };
  std::string name = trace::multifile_name(dir, thread);
  if (std::filesystem::exists(name)) {
    sion_int64 chunk = 0;
    sion_int32 block = 0;
    const int sid = sion_open_rank(name.data(), "rb", &chunk, &block, &task, nullptr);
    if (sid < 0) throw std::runtime_error("cannot open " + name + " for task " + std::to_string(task));
    trace::read_gzip(
        [&](unsigned char* memory, std::size_t most) { return sion_fread(memory, 1, most, sid); }, take);
    sion_close(sid);
    return;
  }
  std::FILE* const file = std::fopen(trace::task_name(dir, thread, task).c_str(), "rb");
  if (!file) throw std::runtime_error("cannot open " + trace::task_name(dir, thread, task));
  trace::read_gzip([&](unsigned char* memory, std::size_t most) { return std::fread(memory, 1, most, file); },
                   take);
  std::fclose(file);
}

int traced_tasks(const std::string& dir) {
  std::string name = trace::multifile_name(dir, 0);
  if (std::filesystem::exists(name)) {
    int tasks = 0, files = 0;
    sion_int64* chunks = nullptr;
    sion_int32 block = 0;
    int* ranks = nullptr;
    const int sid = sion_open(name.data(), "rb", &tasks, &files, &chunks, &block, &ranks, nullptr);
    if (sid < 0) throw std::runtime_error("cannot open " + name);
    sion_close(sid);
    return tasks;
  }
  int tasks = 0;
  while (std::filesystem::exists(trace::task_name(dir, 0, tasks))) ++tasks;
  if (tasks == 0) throw std::runtime_error("there is no trace in " + dir);
  return tasks;
}

int traced_threads(const std::string& dir) {
  int threads = 0;
  while (std::filesystem::exists(trace::multifile_name(dir, threads)) ||
         std::filesystem::exists(trace::task_name(dir, threads, 0)))
    ++threads;
  return threads;
}

// Sends each End to the analyser task that holds the matching receive.
std::vector<End> sent_to_receivers(std::vector<End> sends, int analysers) {
  std::sort(sends.begin(), sends.end(), [&](const End& a, const End& b) {
    return a.to % static_cast<unsigned>(analysers) < b.to % static_cast<unsigned>(analysers);
  });
  std::vector<int> counts(static_cast<std::size_t>(analysers)), places(counts), coming(counts),
      arriving(counts);
  for (const End& end : sends) counts[end.to % static_cast<unsigned>(analysers)] += sizeof(End);
  MPI_Alltoall(counts.data(), 1, MPI_INT, coming.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (std::size_t i = 1; i < counts.size(); ++i) {
    places[i] = places[i - 1] + counts[i - 1];
    arriving[i] = arriving[i - 1] + coming[i - 1];
  }
  std::vector<End> received(static_cast<std::size_t>(arriving.back() + coming.back()) / sizeof(End));
  MPI_Alltoallv(sends.data(), counts.data(), places.data(), MPI_BYTE, received.data(), coming.data(),
                arriving.data(), MPI_BYTE, MPI_COMM_WORLD);
  return received;
}

struct Result {
  long long events = 0, messages = 0, late = 0, waiting = 0;  // waiting: nanoseconds
};

Result analyse(const std::string& dir, int rank, int size) {
  const int tasks = traced_tasks(dir);
  const int threads = traced_threads(dir);
  Result result;
  std::vector<End> sends, receives;
  for (int task = rank; task < tasks; task += size)
    for (int thread = 0; thread < threads; ++thread)
      load(dir, thread, task, [&](const trace::Event& event) {
        ++result.events;
        const auto me = static_cast<std::uint64_t>(task);
        if (event.kind == trace::Kind::send)
          sends.push_back({me, event.what, static_cast<std::uint64_t>(thread), event.message, event.time});
        if (event.kind == trace::Kind::receive)
          receives.push_back({event.what, me, static_cast<std::uint64_t>(thread), event.message, event.time});
      });
  std::vector<End> known = sent_to_receivers(std::move(sends), size);
  const auto before = [](const End& a, const End& b) { return a.key() < b.key(); };
  std::sort(known.begin(), known.end(), before);
  std::sort(receives.begin(), receives.end(), before);
  if (known.size() != receives.size())
    throw std::runtime_error("messages were sent that nobody has received, or the reverse");
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i].key() != receives[i].key())
      throw std::runtime_error("a message was received that nobody has sent");
    ++result.messages;
    if (known[i].time <= receives[i].time) continue;
    ++result.late;
    result.waiting += static_cast<long long>(known[i].time - receives[i].time);
  }
  MPI_Allreduce(MPI_IN_PLACE, &result, 4, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::string dir = ".";
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0)
      json = true;
    else if (std::strcmp(argv[i], "--dir") == 0 && i + 1 < argc)
      dir = argv[++i];
    else {
      std::fprintf(stderr, "usage: trace_analyse [--dir DIR] [--json]\n");
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  try {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    const Result found = analyse(dir, rank, size);
    const double seconds = MPI_Wtime() - begin;
    if (rank == 0)
      std::printf(
          json ? "{\"events\": %lld, \"messages\": %lld, \"late_senders\": %lld, \"waiting_ns\": %lld, "
                 "\"seconds\": %.6f}\n"
               : "%lld events, %lld messages, %lld late senders, %lld ns of waiting; analysed in %.3f s\n",
          found.events, found.messages, found.late, found.waiting, seconds);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "trace_analyse: %s\n", problem.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
