// region_ledger: records the writes of a task at offsets of a file. Each task has a ledger, a file that
// survives the task, and appends each record by one write(). This header includes no header of Sheaf, because
// programs of MPI-IO are linked with the MPI alone.
#pragma once

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace sheaf::test::campaign {

struct RegionRecord {
  enum EntryKind : int64_t { head, old, attempted, accepted, lacked, committed, ended };
  int64_t kind = 0;
  int64_t offset = 0;  // head: number of tasks; ended: 1 if the close succeeded
  int64_t length = 0;  // bytes that follow the record
};

// Properties of a case, stored as text in the head of each ledger.
struct RegionFacts {
  int tasks = 1;
  int64_t size = 0;           // maximum size of the file in bytes
  int64_t unit = 0;           // bytes of a stripe; 0: no striping
  int subfiles = 1;           // number of subfiles, with striping
  bool own_files = false;     // each task writes a file of its own
  bool may_die = false;       // the failure ends the program
  bool must_succeed = false;  // no call fails
  bool safe = true;           // bytes of successful syncs are in the file even if the close fails
  std::string text{};         // description in prose, one line
};

class RegionLedger {
 public:
  using Record = RegionRecord;

  RegionLedger(const std::string& path, const RegionFacts& facts)
      : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666)) {
    std::string text;
    for (const int64_t number :
         {static_cast<int64_t>(facts.tasks), facts.size, facts.unit, static_cast<int64_t>(facts.subfiles),
          static_cast<int64_t>(facts.own_files), static_cast<int64_t>(facts.may_die),
          static_cast<int64_t>(facts.must_succeed), static_cast<int64_t>(facts.safe)})
      text += std::to_string(number) + " ";
    text += facts.text;
    note(Record::head, facts.tasks, text.data(), text.size());
  }
  RegionLedger(const RegionLedger&) = delete;
  RegionLedger& operator=(const RegionLedger&) = delete;
  ~RegionLedger() { ::close(fd_); }

  // Records bytes at an offset.
  void note(Record::EntryKind kind, int64_t offset, const void* bytes, size_t length) const {
    Record record{kind, offset, static_cast<int64_t>(length)};
    const iovec parts[] = {{&record, sizeof record}, {const_cast<void*>(bytes), length}};
    if (::writev(fd_, parts, 2) != static_cast<ssize_t>(sizeof record + length)) std::abort();
  }
  void commit() const { note(Record::committed, 0, nullptr, 0); }
  void end(bool closed) const { note(Record::ended, closed, nullptr, 0); }

 private:
  int fd_;
};

}  // namespace sheaf::test::campaign
