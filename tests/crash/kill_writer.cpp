// kill_writer DIR SEED WORDS [flushes]: writes multifiles into DIR one after another until it is killed.
// WORDS are appended to the open mode. Every task records in a ledger the bytes that it has flushed, and its
// complete chunks. With `flushes`, it records only flushed bytes. Jobs on several hosts need `flushes`,
// because there the library may enlarge chunks, and journals complete chunks only at the next flush or after
// 16 MiB (docs/api-sion.md, "A program that dies"). Prints "ready" when the first multifile is open.
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "crash/ledger.hpp"
#include "sion.h"
#include "sion_generic.h"
#include "sion_mpi.h"

namespace {

// Computes the ends of chunks by the rule of docs/format.md, 5.3.
struct RuledChunks {
  sion_int64 aligned;
  sion_int64 in_chunk = 0;

  // Returns the bytes in complete chunks after a request of `bytes` that increases the stream to `total`
  // bytes, or -1 if the request has completed no chunk.
  int64_t complete(sion_int64 bytes, int64_t total) {
    int64_t complete = -1;
    sion_int64 left = bytes;
    if (left <= aligned && left > aligned - in_chunk) {
      complete = total - bytes;
      in_chunk = 0;
    }
    while (left > 0) {
      if (in_chunk == aligned) {
        complete = total - left;
        in_chunk = 0;
      }
      const sion_int64 piece = std::min(left, aligned - in_chunk);
      in_chunk += piece;
      left -= piece;
    }
    return complete;
  }
};

// Finds the ends of chunks if collector groups determine the chunk sizes. Queries the library for the current
// position; this query also flushes the task's buffer.
struct AskedChunks {
  int last_block = 0;

  int64_t complete(int sid, int64_t total) {
    int block = 0;
    sion_int64 position = 0;
    if (sion_get_current_location(sid, &block, &position, nullptr, nullptr) != SION_SUCCESS) std::abort();
    return block > std::exchange(last_block, block) ? total - position : -1;
  }
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int task = 0, tasks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &task);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  const std::string directory = argc > 1 ? argv[1] : ".";
  const auto seed = static_cast<unsigned>(argc > 2 ? std::atoi(argv[2]) : 1);
  const std::string mode = std::string("wb") + (argc > 3 && *argv[3] ? std::string(",") + argv[3] : "");
  const auto has = [&](const char* word) { return mode.find(word) != std::string::npos; };
  // Collective requests are so large that every collective call sends all its bytes to the collectors.
  const bool collective = has("collective");
  // Complete chunks count as written only if none of their bytes can still be in the memory of a task.
  // Compression threads hold frames that are not yet stored. Collective calls leave small requests in the
  // memory of the task, and send compressed bytes to the collectors in a later round.
  const bool chunks_count = argc <= 4 && !(has("compress") && (collective || !has("compress_threads=0"))) &&
                            !(collective && has("durable"));
  std::mt19937 common(seed), own(seed * 1000 + static_cast<unsigned>(task));
  const ledger::CrashLedger book(directory, task);
  for (int64_t number = 1;; ++number) {
    ledger::CrashLedgerEntry entry{number, ledger::opening, 0, 0};
    book.write(entry);
    int files = 1 + static_cast<int>(common() % static_cast<unsigned>(tasks));
    sion_int64 chunk = collective ? 150000 + static_cast<sion_int64>(common() % 300000)
                                  : 1 + static_cast<sion_int64>(common() % 20000);
    sion_int32 fsblksize = common() % 2 ? 4096 : 512;
    const int records = static_cast<int>(common() % (collective ? 20 : 60));
    MPI_Comm local = MPI_COMM_WORLD;
    const int sid = sion_paropen_mpi(ledger::multifile(directory, number).c_str(), mode.c_str(), &files,
                                     MPI_COMM_WORLD, &local, &chunk, &fsblksize, &task, nullptr, nullptr);
    if (sid < 0) return 1;
    entry.state = ledger::opened;
    book.write(entry);
    if (number == 1 && task == 0) {
      std::puts("ready");
      std::fflush(stdout);
    }
    RuledChunks ruled{(chunk + fsblksize - 1) / fsblksize * fsblksize};
    AskedChunks asked;
    for (int r = 0; r < records; ++r) {
      const auto bytes = static_cast<sion_int64>((collective ? 140000 : 0) + own() % 6000);
      std::vector<char> data(static_cast<size_t>(bytes));
      for (sion_int64 i = 0; i < bytes; ++i)
        data[static_cast<size_t>(i)] = ledger::content(number, task, entry.most + i);
      entry.most += bytes;
      book.write(entry);
      const auto put = collective ? sion_coll_fwrite : sion_fwrite;
      if (put(data.data(), 1, data.size(), sid) != data.size()) return 1;
      const int64_t complete =
          collective ? asked.complete(sid, entry.most) : ruled.complete(bytes, entry.most);
      if (chunks_count) entry.least = std::max(entry.least, complete);
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
