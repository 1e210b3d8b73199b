#include "streams/preload/following.hpp"

#include <atomic>
#include <cerrno>
#include <mutex>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "streams/preload/fork_mutex.hpp"
#include "streams/preload/names/places.hpp"
#include "streams/preload/names/sets.hpp"
#include "streams/preload/plain_stream.hpp"

namespace sheaf::preload {

using streams::ContainerStream;
using streams::StreamTarget;

namespace {

constinit ForkMutex going_on{Guards::following};

std::shared_ptr<ContainerStream> open_target(const StreamTarget& target) {
  if (target.device != 0) return open_plain_stream(target);
  Place place;
  const auto set = match_canonical(target.path, place) ? set_at(place.match.set, false) : nullptr;
  return set ? set->open_number(target.number) : nullptr;
}

class FollowingStream final : public ContainerStream {
 public:
  explicit FollowingStream(std::shared_ptr<ContainerStream> stream)
      : now_(stream.get()), followed_{std::move(stream)} {}

  size_t read(std::span<std::byte> data, int64_t offset) override {
    return on_stream([&](ContainerStream& s) { return s.read(data, offset); });
  }
  int64_t write(std::span<const std::span<const std::byte>> parts, int64_t offset,
                streams::WriteAt how) override {
    return on_stream([&](ContainerStream& s) { return s.write(parts, offset, how); });
  }
  streams::Appended append(std::span<const std::span<const std::byte>> parts) override {
    return on_stream([&](ContainerStream& s) { return s.append(parts); });
  }
  void truncate(int64_t size) override {
    on_stream([&](ContainerStream& s) { s.truncate(size); });
  }
  void allocate(int64_t offset, int64_t length, bool extend, Allocation what) override {
    on_stream([&](ContainerStream& s) { s.allocate(offset, length, extend, what); });
  }
  streams::StreamStatus status() override {
    return on_stream([](ContainerStream& s) { return s.status(); });
  }
  void set(const streams::StreamAttributes& attributes) override {
    on_stream([&](ContainerStream& s) { s.set(attributes); });
  }
  std::string name() override { return now_.load()->name(); }
  std::string plain_path() override { return now_.load()->plain_path(); }
  std::optional<int64_t> next_data(int64_t offset) override {
    return on_stream([&](ContainerStream& s) { return s.next_data(offset); });
  }
  std::optional<int64_t> next_hole(int64_t offset) override {
    return on_stream([&](ContainerStream& s) { return s.next_hole(offset); });
  }
  void flush() override {
    on_stream([](ContainerStream& s) { s.flush(); });
  }
  void sync() override {
    on_stream([](ContainerStream& s) { s.sync(); });
  }

 private:
  template <class Call>
  std::invoke_result_t<Call, ContainerStream&> on_stream(Call&& call) {
    for (;;) {
      ContainerStream* const stream = now_.load(std::memory_order_acquire);
      try {
        return call(*stream);
      } catch (const Error& error) {
        if (error.errno_value() != ESTALE || !stream->moved()) throw;
      }
      go_on_behind(*stream);
    }
  }

  // Switches to the file that `stream` was renamed to. Keeps `stream` itself, because other threads may be in
  // calls on it.
  void go_on_behind(ContainerStream& stream) {
    const std::optional<StreamTarget> target = stream.moved();
    const auto next = open_target(*target);
    if (!next) throw os_error("was replaced, and nobody knows where to go on:", target->path, ESTALE);
    const std::lock_guard guard(going_on);
    if (now_.load() != &stream) return;
    followed_.push_back(next);
    now_.store(next.get(), std::memory_order_release);
  }

  std::atomic<ContainerStream*> now_;  // last element of followed_
  std::vector<std::shared_ptr<ContainerStream>> followed_;
};

}  // namespace

std::shared_ptr<ContainerStream> following(std::shared_ptr<ContainerStream> stream) {
  return stream ? std::make_shared<FollowingStream>(std::move(stream)) : nullptr;
}

}  // namespace sheaf::preload
