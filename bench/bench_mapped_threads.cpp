// Mapped access: 3 processes read a checkpoint of 64 tasks, change it, and write it for 64 tasks again. The
// peer transfers the same bytes without mapping.
//
// The tasks are threads of one process, each with its own descriptors. With 64 MPI processes on a few cores,
// wake-ups would dominate the times of both sides and hide the cost of mapping. Waiting threads sleep. The
// benchmark calls the code of the MPI interface below its argument handling.
//
// Two comparisons:
// - 64-3-64: ours: 64 tasks write, 3 processes read and write mapped, 64 tasks read. Peer: 64 tasks write,
//   read, write, read.
// - 3: 3 processes write (read) 64 streams mapped. Peer: 3 tasks write (read) 3 streams of the same bytes.
//   This comparison is harder, because the peer also has fewer tasks and simpler files.
//
// Why this is fair: both sides transfer the same bytes in pieces of the same size from (to) the same memory.
// A time runs from the first thread that starts to the last one that ends, and includes opening and closing;
// the threads already exist. Every run uses new files. All data read are verified.
#include <unistd.h>

#include <functional>
#include <thread>

#include "bench_common.hpp"
#include "comm/threads/thread_comm.hpp"
#include "layout/placement.hpp"
#include "multifile/metadata/parallel_open.hpp"
#include "multifile/reader/reader.hpp"
#include "multifile/writer/writer.hpp"
#include "storage/store.hpp"

namespace {

namespace multifile = sheaf::multifile;
using bench::require;
using bench::Times;

struct MappedThreadsJob {
  int tasks;
  int processes;  // processes of the mapped side
  int files;
  int64_t bytes;  // per task
  int64_t piece;
  std::string directory;
  std::vector<std::byte> memory;

