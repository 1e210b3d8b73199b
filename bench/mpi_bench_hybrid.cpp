// Writing and reading a multifile with all threads of a few processes (--threads N), or with one process per
// task. bench_hybrid.py starts both kinds in turn and compares them.
//
// A time runs from an agreed moment to the end of the last task's close, and includes opening; the threads
// already exist. Every task transfers the same bytes in pieces from (to) its own memory. Every run uses new
// files. All data read are verified. Prints {"write": seconds, "read": seconds, "processors": seconds}:
// medians of several runs without the first one. "processors" is the processor time of all tasks for both
// phases.
#include <mpi.h>
#include <omp.h>

#include "bench_common.hpp"
#include "quiet_mpi.hpp"
#include "sion.h"

namespace {

using bench::require;

struct HybridJob {
  int rank = 0;     // of the process
  int threads = 0;  // per process; 0: processes are the tasks
  int files = 1;
  int64_t bytes = 0;  // per task
  int64_t piece = 0;
  std::string path;
};

// The data of one task.
struct HybridTask {
  std::vector<char> memory;

  void prepare(const HybridJob& job, int number) {
    memory.resize(static_cast<size_t>(job.bytes));
    for (size_t i = 0; i + 8 <= memory.size(); i += 8) {
      const uint64_t word = i * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(number);
      std::memcpy(memory.data() + i, &word, 8);
    }
  }
  void spoil() {
    for (size_t i = 0; i + 8 <= memory.size(); i += 4096) std::memset(memory.data() + i, 0xEE, 8);
  }
  void check(int number) const {
    for (size_t i = 0; i + 8 <= memory.size(); i += 4096) {
      const uint64_t word = i * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(number);
      require(std::memcmp(memory.data() + i, &word, 8) == 0, "read other bytes than were written");
    }
  }
};

int open_multifile(const HybridJob& job, const char* mode) {
  sion_int64 chunk = job.bytes;
  sion_int32 block = -1;
  int files = job.files;
  int number = 0;
  const MPI_Comm all = MPI_COMM_NULL;
  const int sid = (job.threads > 0 ? sion_paropen_ompi : sion_paropen_mpi)(
      job.path.c_str(), mode, &files, MPI_COMM_WORLD, &all, &chunk, &block, &number, nullptr, nullptr);
  require(sid >= 0, "cannot open");
  return sid;
}

void close_multifile(const HybridJob& job, int sid) {
  require((job.threads > 0 ? sion_parclose_ompi : sion_parclose_mpi)(sid) == 1, "cannot close");
}

void write_all(const HybridJob& job, HybridTask& task) {
  const int sid = open_multifile(job, "bw");
  const auto piece = static_cast<size_t>(job.piece);
  for (int64_t done = 0; done < job.bytes; done += job.piece)
    require(sion_fwrite(task.memory.data() + done, 1, piece, sid) == piece, "sion_fwrite failed");
  close_multifile(job, sid);
}

void read_all(const HybridJob& job, HybridTask& task) {
  const int sid = open_multifile(job, "br");
  const auto piece = static_cast<size_t>(job.piece);
  for (int64_t done = 0; done < job.bytes; done += job.piece)
    require(sion_fread(task.memory.data() + done, 1, piece, sid) == piece, "sion_fread failed");
  close_multifile(job, sid);
}

// Calls work(task number, task) for all tasks of this process.
template <class Work>
void for_tasks(const HybridJob& job, std::vector<HybridTask>& tasks, Work work) {
  if (job.threads == 0) return work(job.rank, tasks[0]);
#pragma omp parallel num_threads(job.threads)
  {
    const int thread = omp_get_thread_num();
    work(job.rank * job.threads + thread, tasks[static_cast<size_t>(thread)]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  bench::BenchOptions options(argc, argv);
  HybridJob job;
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  const std::string directory = options.text("--dir", ".");
  job.threads = static_cast<int>(options.number("--threads", 0));
  job.files = static_cast<int>(options.number("--files", 1));
  job.bytes = options.number("--bytes", 32 << 20);
  job.piece = options.number("--piece", 1 << 20);
  const int runs = static_cast<int>(options.number("--runs", 5));
  const auto patience = static_cast<double>(options.number("--patience", 3));
  options.check();
  require(job.bytes % job.piece == 0, "--bytes is no multiple of --piece");
  require(job.threads == 0 || provided >= MPI_THREAD_FUNNELED, "this MPI does not allow threads");
  {
    int run_number = getpid();
    MPI_Bcast(&run_number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const bool owner = job.rank == 0;
    const bench::ScratchDirectory scratch(directory, owner, run_number);
    job.path = scratch.file("multifile");
    std::vector<HybridTask> tasks(static_cast<size_t>(std::max(job.threads, 1)));
    for_tasks(job, tasks, [&](int number, HybridTask& task) { task.prepare(job, number); });
    std::vector<double> written;
    std::vector<double> read;
    std::vector<double> computed;
    for (int run = 0; run <= runs; ++run) {
      quiet::barrier();
      if (owner) scratch.empty();
      if (owner) bench::wait_for_idle(patience);
      double computing = 0;
      const auto timed = [&](void (*work)(const HybridJob&, HybridTask&)) {
        return quiet::timed(job.rank, [&] {
          const double before = bench::processor_time();
          for_tasks(job, tasks, [&](int, HybridTask& task) { work(job, task); });
          computing += bench::processor_time() - before;
        });
      };
      const double write_time = timed(write_all);
      for_tasks(job, tasks, [](int, HybridTask& task) { task.spoil(); });
      const double read_time = timed(read_all);
      for_tasks(job, tasks, [](int number, HybridTask& task) { task.check(number); });
      MPI_Allreduce(MPI_IN_PLACE, &computing, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      if (run == 0) continue;
      written.push_back(write_time);
      read.push_back(read_time);
      computed.push_back(computing);
    }
    if (owner)
      std::printf("{\"write\": %.6f, \"read\": %.6f, \"processors\": %.6f}\n", bench::median(written),
                  bench::median(read), bench::median(computed));
  }
  MPI_Finalize();
}
