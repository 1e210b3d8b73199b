// kill_check DIR TASKS repaired|unrepaired: compares the multifiles of a killed kill_writer with the ledgers
// of its tasks. With `repaired`, every multifile that can be opened must be complete.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "crash/ledger.hpp"
#include "sheaf.h"
#include "sion.h"

namespace {

int wrong = 0;

void complain(const std::string& file, int task, const std::string& what) {
  std::printf("%s, task %d: %s\n", file.c_str(), task, what.c_str());
  ++wrong;
}

std::vector<char> read_all(int sid) {
  std::vector<char> bytes(4 << 20);
  bytes.resize(sion_fread(bytes.data(), 1, bytes.size(), sid));
  return bytes;
}

void compare(const std::string& file, int task, const ledger::CrashLedgerEntry& e,
             const std::vector<char>& found) {
  const auto length = static_cast<int64_t>(found.size());
  if (length < e.least)
    complain(file, task, std::to_string(length) + " bytes of at least " + std::to_string(e.least));
  if (length > e.most)
    complain(file, task, std::to_string(length) + " bytes of at most " + std::to_string(e.most));
  for (int64_t i = 0; i < length; ++i)
    if (found[static_cast<size_t>(i)] != ledger::content(e.number, task, i))
      return complain(file, task, "wrong byte at " + std::to_string(i));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string directory = argv[1];
  const int tasks = std::atoi(argv[2]);
  const bool repaired = std::strcmp(argv[3], "repaired") == 0;
  std::vector<std::unique_ptr<ledger::CrashLedger>> books;
  for (int t = 0; t < tasks; ++t) books.push_back(std::make_unique<ledger::CrashLedger>(directory, t));
  sheaf_print_errors(0);
  int64_t newest = 0;
  for (const auto& book : books) newest = std::max(newest, book->newest());
  // Only the last multifiles are checked, because tasks are at most one multifile apart.
  for (int64_t number = std::max<int64_t>(1, newest - 2); number <= newest; ++number) {
    const std::string file = ledger::multifile(directory, number);
    bool must_open = false;
    for (const auto& book : books) must_open |= book->read(number).state >= ledger::opened;
    if (!must_open) continue;
    int ntasks = 0, nfiles = 0;
    sion_int64* chunks = nullptr;
    sion_int32 fsblksize = 0;
    int* ranks = nullptr;
    const int sid = sion_open(const_cast<char*>(file.c_str()), "rb", &ntasks, &nfiles, &chunks, &fsblksize,
                              &ranks, nullptr);
    if (sid < 0 || ntasks != tasks) {
      complain(file, -1, "cannot be opened, or has not the right number of tasks");
      continue;
    }
    for (int t = 0; t < tasks; ++t) {
      // The seek fails if the task is empty.
      const bool holds = sion_seek(sid, t, SION_CURRENT_BLK, SION_CURRENT_POS) == SION_SUCCESS;
      compare(file, t, books[static_cast<size_t>(t)]->read(number),
              holds ? read_all(sid) : std::vector<char>());
      int rank = t;
      const int one =
          sion_open_rank(const_cast<char*>(file.c_str()), "rb", chunks, &fsblksize, &rank, nullptr);
      if (one < 0) {
        complain(file, t, "cannot be opened alone");
        continue;
      }
      compare(file, t, books[static_cast<size_t>(t)]->read(number), read_all(one));
      sion_close(one);
    }
    sion_close(sid);
    std::free(chunks);
    std::free(ranks);
    // Tries for three seconds, because a host may cache a name for a second after another host has removed
    // it.
    const auto there = [&] { return access((file + ".journal").c_str(), F_OK) == 0; };
    for (int looks = 0; repaired && looks < 30 && there(); ++looks) usleep(100'000);
    if (repaired && there()) complain(file, -1, "a journal is left");
  }
  return wrong == 0 ? 0 : 1;
}