  std::span<const std::byte> piece_at(int64_t at) const {
    return std::span(memory).subspan(static_cast<size_t>(at % std::ssize(memory)),
                                     static_cast<size_t>(piece));
  }
  // Returns the tasks of a process: consecutive ones. The last process also has the remainder, as in an
  // automatic mapped open.
  std::pair<int, int> tasks_of(int process) const {
    const int each = tasks / processes;
    return {each * process, process + 1 == processes ? tasks : each * (process + 1)};
  }
};

void fill(std::vector<std::byte>& memory) {
  for (size_t i = 0; i + 8 <= memory.size(); i += 8) {
    const uint64_t word = i * 0x9E3779B97F4A7C15u;
    std::memcpy(memory.data() + i, &word, 8);
  }
}

// Runs body(comm) on `count` threads. Returns the seconds from the first thread that starts to the last one
// that ends.
double timed(int count, const std::function<void(sheaf::Comm&)>& body) {
  const auto team = sheaf::make_thread_team(count);
  std::vector<double> begin(static_cast<size_t>(count));
  std::vector<double> end(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      const auto comm = sheaf::thread_comm(team, rank);
      comm->barrier();
      begin[static_cast<size_t>(rank)] = bench::now();
      try {
        body(*comm);
      } catch (const std::exception& e) {
        bench::fail(e.what());
      }
      end[static_cast<size_t>(rank)] = bench::now();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
}

// Writes `bytes` bytes to the stream. `first` is their offset among the bytes of all tasks.
void write_stream(const MappedThreadsJob& job, multifile::WriteStream& stream, int64_t first, int64_t bytes) {
  for (int64_t done = 0; done < bytes; done += job.piece) stream.write(job.piece_at(first + done));
}

void read_stream(const MappedThreadsJob& job, multifile::ReadStream& stream, int64_t first, int64_t bytes) {
  std::vector<std::byte> found(static_cast<size_t>(job.piece));
  for (int64_t done = 0; done < bytes; done += job.piece) {
    require(stream.read(found) == found.size(), "a stream ends too early");
    const auto expected = job.piece_at(first + done);
    for (size_t i = 0; i + 8 <= found.size(); i += 4096)
      require(std::memcmp(found.data() + i, expected.data() + i, 8) == 0,
              "read other bytes than were written");
  }
}

multifile::OpenMode agree_on(sheaf::Comm& comm, const std::string& path, const char* mode) {
  return multifile::agree_on_call(comm, path, mode, {}, std::nullopt);
}

// Maps a thread to the tasks [first, end) whose bytes it transfers.
using Share = std::function<std::pair<int, int>(int)>;

double write_unmapped(const MappedThreadsJob& job, const std::string& path, int count,
                      const Share& tasks_of) {
  return timed(count, [&](sheaf::Comm& comm) {
    const auto [begin, end] = tasks_of(comm.rank());
    auto own = comm.duplicate();
    const multifile::OpenMode mode = agree_on(*own, path, "bw");
    multifile::ParallelWriteRequest request;
    request.path = path;
    request.nfiles = std::min(job.files, count);
    request.chunk_size = job.bytes * (end - begin);
    multifile::Writer writer(sheaf::posix_store(), std::move(own), std::move(request), mode);
    write_stream(job, writer.stream(), job.bytes * begin, job.bytes * (end - begin));
    writer.close();
  });
}

double read_unmapped(const MappedThreadsJob& job, const std::string& path, int count, const Share& tasks_of) {
  return timed(count, [&](sheaf::Comm& comm) {
    const auto [begin, end] = tasks_of(comm.rank());
    auto own = comm.duplicate();
    const multifile::OpenMode mode = agree_on(*own, path, "br");
    multifile::Reader reader(sheaf::posix_store(), std::move(own), path, mode);
    read_stream(job, reader.stream(), job.bytes * begin, job.bytes * (end - begin));
    reader.close();
  });
}

double write_mapped(const MappedThreadsJob& job, const std::string& path) {
  return timed(job.processes, [&](sheaf::Comm& comm) {
    const auto [begin, end] = job.tasks_of(comm.rank());
    auto own = comm.duplicate();
    const multifile::OpenMode mode = agree_on(*own, path, "bw");
    std::vector<multifile::MappedWriteTask> tasks;
    for (int t = begin; t < end; ++t)
      tasks.push_back({t, job.bytes, sheaf::layout::place_blockwise(t, job.tasks, job.files)});
    multifile::Writer writer(sheaf::posix_store(), std::move(own), {path, job.files, -1, tasks}, mode);
    for (int t = begin; t < end; ++t) {
      writer.select(t);
      write_stream(job, writer.stream(), job.bytes * t, job.bytes);
    }
    writer.close();
  });
}

double read_mapped(const MappedThreadsJob& job, const std::string& path) {
  return timed(job.processes, [&](sheaf::Comm& comm) {
    auto own = comm.duplicate();
    const multifile::OpenMode mode = agree_on(*own, path, "br");
    multifile::Reader reader(sheaf::posix_store(), std::move(own),
                             multifile::MappedReadRequest{path, true, {}}, mode);
    for (const multifile::OwnTask& t : reader.tasks()) {
      reader.select(t.task);
      read_stream(job, reader.stream(), job.bytes * t.task, job.bytes);
    }
    reader.close();
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::BenchOptions options(argc, argv);
  const std::string parent = options.text("--dir", ".");
  const int pairs = static_cast<int>(options.number("--pairs", 7));
  const auto patience = static_cast<double>(options.number("--patience", 3));
  MappedThreadsJob job;
  job.tasks = static_cast<int>(options.number("--tasks", 64));
  job.processes = static_cast<int>(options.number("--processes", 3));
  job.files = static_cast<int>(options.number("--files", 1));
  job.bytes = options.number("--bytes", 4 << 20);
  job.piece = options.number("--piece", 1 << 20);
  options.check();
  require(job.bytes % job.piece == 0, "--bytes is no multiple of --piece");

  const bench::ScratchDirectory scratch(parent, true, getpid());
  const std::string fs = bench::file_system_of(scratch.path());
  const std::string a = scratch.file("a");
  const std::string b = scratch.file("b");
  job.memory.resize(static_cast<size_t>(std::max(job.piece, int64_t{16 << 20} / job.piece * job.piece)));
  fill(job.memory);
  const double total = static_cast<double>(job.bytes) * job.tasks;
  const Share own = [](int t) { return std::pair{t, t + 1}; };
  const Share joined = [&](int p) { return job.tasks_of(p); };
  const auto settle = [&] {
    scratch.empty();
    bench::wait_for_idle(patience);
  };
  const std::string few = std::to_string(job.processes);
  const std::string many = std::to_string(job.tasks);
  bench::compare(
      {{"mapped." + many + "-" + few + "-" + many + "/unmapped-" + many, false, 1.2}}, fs, pairs, true,
      [&] {
        return Times{write_unmapped(job, a, job.tasks, own) + read_mapped(job, a) + write_mapped(job, b) +
                     read_unmapped(job, b, job.tasks, own)};
      },
      [&] {
        return Times{write_unmapped(job, a, job.tasks, own) + read_unmapped(job, a, job.tasks, own) +
                     write_unmapped(job, b, job.tasks, own) + read_unmapped(job, b, job.tasks, own)};
      },
      settle);
  bench::compare(
      {{"mapped.write-by-" + few + "/unmapped-" + few, false, 1.2, total},
       {"mapped.read-by-" + few + "/unmapped-" + few, false, 1.2, total}},
      fs, pairs, true,
      [&] {
        const double written = write_mapped(job, a);
        return Times{written, read_mapped(job, a)};
      },
      [&] {
        const double written = write_unmapped(job, b, job.processes, joined);
        return Times{written, read_unmapped(job, b, job.processes, joined)};
      },
      settle);
}
