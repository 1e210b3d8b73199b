// Bandwidth of a parallel write and read. Compares a multifile with task-local files, and a multifile in one
// physical file with one process that writes (reads) one file of the total size.
//
// Why this is fair: every task transfers the same bytes in the same pieces from (to) its own memory, which
// was filled before and exceeds a core's caches. A time runs from an agreed moment on all tasks until the
// last task has closed, and includes opening and closing. Every run uses new files and excludes their
// removal. The peer makes plain system calls only. While one process writes alone, the others sleep. All data
// read are verified.
//
// Plain files have no checksums, so multifiles are written without them. Only the rows `default` have
// checksums and a journal, and show their cost.
#include <mpi.h>

#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>

#include "bench_common.hpp"
#include "quiet_mpi.hpp"
#include "sion.h"

namespace {

using bench::require;
using bench::ResultRow;
using bench::Times;

struct BandwidthJob {
  int rank;
  int ntasks;
  int64_t bytes;  // per task
  int64_t piece;
  int64_t chunk;
  std::string directory;
  std::vector<char> memory;

  char* piece_at(int64_t done) { return memory.data() + done % static_cast<int64_t>(memory.size()); }
  void fill() {
    for (size_t i = 0; i + 8 <= memory.size(); i += 8) {
      const uint64_t word = i * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(rank);
      std::memcpy(memory.data() + i, &word, 8);
    }
  }
  // Overwrites a word per page, so that check() detects bytes that were not read.
  void spoil() {
    for (size_t i = 0; i + 8 <= memory.size(); i += 4096) std::memset(memory.data() + i, 0xEE, 8);
  }
  void check() const {
    for (size_t i = 0; i + 8 <= memory.size(); i += 4096) {
      const uint64_t word = i * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(rank);
      require(std::memcmp(memory.data() + i, &word, 8) == 0, "read other bytes than were written");
    }
  }
};

// Transfers `total` bytes in pieces; `move(address, bytes)` returns whether it succeeded.
template <class Move>
void in_pieces(BandwidthJob& job, int64_t total, Move move) {
  for (int64_t done = 0; done < total; done += job.piece)
    require(move(job.piece_at(done), static_cast<size_t>(std::min(job.piece, total - done))),
            "transfer failed");
}

void plain_write(BandwidthJob& job, const std::string& path, int64_t total) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  require(fd >= 0, "cannot create a file");
  in_pieces(job, total, [fd](char* at, size_t n) { return write(fd, at, n) == static_cast<ssize_t>(n); });
  require(close(fd) == 0, "close failed");
}

void plain_read(BandwidthJob& job, const std::string& path, int64_t total) {
  const int fd = open(path.c_str(), O_RDONLY);
  require(fd >= 0, "cannot open a file");
  in_pieces(job, total, [fd](char* at, size_t n) { return read(fd, at, n) == static_cast<ssize_t>(n); });
  require(close(fd) == 0, "close failed");
}

int open_multifile(BandwidthJob& job, const char* mode, int nfiles, sion_int32 fsblksize) {
  sion_int64 chunk = job.chunk;
  int rank = job.rank;
  const MPI_Comm all = MPI_COMM_NULL;
  const int sid = sion_paropen_mpi((job.directory + "/multifile").c_str(), mode, &nfiles, MPI_COMM_WORLD,
                                   &all, &chunk, &fsblksize, &rank, nullptr, nullptr);
  require(sid >= 0, "sion_paropen_mpi failed");
  return sid;
}

// Runs both phases; time 0 is the write, time 1 the read.
Times run(BandwidthJob& job, const std::function<void()>& write_all, const std::function<void()>& read_all) {
  Times times{quiet::timed(job.rank, write_all)};
  job.spoil();
  times.push_back(quiet::timed(job.rank, read_all));
  return times;
}

