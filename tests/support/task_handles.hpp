// task_handles: the open files of the tasks of a simulated program. By default all tasks share their open
// files, as tasks within one process do. With SHEAF_TEST_HOSTS=N in the environment, every N tasks form a
// host on a file system without cache coherence, and each task opens files for itself. Then hosts_tally
// counts two kinds of error: units to which two hosts write, and bytes that a task reads before the task that
// wrote them has closed or synced them. Each test prints its counts and fails if they are not 0.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "format/header.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "storage/decorators/shared_handles.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/hosts_tally.hpp"

namespace sheaf::test {

// Tasks per host; 0: hosts are not distinguished.
inline int tasks_of_host() {
  static const int tasks = [] {
    const std::string_view words = std::getenv("SHEAF_TEST_HOSTS") ? std::getenv("SHEAF_TEST_HOSTS") : "";
    int number = 0;
    std::from_chars(words.data(), words.data() + words.size(), number);
    return number;
  }();
  return tasks;
}

// Accesses to each file of each store since the test began, by task.
class HostsLedger {
 public:
  static HostsLedger& of_test() {
    static HostsLedger ledger;
    return ledger;
  }
  static constexpr int64_t unit = 64 << 10;  // bytes

  std::shared_ptr<HostsTally> tally(const void* store, const std::string& path) {
    const std::lock_guard lock(mutex);
    auto& found = files_[{store, path}];
    if (!found) found = std::make_shared<HostsTally>(unit, counts, clock_);
    return found;
  }
  void remove(const void* store, const std::string& path) {
    const std::lock_guard lock(mutex);
    files_.erase({store, path});
  }
  void rename(const void* store, const std::string& from, const std::string& to) {
    const std::lock_guard lock(mutex);
    if (auto moved = files_.extract({store, from})) files_[{store, to}] = std::move(moved.mapped());
  }
  void forget(const void* store) {
    const std::lock_guard lock(mutex);
    std::erase_if(files_, [store](const auto& file) { return file.first.first == store; });
  }
  HostsCounts begin() {
    const std::lock_guard lock(mutex);
    files_.clear();
    return std::exchange(counts, {});
  }

  std::recursive_mutex mutex;  // guards the tallies as well
  HostsCounts counts;

 private:
  int64_t clock_ = 0;
  std::map<std::pair<const void*, std::string>, std::shared_ptr<HostsTally>> files_;
};

class TalliedFile final : public ForwardingFile {
 public:
  // `open` points to the number of open files of the store.
  TalliedFile(std::shared_ptr<File> inner, std::shared_ptr<HostsTally> tally, HostedTask who,
              std::shared_ptr<size_t> open)
      : ForwardingFile(std::move(inner)), tally_(std::move(tally)), who_(who), open_(std::move(open)) {
    ++*open_;
    const std::lock_guard lock(ledger().mutex);
    since_ = tally_->opened();
  }
  TalliedFile(const TalliedFile&) = delete;
  TalliedFile& operator=(const TalliedFile&) = delete;
  ~TalliedFile() override { note_close(); }

  void write_at(std::span<const std::byte> data, int64_t offset) override {
    note_write(offset, std::ssize(data));
    ForwardingFile::write_at(data, offset);
  }
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override {
    for (const auto& [offset, bytes] : pieces) note_write(offset, std::ssize(bytes));
    inner().write_pieces(pieces);
  }
  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    const size_t got = ForwardingFile::read_at(data, offset);
    const std::lock_guard lock(ledger().mutex);
    tally_->read(path(), who_, since_, offset, static_cast<int64_t>(got), !only_asks_whose(std::ssize(data)));
    return got;
  }
  void sync() override {
    ForwardingFile::sync();
    const std::lock_guard lock(ledger().mutex);
    tally_->published(who_);
  }
  void revalidate() override {
    ForwardingFile::revalidate();
    const std::lock_guard lock(ledger().mutex);
    since_ = tally_->opened();
    tally_->closed(who_);
  }
  void close() override {
    note_close();
    ForwardingFile::close();
  }

