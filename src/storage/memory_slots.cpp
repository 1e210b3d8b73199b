// storage/memory_slots: WriteSlots inside one process.
#include <condition_variable>
#include <map>
#include <mutex>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "storage/write_slots.hpp"

namespace sheaf {

namespace {

struct NamedSlots {
  std::mutex mutex;
  int64_t next = 0;
  std::map<std::string, std::weak_ptr<WriteSlots>> slots;
};

NamedSlots& named() {
  static auto* const all = new NamedSlots;  // slots may be released during the destruction of static objects
  return *all;
}

// Serves waiting threads in order of arrival, by tickets.
class MemorySlots final : public WriteSlots {
 public:
  MemorySlots(int count, std::string name) : name_(std::move(name)), free_(count) {}
  ~MemorySlots() override { hide(); }

  int take() override {
    std::unique_lock lock(mutex_);
    const int64_t ticket = arrived_++;
    changed_.wait(lock, [&] { return ticket == served_ && free_ > 0; });
    ++served_;
    --free_;
    SHEAF_ASSERT(free_ >= 0 && served_ <= arrived_);
    changed_.notify_all();
    return 0;
  }
  void give_back(int) noexcept override {
    const std::lock_guard lock(mutex_);
    ++free_;
    changed_.notify_all();
  }
  const std::string& name() const override { return name_; }
  void hide() noexcept override {
    const std::lock_guard lock(named().mutex);
    named().slots.erase(name_);
  }

 private:
  const std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;
  int64_t arrived_ = 0;
  int64_t served_ = 0;
};

}  // namespace

std::shared_ptr<WriteSlots> make_memory_slots(int count) {
  SHEAF_ASSERT(count > 0);
  const std::lock_guard lock(named().mutex);
  const std::string name = "slots." + std::to_string(named().next++);
  auto made = std::make_shared<MemorySlots>(count, name);
  named().slots[name] = made;
  return made;
}

std::shared_ptr<WriteSlots> join_memory_slots(const std::string& name) {
  const std::lock_guard lock(named().mutex);
  const auto at = named().slots.find(name);
  if (at != named().slots.end())
    if (auto found = at->second.lock()) return found;
  throw Error(Code::not_found, "there are no write slots named '" + name + "' in this process");
}

}  // namespace sheaf
