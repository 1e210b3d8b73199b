// One write and one read of 64 MiB (or --bytes) by each task, in one of five ways. bench_multifile.py runs
// the ways in turn.
//
//   mpi_bench_multifile WAY DIRECTORY [--bytes B] [--piece B] [--durable]
//
// WAY:
// - multifile-auto: files=auto; multifile-one: a multifile in one physical file
// - plain: a minimal writer of one file, with a region of whole file-system blocks for each task, fwrite and
//   fread through a FILE*, and no metadata, journal or checksums
// - pwrite: the same regions, by pwrite and pread
// - task-local: one file per task, write and read
//
// A time runs from the common start of all tasks to the last close, and includes opening. Files of an earlier
// run in DIRECTORY are overwritten. Prints "TIME write S", "TIME read S".
#include <mpi.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench_common.hpp"
#include "quiet_mpi.hpp"
#include "sion.h"

namespace {

using bench::require;

struct MultifileJob {
  int rank = 0;
  int64_t bytes = 0;
  int64_t piece = 0;
  std::string directory;
  std::vector<char> memory;

  // Fills the memory with bytes that differ by task and offset.
  void fill() {
    for (size_t i = 0; i + 8 <= memory.size(); i += 8) {
      const uint64_t word = i * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(rank);
      std::memcpy(memory.data() + i, &word, 8);
    }
  }
  void check() const {
    for (size_t i = 0; i + 8 <= memory.size(); i += 512) {
      const uint64_t word = i * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(rank);
      require(std::memcmp(memory.data() + i, &word, 8) == 0, "read other bytes than were written");
    }
  }
  // Calls move(address, offset in the stream, bytes) for each piece.
  template <class Move>
  void in_pieces(Move move) {
    for (int64_t done = 0; done < bytes; done += piece) {
      const auto size = static_cast<size_t>(std::min(piece, bytes - done));
      require(move(memory.data() + done, done, size) == static_cast<int64_t>(size), "a transfer failed");
    }
  }
};

void multifile(MultifileJob& job, bool writes, const char* mode, int files) {
  sion_int64 chunk = job.bytes;
  sion_int32 block = -1;
  int rank = job.rank;
  const MPI_Comm all = MPI_COMM_NULL;
  const std::string path = job.directory + "/multifile";
  const int sid = sion_paropen_mpi(path.c_str(), mode, &files, MPI_COMM_WORLD, &all, &chunk, &block, &rank,
                                   nullptr, nullptr);
  require(sid >= 0, "sion_paropen_mpi failed");
  job.in_pieces([&](char* at, int64_t, size_t n) {
    return static_cast<int64_t>(writes ? sion_fwrite(at, 1, n, sid) : sion_fread(at, 1, n, sid));
  });
  require(sion_parclose_mpi(sid) == 1, "sion_parclose_mpi failed");
}

// Returns the start of this task's region in the shared file.
int64_t begin_of(const MultifileJob& job) {
  struct stat found;
  require(stat(job.directory.c_str(), &found) == 0, "no such directory");
  const int64_t block = found.st_blksize;
  return job.rank * ((job.bytes + block - 1) / block * block);
}

// Task 0 creates or truncates the file before the other tasks open it.
void make_empty(const MultifileJob& job, const std::string& path) {
  if (job.rank == 0) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    require(fd >= 0 && close(fd) == 0, "cannot make the file");
  }
  quiet::barrier();
}

void plain(MultifileJob& job, bool writes) {
  const std::string path = job.directory + "/plain";
  if (writes) make_empty(job, path);
  std::FILE* const file = std::fopen(path.c_str(), writes ? "r+" : "r");
  require(file && fseeko(file, begin_of(job), SEEK_SET) == 0, "cannot open the file");
  job.in_pieces([&](char* at, int64_t, size_t n) {
    return static_cast<int64_t>(writes ? std::fwrite(at, 1, n, file) : std::fread(at, 1, n, file));
  });
  require(std::fclose(file) == 0, "fclose failed");
}

void with_descriptor(MultifileJob& job, bool writes, const std::string& path, int64_t begin, int flags) {
  const int fd = open(path.c_str(), flags, 0666);
  require(fd >= 0, "cannot open a file");
  job.in_pieces([&](char* at, int64_t done, size_t n) {
    return static_cast<int64_t>(writes ? pwrite(fd, at, n, begin + done) : pread(fd, at, n, begin + done));
  });
  require(close(fd) == 0, "close failed");
}

void run(MultifileJob& job, const std::string& way, bool writes) {
  if (way == "multifile-auto") return multifile(job, writes, writes ? "bw,files=auto" : "br", 1);
  if (way == "multifile-one") return multifile(job, writes, writes ? "bw" : "br", 1);
  if (way == "plain") return plain(job, writes);
  if (way == "task-local")
    return with_descriptor(job, writes, job.directory + "/local." + std::to_string(job.rank), 0,
                           writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY);
  require(way == "pwrite", "WAY is multifile-auto, multifile-one, plain, pwrite or task-local");
  const std::string path = job.directory + "/pwrite";
  if (writes) make_empty(job, path);
  with_descriptor(job, writes, path, begin_of(job), writes ? O_WRONLY : O_RDONLY);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  require(argc >= 3, "usage: mpi_bench_multifile WAY DIRECTORY [--bytes B] [--piece B]");
  bench::BenchOptions options(argc, argv);
  MultifileJob job;
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  job.directory = argv[2];
  job.bytes = options.number("--bytes", 64 << 20);
  job.piece = options.number("--piece", 1 << 20);
  job.memory.resize(static_cast<size_t>(job.bytes));
  for (const bool writes : {true, false}) {
    writes ? job.fill() : static_cast<void>(std::memset(job.memory.data(), 0xEE, job.memory.size()));
    const double seconds = quiet::timed(job.rank, [&] { run(job, argv[1], writes); });
    if (job.rank == 0) std::printf("TIME %s %.6f\n", writes ? "write" : "read", seconds);
  }
  job.check();
  MPI_Finalize();
  return 0;
}