Times multifile(BandwidthJob& job, const char* mode, int nfiles, sion_int32 fsblksize = -1) {
  const auto write_all = [&] {
    const int sid = open_multifile(job, mode, nfiles, fsblksize);
    in_pieces(job, job.bytes, [sid](char* at, size_t n) { return sion_fwrite(at, 1, n, sid) == n; });
    require(sion_parclose_mpi(sid) == 1, "sion_parclose_mpi failed");
  };
  const auto read_all = [&] {
    const int sid = open_multifile(job, "br", 1, -1);
    in_pieces(job, job.bytes, [sid](char* at, size_t n) { return sion_fread(at, 1, n, sid) == n; });
    require(sion_parclose_mpi(sid) == 1, "sion_parclose_mpi failed");
  };
  Times times = run(job, write_all, read_all);
  job.check();
  return times;
}

Times task_local(BandwidthJob& job) {
  const std::string path = job.directory + "/local." + std::to_string(job.rank);
  Times times = run(
      job, [&] { plain_write(job, path, job.bytes); }, [&] { plain_read(job, path, job.bytes); });
  job.check();
  return times;
}

// Measures task 0 alone, with as much memory as all tasks together.
Times one_writer(BandwidthJob& job, BandwidthJob& alone) {
  const std::string path = job.directory + "/single";
  const int64_t total = job.bytes * job.ntasks;
  const bool works = job.rank == 0;
  Times times = run(
      alone,
      [&] {
        if (works) plain_write(alone, path, total);
      },
      [&] {
        if (works) plain_read(alone, path, total);
      });
  if (works) alone.check();
  return times;
}

// Measures the rate that several processes can reach in one file without any library. Each process writes its
// part of the file after the preceding process is done, so they never compete.
Times in_turn(BandwidthJob& job, sem_t* turns) {
  const std::string path = job.directory + "/single";
  return {quiet::timed(job.rank, [&] {
    if (job.rank > 0) require(sem_wait(turns + job.rank) == 0, "cannot wait for the turn");
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0666);
    require(fd >= 0, "cannot create a file");
    int64_t at = job.rank * job.bytes;
    in_pieces(job, job.bytes, [&](char* from, size_t n) {
      const ssize_t written = pwrite(fd, from, n, at);
      at += written;
      return written == static_cast<ssize_t>(n);
    });
    require(close(fd) == 0, "close failed");
    if (job.rank + 1 < job.ntasks) require(sem_post(turns + job.rank + 1) == 0, "cannot hand the turn on");
  })};
}

// Returns one semaphore per task, each 0. Task 0 creates them in a file beside the scratch directory.
sem_t* semaphores(const BandwidthJob& job) {
  const std::string path = job.directory + ".turns";
  const size_t bytes = sizeof(sem_t) * static_cast<size_t>(job.ntasks);
  const auto map = [&](int flags) {
    const int fd = open(path.c_str(), flags, 0600);
    require(fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0, "cannot create semaphores");
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    require(at != MAP_FAILED && close(fd) == 0, "cannot map semaphores");
    return static_cast<sem_t*>(at);
  };
  sem_t* turns = nullptr;
  if (job.rank == 0) {
    turns = map(O_RDWR | O_CREAT | O_TRUNC);
    for (int t = 0; t < job.ntasks; ++t) require(sem_init(turns + t, 1, 0) == 0, "cannot make a semaphore");
  }
  quiet::barrier();
  if (job.rank != 0) turns = map(O_RDWR);
  quiet::barrier();
  if (job.rank == 0) unlink(path.c_str());
  return turns;
}

