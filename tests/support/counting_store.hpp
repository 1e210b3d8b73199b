// counting_store: counts concurrent writes, and delays each one so that concurrent writes overlap.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "storage/decorators/forwarding_file.hpp"
#include "storage/store.hpp"

namespace sheaf::test {

// Counters of CountingStore. They may be placed in memory that several processes share.
struct WritersAtWork {
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  std::atomic<int> writes{0};

  void enter() {
    const int here = ++now;
    for (int seen = most; here > seen && !most.compare_exchange_weak(seen, here);) continue;
    ++writes;
  }
  void leave() { --now; }
};

// Decorator of a Store. Counts the writes of at least `smallest` bytes, or with `reads` the reads of at least
// that size.
class CountingStore final : public Store {
 public:
  CountingStore(Store& inner, WritersAtWork& count, size_t smallest, bool reads = false)
      : inner_(inner), count_(count), smallest_(smallest), reads_(reads) {}

  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return std::make_shared<CountedFile>(inner_.open(path, access), *this);
  }
  FileStatus status(const std::string& path) override { return inner_.status(path); }
  void remove(const std::string& path) override { inner_.remove(path); }
  void rename(const std::string& from, const std::string& to) override { inner_.rename(from, to); }
  std::shared_ptr<WriteSlots> make_slots(int count) override { return inner_.make_slots(count); }
  std::shared_ptr<WriteSlots> join_slots(const std::string& name, int count) override {
    return inner_.join_slots(name, count);
  }

 private:
  class CountedFile final : public ForwardingFile {
   public:
    CountedFile(std::shared_ptr<File> file, CountingStore& store)
        : ForwardingFile(std::move(file)), store_(store) {}
    void write_at(std::span<const std::byte> data, int64_t offset) override {
      counted(data.size(), false, [&] { inner().write_at(data, offset); });
    }
    size_t read_at(std::span<std::byte> data, int64_t offset) override {
      size_t done = 0;
      counted(data.size(), true, [&] { done = inner().read_at(data, offset); });
      return done;
    }

   private:
    template <class Transfer>
    void counted(size_t bytes, bool reads, Transfer transfer) {
      const bool counts = bytes >= store_.smallest_ && reads == store_.reads_;
      if (counts) store_.count_.enter();
      if (counts) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      transfer();
      if (counts) store_.count_.leave();
    }

    CountingStore& store_;
  };

  Store& inner_;
  WritersAtWork& count_;
  const size_t smallest_;
  const bool reads_;
};

}  // namespace sheaf::test
