// counting_store: observes the requests to the files of a store, and counts concurrent ones.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "storage/decorators/forwarding_file.hpp"
#include "storage/decorators/forwarding_store.hpp"

namespace sheaf::test {

// Decorator of a Store. Derived classes observe each request to its files.
class ObservedStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return std::make_shared<ObservedFile>(ForwardingStore::open(path, access), *this);
  }

 protected:
  enum class ObservedKind : uint8_t { read, write };
  // Must call transfer() once, which makes the request of `bytes` bytes.
  virtual void observe(ObservedKind kind, int64_t bytes, const std::function<void()>& transfer) = 0;

 private:
  class ObservedFile final : public ForwardingFile {
   public:
    ObservedFile(std::shared_ptr<File> file, ObservedStore& store)
        : ForwardingFile(std::move(file)), store_(store) {}
    void write_at(std::span<const std::byte> data, int64_t offset) override {
      store_.observe(ObservedKind::write, std::ssize(data), [&] { inner().write_at(data, offset); });
    }
    void write_pieces(std::span<const Piece<const std::byte>> pieces) override {
      int64_t bytes = 0;
      for (const auto& piece : pieces) bytes += std::ssize(piece.memory);
      store_.observe(ObservedKind::write, bytes, [&] { inner().write_pieces(pieces); });
    }
    size_t read_at(std::span<std::byte> data, int64_t offset) override {
      size_t done = 0;
      store_.observe(ObservedKind::read, std::ssize(data), [&] { done = inner().read_at(data, offset); });
      return done;
    }

   private:
    ObservedStore& store_;
  };
};

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

// Counts the writes of at least `smallest` bytes, or with `reads` the reads of at least that size. Delays
// each of them, so that concurrent ones overlap.
class CountingStore final : public ObservedStore {
 public:
  CountingStore(Store& inner, WritersAtWork& count, int64_t smallest, bool reads = false)
      : ObservedStore(inner),
        count_(count),
        smallest_(smallest),
        kind_(reads ? ObservedKind::read : ObservedKind::write) {}

 private:
  void observe(ObservedKind kind, int64_t bytes, const std::function<void()>& transfer) override {
    if (kind != kind_ || bytes < smallest_) return transfer();
    count_.enter();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    transfer();
    count_.leave();
  }

  WritersAtWork& count_;
  const int64_t smallest_;
  const ObservedKind kind_;
};

}  // namespace sheaf::test
