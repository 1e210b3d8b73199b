// kill_writer DIR SEED WORDS: writes multifiles into DIR one after the other until it is killed; every task keeps a ledger of
// what it has flushed and completed. Prints "ready" when the first multifile is open.
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include "crash/ledger.hpp"
#include "sion.h"
#include "sion_mpi.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int task = 0, tasks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &task);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  const std::string directory = argc > 1 ? argv[1] : ".";
  const auto seed = static_cast<unsigned>(argc > 2 ? std::atoi(argv[2]) : 1);
  const std::string mode = std::string("wb") + (argc > 3 && *argv[3] ? std::string(",") + argv[3] : "");
  // Else only flushes count: chunks have other sizes, or a frame holds the end of a chunk.
  const bool aligns = mode.find("collective") == std::string::npos && mode.find("compress") == std::string::npos;
  std::mt19937 common(seed), own(seed * 1000 + static_cast<unsigned>(task));
  const ledger::Ledger book(directory, task);
  for (int64_t number = 1;; ++number) {
    ledger::Entry entry{number, ledger::opening, 0, 0};
    book.write(entry);
    int files = 1 + static_cast<int>(common() % static_cast<unsigned>(tasks));
    sion_int64 chunk = 1 + static_cast<sion_int64>(common() % 20000);
    sion_int32 fsblksize = common() % 2 ? 4096 : 512;
    const int records = static_cast<int>(common() % 60);
    MPI_Comm local = MPI_COMM_WORLD;
    const int sid = sion_paropen_mpi(ledger::multifile(directory, number).c_str(), mode.c_str(), &files, MPI_COMM_WORLD, &local,
                                     &chunk, &fsblksize, &task, nullptr, nullptr);
    if (sid < 0) return 1;
    entry.state = ledger::opened;
    book.write(entry);
    if (number == 1 && task == 0) {
      std::puts("ready");
      std::fflush(stdout);
    }
    const sion_int64 aligned = (chunk + fsblksize - 1) / fsblksize * fsblksize;
    sion_int64 in_chunk = 0;
    for (int r = 0; r < records; ++r) {
      const auto bytes = static_cast<sion_int64>(own() % 6000);
      std::vector<char> data(static_cast<size_t>(bytes));
      for (sion_int64 i = 0; i < bytes; ++i) data[static_cast<size_t>(i)] = ledger::content(number, task, entry.most + i);
      const int64_t before = entry.most;
      entry.most += bytes;
      book.write(entry);
      if (sion_fwrite(data.data(), 1, data.size(), sid) != data.size()) return 1;
      // The rule of docs/format.md, 5.3: where chunks end.
      int64_t complete = -1;
      sion_int64 left = bytes;
      if (left <= aligned && left > aligned - in_chunk) {
        complete = before;
        in_chunk = 0;
      }
      while (left > 0) {
        if (in_chunk == aligned) {
          complete = before + bytes - left;
          in_chunk = 0;
        }
        const sion_int64 piece = std::min(left, aligned - in_chunk);
        in_chunk += piece;
        left -= piece;
      }
      if (aligns && complete >= 0) entry.least = std::max(entry.least, complete);
      if (own() % 5 == 0) {
        if (sion_flush(sid) != SION_SUCCESS) return 1;
        entry.least = entry.most;
      }
      book.write(entry);
    }
    entry.state = ledger::closing;
    book.write(entry);
    if (sion_parclose_mpi(sid) != SION_SUCCESS) return 1;
    entry.state = ledger::closed;
    entry.least = entry.most;
    book.write(entry);
  }
}
