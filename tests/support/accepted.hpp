// accepted: what the calls of a program have accepted, task by task, and whether a file holds it. The
// promise: a close that succeeds has every byte that any call accepted, in the order of the calls, and no
// byte of a call that failed; and no call failed that was not repeated.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "support/programs.hpp"
#include "tools/verify.hpp"

namespace sheaf::test {

class Accepted {
 public:
  explicit Accepted(int64_t ntasks) : streams_(static_cast<size_t>(ntasks)), committed_(streams_.size()) {}

  // Events are told to an observer: a call of a task begins; its bytes are accepted, or given up (task -1);
  // all bytes accepted so far are flushed.
  enum class Event : uint8_t { begun, accepted, lacked, committed };
  using Observer = std::function<void(Event, int64_t task, std::span<const std::byte>)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

  // Bytes for the next call of a task. Two calls never write the same, so that a byte of one that failed is
  // known.
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
  // How a program answers a call that fails.
  enum class Answer { ignore, repeat, repeat_in_halves };
  static constexpr int most_tries = 4;
  // Writes `data` by `write`, once, or, as `answer` says, until that does not throw; notes what was accepted,
  // and whether anything was not.
  template <class Write>
  void call(int64_t task, std::span<const std::byte> data, Answer answer, Write&& write) {
    if (!attempt([&] { write(data); })) return accept(task, data);
    std::vector<std::span<const std::byte>> parts{data};
    if (answer == Answer::ignore) return lack(data);
    if (answer == Answer::repeat_in_halves)
      parts = {data.first(data.size() / 2), data.subspan(data.size() / 2)};
    for (const auto part : parts) {
      int tries = 1;
      while (attempt([&] { write(part); }))
        if (++tries > most_tries) return lack(part);
      accept(task, part);
    }
  }
  // The program has gone on without these bytes, of a call that failed.
  void lack(std::span<const std::byte> bytes) {
    lacks_ |= !bytes.empty();
    tell(Event::lacked, -1, bytes);
  }
  bool lacks_bytes() const { return lacks_; }
  // The program has died: what its calls return from now on is of no consequence.
  void stop() { stopped_ = true; }
  // A flush of the task has succeeded.
  void commit(int64_t task) {
    if (stopped_) return;
    committed_.at(static_cast<size_t>(task)) = std::ssize(of(task));
    tell(Event::committed, task, {});
  }

  int64_t ntasks() const { return std::ssize(streams_); }
  const std::vector<std::byte>& of(int64_t task) const { return streams_.at(static_cast<size_t>(task)); }
  int64_t committed(int64_t task) const { return committed_.at(static_cast<size_t>(task)); }

  // The close has succeeded.
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
    EXPECT_FALSE(Reader(store, path, mode_of("r")).facts().unclosed);
    WorkProgress quiet;
    EXPECT_TRUE(verify(store, path, true, quiet).ok());
  }

  // The close has failed, or the program was killed: a file that can be read begins every stream as it was
  // accepted. `flushed`: it has at least what was flushed. `frames`: behind that may be bytes of a call that
  // has failed, in frames stored before.
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
    Reader all(store, path, mode_of("r"));
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
