// One write and one read of 64 MiB (or --bytes) by each task, in one of four ways. bench_multifile.py runs
// the ways in turn.
//
//   mpi_bench_multifile WAY DIRECTORY [--bytes B] [--piece B] [--files N] [--words WORDS] [--durable]
//                       [--phase PHASE]
//
// WAY:
// - multifile: a multifile of N physical files (0: files=auto), opened with the additional mode words WORDS
// - plain: a minimal writer of N files, with a region of whole file-system blocks for each task, fwrite and
//   fread through a FILE*, and no metadata, journal or checksums
// - pwrite: the same regions, by pwrite and pread
// - task-local: one file per task, write and read
//
// --durable: a write ends when its bytes are durable: after fsync, and for a multifile, whose WORDS must
// contain async, after its save.
// Consecutive tasks share a file. A time runs from the common start of all tasks to the last close, and
// includes opening. The processor time is the sum over all tasks. Files of an earlier run in DIRECTORY are
// overwritten. Prints for each phase, write and read or only PHASE, "TIME write S CPU S" and "SPAN write
// BEGIN END", in seconds of CLOCK_MONOTONIC.
#include <mpi.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <span>

#include "bench_common.hpp"
#include "quiet_mpi.hpp"
#include "sheaf.h"
#include "sheaf_mpi.h"
#include "sion.h"

namespace {

using bench::require;

struct MultifileJob {
  int rank = 0;
  int tasks = 0;
  int64_t bytes = 0;
  int64_t piece = 0;
  int files = 1;
  std::string words;  // additional words of the open mode, each after a comma
  std::string directory;
  bool durable = false;  // a write ends when its bytes are durable
  std::vector<char> storage;
  std::span<char> memory;  // begins a page: some processors copy slowly to other places

  void allocate() {
    constexpr size_t page = 4096;
    storage.resize(static_cast<size_t>(bytes) + page);
    const size_t before = (page - reinterpret_cast<uintptr_t>(storage.data()) % page) % page;
    memory = std::span(storage).subspan(before, static_cast<size_t>(bytes));
  }

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

void multifile(MultifileJob& job, bool writes) {
  sion_int64 chunk = job.bytes;
  sion_int32 block = -1;
  int rank = job.rank;
  int files = std::max(job.files, 1);
  const MPI_Comm all = MPI_COMM_NULL;
  const std::string path = job.directory + "/multifile";
  const std::string mode = (writes ? job.files == 0 ? "bw,files=auto" : "bw" : "br") + job.words;
  const int sid = sion_paropen_mpi(path.c_str(), mode.c_str(), &files, MPI_COMM_WORLD, &all, &chunk, &block,
                                   &rank, nullptr, nullptr);
  require(sid >= 0, "sion_paropen_mpi failed");
  job.in_pieces([&](char* at, int64_t, size_t n) {
    return static_cast<int64_t>(writes ? sion_fwrite(at, 1, n, sid) : sion_fread(at, 1, n, sid));
  });
  if (!writes || !job.durable) return require(sion_parclose_mpi(sid) == 1, "sion_parclose_mpi failed");
  sheaf_save* const save = sheaf_parclose_async(sid);
  require(save != nullptr, "sheaf_parclose_async failed");
  require(sheaf_save_wait_mpi(save, SHEAF_SAVE_DURABLE, MPI_COMM_WORLD) == 1, "the save failed");
  sheaf_save_free(save);
}

// Place of a task's region in the files of a plain program.
struct PlainRegion {
  std::string path;
  int64_t begin;  // offset in the file, in bytes
  bool creates;   // the first task of a file creates or truncates it
};

PlainRegion region_of(const MultifileJob& job, const std::string& name) {
  struct stat found;
  require(stat(job.directory.c_str(), &found) == 0, "no such directory");
  const int64_t block = found.st_blksize;
  const int file = job.rank * job.files / job.tasks;
  int first = job.rank;
  while (first > 0 && (first - 1) * job.files / job.tasks == file) --first;
  return {job.directory + "/" + name + "." + std::to_string(file),
          (job.rank - first) * ((job.bytes + block - 1) / block * block), first == job.rank};
}

// Returns when all files exist and are empty.
void make_empty(const PlainRegion& region) {
  if (region.creates) {
    const int fd = open(region.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    require(fd >= 0 && close(fd) == 0, "cannot make the file");
  }
  quiet::barrier();
}

void plain(MultifileJob& job, bool writes) {
  const PlainRegion region = region_of(job, "plain");
  if (writes) make_empty(region);
  std::FILE* const file = std::fopen(region.path.c_str(), writes ? "r+" : "r");
  require(file && fseeko(file, region.begin, SEEK_SET) == 0, "cannot open the file");
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
  require(!writes || !job.durable || fsync(fd) == 0, "fsync failed");
  require(close(fd) == 0, "close failed");
}

void run(MultifileJob& job, const std::string& way, bool writes) {
  if (way == "multifile") return multifile(job, writes);
  if (way == "plain") return plain(job, writes);
  if (way == "task-local")
    return with_descriptor(job, writes, job.directory + "/local." + std::to_string(job.rank), 0,
                           writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY);
  require(way == "pwrite", "WAY is multifile, plain, pwrite or task-local");
  const PlainRegion region = region_of(job, "pwrite");
  if (writes) make_empty(region);
  with_descriptor(job, writes, region.path, region.begin, writes ? O_WRONLY : O_RDONLY);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  require(argc >= 3, "usage: mpi_bench_multifile WAY DIRECTORY [OPTION...]");
  bench::BenchOptions options(argc - 2, argv + 2);
  MultifileJob job;
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.tasks);
  job.directory = argv[2];
  job.bytes = options.number("--bytes", 64 << 20);
  job.piece = options.number("--piece", 1 << 20);
  job.files = static_cast<int>(options.number("--files", 1));
  if (const std::string words = options.text("--words", ""); !words.empty()) job.words = "," + words;
  job.durable = options.flag("--durable");
  const std::string phase = options.text("--phase", "");
  options.check();
  job.allocate();
  for (const bool writes : {true, false}) {
    const char* const name = writes ? "write" : "read";
    if (!phase.empty() && phase != name) continue;
    writes ? job.fill() : static_cast<void>(std::memset(job.memory.data(), 0xEE, job.memory.size()));
    double cpu = 0;
    double begin = 0, end = 0;
    const double seconds = quiet::timed(job.rank, [&] {
      const double before = bench::processor_time();
      begin = bench::now();
      run(job, argv[1], writes);
      end = bench::now();
      cpu = bench::processor_time() - before;
    });
    double all_cpu = 0, first = 0, last = 0;
    MPI_Reduce(&cpu, &all_cpu, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (job.rank == 0)
      std::printf("TIME %s %.6f CPU %.6f\nSPAN %s %.6f %.6f\n", name, seconds, all_cpu, name, first, last);
    if (!writes) job.check();
  }
  MPI_Finalize();
  return 0;
}