 private:
  static HostsLedger& ledger() { return HostsLedger::of_test(); }
  // Returns whether a read of `bytes` bytes only identifies a file. Such reads are not counted. A task reads
  // a sidecar of the multifile to find its owner, and the pointer to find whether another program has
  // completed the multifile. It uses no data in them that another task of its program wrote.
  bool only_asks_whose(int64_t bytes) const {
    return bytes <= format::pointer_size || path().find(".journal") != std::string::npos ||
           path().find(".edges") != std::string::npos;
  }
  void note_write(int64_t offset, int64_t bytes) {
    const std::lock_guard lock(ledger().mutex);
    tally_->wrote(path(), who_, offset, bytes);
  }
  void note_close() {
    const std::lock_guard lock(ledger().mutex);
    if (!std::exchange(is_open_, false)) return;
    tally_->closed(who_);
    --*open_;
  }

  const std::shared_ptr<HostsTally> tally_;
  const HostedTask who_;
  const std::shared_ptr<size_t> open_;
  int64_t since_ = 0;
  bool is_open_ = true;
};

// Gives each simulated task its open files. Tests use it where a program of one process would use
// SharedHandles.
class TaskHandles final : public ForwardingStore {
 public:
  explicit TaskHandles(Store& inner) : ForwardingStore(inner), shared_(inner) {}
  ~TaskHandles() override { HostsLedger::of_test().forget(this); }
  TaskHandles(const TaskHandles&) = delete;
  TaskHandles& operator=(const TaskHandles&) = delete;

  std::shared_ptr<File> open(const std::string& path, Access access) override {
    const int task = memory_owner();
    if (tasks_of_host() <= 0 || task < 0) return shared_.open(path, access);
    auto file = inner().open(path, access);
    return std::make_shared<TalliedFile>(std::move(file), HostsLedger::of_test().tally(this, path),
                                         HostedTask{task / tasks_of_host(), task}, open_);
  }
  void remove(const std::string& path) override {
    shared_.remove(path);
    HostsLedger::of_test().remove(this, path);
  }
  void rename(const std::string& from, const std::string& to) override {
    shared_.rename(from, to);
    HostsLedger::of_test().rename(this, from, to);
  }
  size_t open_files() const { return shared_.open_files() + *open_; }
  FileSystemTraits traits_of(File& file) override { return traits(file.path()); }
  FileSystemTraits traits(const std::string& path) override {
    FileSystemTraits traits = inner().traits(path);
    if (tasks_of_host() <= 0) return traits;
    traits.coherence = Coherence::close_to_open;
    traits.locks = LockScope::host;
    traits.unit = HostsLedger::unit;
    return traits;
  }

 private:
  SharedHandles shared_;
  const std::shared_ptr<size_t> open_ = std::make_shared<size_t>(0);
};

class HostsCounter final : public ::testing::EmptyTestEventListener {
 public:
  void OnTestStart(const ::testing::TestInfo&) override { HostsLedger::of_test().begin(); }
  void OnTestEnd(const ::testing::TestInfo& test) override {
    const HostsCounts found = HostsLedger::of_test().begin();
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    std::printf(
        "[  HOSTS   ] %s: %lld units two hosts wrote, %lld bytes read that another task wrote (%lld of its "
        "own host)\n",
        name.c_str(), static_cast<long long>(found.shared_units),
        static_cast<long long>(found.foreign_bytes + found.neighbour_bytes),
        static_cast<long long>(found.neighbour_bytes));
    const bool right = found.shared_units == 0 && found.foreign_bytes + found.neighbour_bytes == 0;
    if (right) return;
    for (const std::string& example : found.examples) ADD_FAILURE() << example;
  }
};

inline const bool hosts_are_counted = [] {
  if (tasks_of_host() > 0) ::testing::UnitTest::GetInstance()->listeners().Append(new HostsCounter);
  return true;
}();

}  // namespace sheaf::test
