// accepted: records, for each task, the bytes that the calls of a program accepted, and checks a file against
// them. A close must fail if the program did not repeat a failed call. After a successful close, the file
// holds every accepted byte in call order, and no byte of a failed call.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "multifile/tools/verify.hpp"
#include "support/programs.hpp"

namespace sheaf::test {

class Accepted {
 public:
  explicit Accepted(int64_t ntasks) : streams_(static_cast<size_t>(ntasks)), committed_(streams_.size()) {}

  // Events that an observer receives: a call of a task begins; its bytes are accepted; its bytes are
  // abandoned (task -1); a flush of the bytes that the task has written so far succeeds.
  enum class Event : uint8_t { begun, accepted, lacked, committed };
  using Observer = std::function<void(Event, int64_t task, std::span<const std::byte>)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

  // Returns `bytes` new bytes for the next call of `task`. No two calls write the same bytes, so a check
  // recognizes the bytes of a failed call.
  std::vector<std::byte> next(int64_t task, int64_t bytes) {
    tell(Event::begun, task, {});
    return content(task + 1009 * ++calls_, 0, bytes);
  }
  void accept(int64_t task, std::span<const std::byte> bytes) {
    if (stopped_) return lack(bytes);
    auto& stream = streams_.at(static_cast<size_t>(task));
    stream.insert(stream.end(), bytes.begin(), bytes.end());
    tell(Event::accepted, task, bytes);
  }
  // Reaction of a program to a failed call.
  enum class Reaction { ignore, repeat, repeat_in_halves };
  static constexpr int max_tries = 4;
  // Calls write(data). If the call fails, follows `reaction`: ignores the failure, or repeats the call, whole
  // or in halves, at most max_tries times. Records the accepted bytes and whether any byte was rejected for
  // good.
  template <class Write>
  void call(int64_t task, std::span<const std::byte> data, Reaction reaction, Write&& write) {
    if (!attempt([&] { write(data); })) return accept(task, data);
    std::vector<std::span<const std::byte>> parts{data};
    if (reaction == Reaction::ignore) return lack(data);
    if (reaction == Reaction::repeat_in_halves)
      parts = {data.first(data.size() / 2), data.subspan(data.size() / 2)};
    for (const auto part : parts) {
      int tries = 1;
      while (attempt([&] { write(part); }))
        if (++tries > max_tries) return lack(part);
      accept(task, part);
    }
  }
  // Records that the program continued without `bytes`, which a failed call rejected.
  void lack(std::span<const std::byte> bytes) {
    lacks_ |= !bytes.empty();
    tell(Event::lacked, -1, bytes);
  }
  bool lacks_bytes() const { return lacks_; }
  // Records that the program died. Results of later calls are ignored.
  void stop() { stopped_ = true; }
  // Records a successful flush of the task.
  void commit(int64_t task) {
    if (stopped_) return;
    committed_.at(static_cast<size_t>(task)) = std::ssize(of(task));
    tell(Event::committed, task, {});
  }

  int64_t ntasks() const { return std::ssize(streams_); }
  const std::vector<std::byte>& of(int64_t task) const { return streams_.at(static_cast<size_t>(task)); }
  int64_t committed(int64_t task) const { return committed_.at(static_cast<size_t>(task)); }

  // Requires, after a successful close, that the file holds all accepted bytes.
  void expect_all_in(Store& store, const std::string& path = "a") const {
    EXPECT_FALSE(lacks_) << "a close succeeded after a call that had failed and was not repeated";
    std::vector<std::vector<std::byte>> found;
    ASSERT_NO_THROW(found = streams_in(store, path)) << "a file whose close succeeded cannot be read";
    ASSERT_EQ(std::ssize(found), ntasks());
    for (int64_t t = 0; t < ntasks(); ++t) {
      const auto& stream = found[static_cast<size_t>(t)];
      EXPECT_EQ(std::ssize(stream), std::ssize(of(t))) << "task " << t << ": bytes there, and bytes accepted";
      EXPECT_EQ(first_difference(t, stream), -1) << "task " << t << ": first wrong byte";
    }
    EXPECT_FALSE(multifile::Reader(store, path, mode_of("r")).facts().unclosed);
    multifile::WorkProgress quiet;
    EXPECT_TRUE(multifile::verify(store, path, true, quiet).ok());
  }

  // Checks a file after a failed close or the death of the program. If the file can be read, every stream
  // must be a prefix of the accepted bytes. If `flushed`, this prefix must include all flushed bytes. If
  // `frames`, bytes of a failed call may follow, because compressed frames can be stored before the call
  // fails.
  void expect_beginnings_in(Store& store, bool flushed, bool frames, const std::string& path = "a") const {
    std::vector<std::vector<std::byte>> found;
    if (attempt([&] { found = streams_in(store, path); })) {
      if (flushed) {
        for (int64_t t = 0; t < ntasks(); ++t) EXPECT_EQ(committed(t), 0) << "task " << t << " had flushed";
      }
      return;
    }
    for (int64_t t = 0; t < std::min(ntasks(), std::ssize(found)); ++t) {
      const auto& stream = found[static_cast<size_t>(t)];
      const int64_t wrong = first_difference(t, stream);
      EXPECT_TRUE(wrong == -1 || (frames && wrong >= committed(t)))
          << "task " << t << ": first wrong byte " << wrong;
      if (flushed) {
        EXPECT_GE(std::ssize(stream), committed(t)) << "task " << t;
      }
    }
  }

 private:
  void tell(Event event, int64_t task, std::span<const std::byte> bytes) const {
    if (observer_) observer_(event, task, bytes);
  }
  static std::vector<std::vector<std::byte>> streams_in(Store& store, const std::string& path) {
    multifile::Reader all(store, path, mode_of("r"));
    std::vector<std::vector<std::byte>> streams;
    for (int64_t t = 0; t < all.ntasks(); ++t) {
      all.select(t);
      std::vector<std::byte> bytes(static_cast<size_t>(all.stream().sizes().total()) + 1);
      bytes.resize(all.stream().read(bytes));
      streams.push_back(std::move(bytes));
    }
    return streams;
  }
  int64_t first_difference(int64_t task, const std::vector<std::byte>& stream) const {
    const auto common = static_cast<ptrdiff_t>(std::min(stream.size(), of(task).size()));
    const auto at =
        std::mismatch(stream.begin(), stream.begin() + common, of(task).begin()).first - stream.begin();
    return at == common ? -1 : at;
  }

  std::vector<std::vector<std::byte>> streams_;
  std::vector<int64_t> committed_;
  Observer observer_;
  int64_t calls_ = 0;
  bool lacks_ = false;
  bool stopped_ = false;
};

}  // namespace sheaf::test