std::vector<ResultRow> rows(const std::string& name, double write_target, double read_target, double bytes) {
  return {{"write." + name, true, write_target, bytes}, {"read." + name, true, read_target, bytes}};
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bench::BenchOptions options(argc, argv);
  BandwidthJob job{};
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ntasks);
  const std::string parent = options.text("--dir", ".");
  const int pairs = static_cast<int>(options.number("--pairs", 7));
  // A list of auto, one, default, in-turn, sweep, alignment.
  const std::string only = options.text("--only", "auto,one");
  const auto patience = static_cast<double>(options.number("--patience", 3));
  job.bytes = options.number("--bytes", 64 << 20);
  job.piece = options.number("--piece", 1 << 20);
  job.chunk = options.number("--chunk", job.bytes);
  const int64_t record = options.number("--record", 10 << 10);  // chunk and record of the row `alignment`
  options.check();
  require(job.bytes % job.piece == 0, "--bytes is no multiple of --piece");
  const auto chosen = [&](const char* what) {
    return ("," + only + ",").find("," + std::string(what) + ",") != std::string::npos;
  };

  {
    int run_number = getpid();
    MPI_Bcast(&run_number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const bench::ScratchDirectory scratch(parent, job.rank == 0, run_number);
    job.directory = scratch.path();
    job.memory.resize(static_cast<size_t>(job.bytes));
    job.fill();
    quiet::barrier();
    const std::string fs = bench::file_system_of(scratch.path());
    const bool print = job.rank == 0;
    const double total = static_cast<double>(job.bytes) * job.ntasks;
    const auto settle = [&] {
      quiet::barrier();
      if (print) scratch.empty();
      if (print) bench::wait_for_idle(patience);
      quiet::barrier();
    };
    const auto peer = [&] { return task_local(job); };
    if (chosen("auto"))
      bench::compare(
          rows("auto/task-local", 0.97, 0.97, total), fs, pairs, print,
          [&] { return multifile(job, "bw,files=auto,checksums=off", 1); }, peer, settle);
    if (chosen("default")) {
      const auto safe = [&] { return multifile(job, "bw,files=auto", 1); };
      bench::compare(rows("default/task-local", 1 / 1.1, 1 / 1.1, total), fs, pairs, print, safe, peer,
                     settle);
      bench::compare(
          rows("default/no-journal-no-checksums", 1 / 1.1, 1 / 1.1, total), fs, pairs, print, safe,
          [&] { return multifile(job, "bw,files=auto,journal=off,checksums=off", 1); }, settle);
    }
    BandwidthJob alone{};
    if (chosen("one") || chosen("in-turn")) {
      alone.rank = job.rank;
      alone.piece = job.piece;
      alone.memory.resize(print ? job.memory.size() * static_cast<size_t>(job.ntasks) : 0);
      alone.fill();
    }
    if (chosen("one"))
      bench::compare(
          rows("one-file/one-writer", 0.95, 0.95, total), fs, pairs, print,
          [&] { return multifile(job, "bw,checksums=off", 1); }, [&] { return one_writer(job, alone); },
          settle);
    if (chosen("in-turn")) {
      sem_t* const turns = semaphores(job);
      const ResultRow written{"write.one-file/in-turn", true, 0, total},
          limit{"write.in-turn/one-writer", true, 0, total};
      const auto first = [](Times times) { return Times{times.front()}; };
      bench::compare(
          {written}, fs, pairs, print, [&] { return first(multifile(job, "bw,checksums=off", 1)); },
          [&] { return in_turn(job, turns); }, settle);
      bench::compare(
          {limit}, fs, pairs, print, [&] { return in_turn(job, turns); },
          [&] { return first(one_writer(job, alone)); }, settle);
    }
    if (chosen("sweep"))
      for (int files = 1; files <= job.ntasks; files *= 2)
        bench::compare(
            rows("files=" + std::to_string(files) + "/task-local", 0, 0, total), fs, pairs, print,
            [&] { return multifile(job, "bw,checksums=off", files); }, peer, settle);
    if (chosen("alignment")) {
      BandwidthJob small = job;
      small.bytes = job.bytes / record * record;
      small.piece = small.chunk = record;
      small.memory.resize(static_cast<size_t>(small.bytes));
      bench::compare(
          rows("aligned/unaligned", 0, 0, static_cast<double>(small.bytes) * small.ntasks), fs, pairs, print,
          [&] { return multifile(small, "bw", 1, -1); }, [&] { return multifile(small, "bw", 1, 1); },
          settle);
    }
  }
  MPI_Finalize();
}
