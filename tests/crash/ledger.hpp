// ledger: records the progress of each task of a program that a test kills. Each task has a ledger, a file
// that survives the kill.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace ledger {

enum CrashLedgerState : int64_t { unused = 0, opening = 1, opened = 2, closing = 3, closed = 4 };

struct CrashLedgerEntry {
  int64_t number;  // number of the multifile, from 1
  int64_t state;
  int64_t least;  // minimum bytes that readers must find
  int64_t most;   // maximum bytes that readers may find
};

constexpr int64_t entries = 4;  // number of latest multifiles in a ledger

inline std::string name(const std::string& directory, int task) {
  return directory + "/ledger." + std::to_string(task);
}
inline std::string multifile(const std::string& directory, int64_t number) {
  return directory + "/m" + std::to_string(number);
}

class CrashLedger {
 public:
  CrashLedger(const std::string& directory, int task)
      : fd_(open(name(directory, task).c_str(), O_RDWR | O_CREAT, 0666)) {}
  ~CrashLedger() { close(fd_); }
  void write(const CrashLedgerEntry& e) const {
    if (pwrite(fd_, &e, sizeof e, (e.number % entries) * static_cast<int64_t>(sizeof e)) != sizeof e)
      std::perror("ledger");
  }
  CrashLedgerEntry read(int64_t number) const {
    CrashLedgerEntry e{};
    if (pread(fd_, &e, sizeof e, (number % entries) * static_cast<int64_t>(sizeof e)) != sizeof e) e = {};
    return e.number == number ? e : CrashLedgerEntry{number, unused, 0, 0};
  }
  int64_t newest() const {
    int64_t number = 0;
    for (int64_t slot = 0; slot < entries; ++slot) {
      CrashLedgerEntry e{};
      if (pread(fd_, &e, sizeof e, slot * static_cast<int64_t>(sizeof e)) == sizeof e && e.number > number)
        number = e.number;
    }
    return number;
  }

 private:
  int fd_;
};

// Returns byte `at` of the stream of `task` in multifile `number`.
inline char content(int64_t number, int task, int64_t at) {
  return static_cast<char>((31 * number + 17 * (task + 1) + 5 * at + at / 251 + at / 65521) & 0xff);
}

}  // namespace ledger
