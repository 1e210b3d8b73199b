// Collective writing of many small requests.
//
// Rows `multifiles`: N multifiles, each with one collective write of 4 KiB per task, against N multifiles
// with sion_fwrite. The library chooses the block size on both sides. Reports the time, and the size and
// allocated bytes of the last multifile (all are alike). --total is the number of files, --room the bytes
// that exist at a time. The rows have a target only if the file system's blocks are 2 MiB or more, as on
// tmpfs mounted with huge=always.
//
// Row `calls`: one multifile with N collective calls against N calls of this MPI's MPI_File_write_at_all,
// which write the same bytes to the same offsets of one file. Times include opening and closing; files are
// new.
#include <mpi.h>

#include <sys/stat.h>

#include "bench_common.hpp"
#include "quiet_mpi.hpp"
#include "sion.h"

namespace {

using bench::require;
using bench::ResultRow;
using bench::Times;

struct CollectiveJob {
  int rank;
  int ntasks;
  int64_t bytes;  // per request
  int64_t count;  // multifiles, or calls
  std::string directory;
  std::vector<char> memory;

  std::string file(int64_t number) const { return directory + "/" + std::to_string(number); }
};

int open_to_write(const CollectiveJob& job, const std::string& name, const char* mode) {
  sion_int64 chunk = job.bytes;
  sion_int32 fsblksize = -1;
  int files = 1;
  int rank = job.rank;
  const MPI_Comm all = MPI_COMM_NULL;
  const int sid = sion_paropen_mpi(name.c_str(), mode, &files, MPI_COMM_WORLD, &all, &chunk, &fsblksize,
                                   &rank, nullptr, nullptr);
  require(sid >= 0, "sion_paropen_mpi failed");
  return sid;
}

template <class Write>
double multifiles(CollectiveJob& job, const char* mode, Write write) {
  return quiet::timed(job.rank, [&] {
    for (int64_t i = 0; i < job.count; ++i) {
      const int sid = open_to_write(job, job.file(i), mode);
      require(write(job.memory.data(), 1, job.memory.size(), sid) == job.memory.size(), "the write failed");
      require(sion_parclose_mpi(sid) == 1, "sion_parclose_mpi failed");
    }
  });
}

// Returns size and allocated bytes of the last multifile.
std::pair<double, double> bytes_on_disk(const CollectiveJob& job) {
  struct stat found {};
  if (job.rank == 0) require(stat(job.file(job.count - 1).c_str(), &found) == 0, "stat failed");
  return {static_cast<double>(found.st_size), 512.0 * static_cast<double>(found.st_blocks)};
}

// Returns the block size of the file system in bytes, as reported for a file.
int64_t block_size_of(const CollectiveJob& job) {
  struct stat found {};
  if (job.rank == 0) {
    std::FILE* const probe = std::fopen(job.file(0).c_str(), "w");
    require(probe && fstat(fileno(probe), &found) == 0, "no file can be made");
    std::fclose(probe);
  }
  int64_t bytes = found.st_blksize;
  MPI_Bcast(&bytes, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  return bytes;
}

double calls(CollectiveJob& job) {
  return quiet::timed(job.rank, [&] {
    const int sid = open_to_write(job, job.file(0), "bw,collective");
    for (int64_t i = 0; i < job.count; ++i)
      require(sion_coll_fwrite(job.memory.data(), 1, job.memory.size(), sid) == job.memory.size(),
              "the write failed");
    require(sion_parclose_mpi(sid) == 1, "sion_parclose_mpi failed");
  });
}

double write_at_all(CollectiveJob& job) {
  return quiet::timed(job.rank, [&] {
    MPI_File file;
    require(MPI_File_open(MPI_COMM_WORLD, job.file(1).c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY,
                          MPI_INFO_NULL, &file) == MPI_SUCCESS,
            "MPI_File_open failed");
    for (int64_t i = 0; i < job.count; ++i)
      require(MPI_File_write_at_all(file, (i * job.ntasks + job.rank) * job.bytes, job.memory.data(),
                                    static_cast<int>(job.bytes), MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
              "MPI_File_write_at_all failed");
    require(MPI_File_close(&file) == MPI_SUCCESS, "MPI_File_close failed");
  });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bench::BenchOptions options(argc, argv);
  CollectiveJob job{};
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ntasks);
  const std::string parent = options.text("--dir", ".");
  const int pairs = static_cast<int>(options.number("--pairs", 5));
  const std::string only = options.text("--only", "multifiles,calls");
  const auto patience = static_cast<double>(options.number("--patience", 3));
  job.bytes = options.number("--bytes", 4 << 10);
  const int64_t total = options.number("--total", 1000);
  const int64_t room = options.number("--room", int64_t{3} << 30);
  const int64_t requests = options.number("--calls", 1000);
  options.check();
  {
    int run_number = getpid();
    MPI_Bcast(&run_number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const bench::ScratchDirectory scratch(parent, job.rank == 0, run_number);
    job.directory = scratch.path();
    job.memory.assign(static_cast<size_t>(job.bytes), static_cast<char>(job.rank + 1));
    quiet::barrier();
    const std::string fs = bench::file_system_of(scratch.path());
    const bool print = job.rank == 0;
    const auto settle = [&] {
      quiet::barrier();
      if (print) scratch.empty();
      if (print) bench::wait_for_idle(patience);
      quiet::barrier();
    };
    const std::string tasks = std::to_string(job.ntasks) + "-tasks";
    if (only.find("multifiles") != std::string::npos) {
      const int64_t block = block_size_of(job);
      const bool judged = block >= 2 << 20;
      const int64_t of_one = (job.ntasks + 2) * std::max(block, job.bytes);
      job.count = std::clamp<int64_t>(room / of_one, 1, total);
      const auto rounds = static_cast<int>((total + job.count - 1) / job.count);
      if (print)
        std::printf("blocks of %lld bytes: multifiles are %s; %d pairs of %lld\n",
                    static_cast<long long>(block), judged ? "judged" : "only reported", rounds,
                    static_cast<long long>(job.count));
      std::pair<double, double> ours, peer;
      const auto together = [&] {
        const double time = multifiles(job, "bw,collective", sion_coll_fwrite);
        ours = bytes_on_disk(job);
        return Times{time};
      };
      const auto alone = [&] {
        const double time = multifiles(job, "bw", sion_fwrite);
        peer = bytes_on_disk(job);
        return Times{time};
      };
      const auto row = [&](const char* what, double target) {
        return ResultRow{std::string("collective.") + what + "/independent." + tasks, false,
                         judged ? target : 0, 0};
      };
      bench::compare({row("multifiles", 0.5)}, fs, rounds, print, together, alone, settle);
      if (print) bench::print_result(row("size", 0.02), fs, {ours.first}, {peer.first});
      if (print) bench::print_result(row("allocated", 0.02), fs, {ours.second}, {peer.second});
    }
    if (only.find("calls") != std::string::npos) {
      job.count = requests;
      bench::compare(
          {{"collective.calls/write_at_all." + tasks, false, 0.5, 0}}, fs, pairs, print,
          [&] { return Times{calls(job)}; }, [&] { return Times{write_at_all(job)}; }, settle);
    }
  }
  MPI_Finalize();
}
