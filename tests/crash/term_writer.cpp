// term_writer DIR WORDS THREADS: writes into DIR/m1 until SIGTERM. The tasks are the threads of all MPI
// processes or, if THREADS is 0, the processes. Each task records in a ledger the bytes that its calls
// accepted. The program prints "ready" when all tasks have written. Then even tasks compute, and odd tasks
// continue to write.
#include <mpi.h>
#include <omp.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "crash/ledger.hpp"
#include "sion.h"
#include "sion_mpi.h"
#include "sion_ompi.h"

namespace {

std::string directory;
std::string mode;

int open_stream(int threads, int& task) {
  int files = 1;
  sion_int64 chunk = 20000;
  sion_int32 fsblksize = 512;
  MPI_Comm local = MPI_COMM_WORLD;
  const auto open = threads > 0 ? sion_paropen_ompi : sion_paropen_mpi;
  return open(ledger::multifile(directory, 1).c_str(), mode.c_str(), &files, MPI_COMM_WORLD, &local, &chunk,
              &fsblksize, &task, nullptr, nullptr);
}

void put(int sid, int task, const ledger::CrashLedger& book, ledger::CrashLedgerEntry& entry, int64_t bytes) {
  std::vector<char> data(static_cast<size_t>(bytes));
  for (int64_t i = 0; i < bytes; ++i) data[static_cast<size_t>(i)] = ledger::content(1, task, entry.most + i);
  entry.most += bytes;
  book.write(entry);
  if (sion_fwrite(data.data(), 1, data.size(), sid) != data.size()) std::abort();
  entry.least = entry.most;
  book.write(entry);
}

// Runs one task until the signal.
void run(int threads) {
  int task = 0;
  const int sid = open_stream(threads, task);
  if (sid < 0) std::abort();
  const ledger::CrashLedger book(directory, task);
  ledger::CrashLedgerEntry entry{1, ledger::opened, 0, 0};
  for (int i = 0; i < 30; ++i) put(sid, task, book, entry, 100 + 37 * ((task + i) % 50));
#pragma omp barrier
#pragma omp master
  {
    MPI_Barrier(MPI_COMM_WORLD);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
      std::puts("ready");
      std::fflush(stdout);
    }
  }
  for (int64_t i = 0;; ++i)
    if (task % 2 == 1 && entry.most < (3 << 20) && i % 1000 == 0)
      put(sid, task, book, entry, 1 + i / 1000 % 900);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  if (argc < 4) return 2;
  directory = argv[1];
  mode = std::string("wb,term=flush,") + argv[2];
  const int threads = std::atoi(argv[3]);
  if (threads == 0) run(0);
#pragma omp parallel num_threads(threads)
  run(threads);
}
