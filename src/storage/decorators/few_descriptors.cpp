#include "storage/decorators/few_descriptors.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/non_copyable.hpp"
#include "storage/constants.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "storage/store.hpp"

namespace sheaf {

namespace {

using namespace storage_constants;

size_t descriptors_for_files() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return max_descriptors;
  return std::clamp(static_cast<size_t>(limit.rlim_cur) / 2, fewest_descriptors, max_descriptors);
}

bool lacks_descriptors(const Error& e) { return e.errno_value() == EMFILE || e.errno_value() == ENFILE; }

// An evictable file and its state.
struct Sleeper {
  File& evictable;
  std::mutex waking{};  // serializes the threads that reopen the file
  bool rests = false;   // written under `waking` during a use, and by Awake while the file has no users
  int64_t users = 0;    // this and the following members are guarded by Awake
  bool listed = false;
  std::list<Sleeper*>::iterator place{};
};

// The list of files that hold a descriptor, most recently used first.
class Awake {
 public:
  void begin_use(Sleeper& file) {
    const std::lock_guard lock(mutex_);
    ++file.users;
    if (file.listed) {
      files_.splice(files_.begin(), files_, file.place);
      return;
    }
    file.place = files_.insert(files_.begin(), &file);
    file.listed = true;
    evict_beyond(descriptors_for_files());
  }
  void end_use(Sleeper& file) {
    const std::lock_guard lock(mutex_);
    --file.users;
  }
  void leave(Sleeper& file) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(file.listed, false)) files_.erase(file.place);
  }
  void rest_all() {
    const std::lock_guard lock(mutex_);
    evict_beyond(0);
  }

 private:
  // Evicts all files except for the `most` most recently used ones and files in use. The caller holds the
  // mutex.
  void evict_beyond(size_t most) {
    for (auto at = files_.end(); files_.size() > most && at != files_.begin();) {
      Sleeper& file = **--at;
      if (file.users > 0 || !file.evictable.evict()) continue;
      file.rests = true;
      file.listed = false;
      at = files_.erase(at);
    }
  }

  std::mutex mutex_;
  std::list<Sleeper*> files_;
};

// Never destroyed: files may be closed while the process exits.
Awake& awake() {
  static auto* const all = new Awake;
  return *all;
}

template <class Open>
auto with_descriptors(Open open) {
  try {
    return open();
  } catch (const Error& e) {
    if (!lacks_descriptors(e)) throw;
  }
  awake().rest_all();
  return open();
}

// Keeps the file open during its lifetime.
class DescriptorUse : private NonCopyable {
 public:
  explicit DescriptorUse(Sleeper& file) : file_(file) {
    awake().begin_use(file_);
    try {
      reopen_if_evicted();
    } catch (...) {
      awake().end_use(file_);
      throw;
    }
  }
  ~DescriptorUse() { awake().end_use(file_); }

 private:
  void reopen_if_evicted() {
    const std::lock_guard lock(file_.waking);
    if (!file_.rests) return;
    with_descriptors([&] { file_.evictable.reopen(); });
    file_.rests = false;
  }

  Sleeper& file_;
};

class OneOfMany final : public ForwardingFile {
 public:
  explicit OneOfMany(std::shared_ptr<File> file) : ForwardingFile(std::move(file)), own_{inner()} {
    const DescriptorUse counted(own_);
  }
  ~OneOfMany() override { awake().leave(own_); }

  void write_at(std::span<const std::byte> data, int64_t offset) override { use()->write_at(data, offset); }
  size_t read_at(std::span<std::byte> data, int64_t offset) override { return use()->read_at(data, offset); }
  void prefetch(int64_t offset, int64_t length) override { use()->prefetch(offset, length); }
  void drop_prefetched(int64_t from) override { inner().drop_prefetched(from); }
  FileStatus status() override { return use()->status(); }
  FileTraits traits() override { return {.opened_size = inner().traits().opened_size}; }
  void resize(int64_t size) override { use()->resize(size); }
  void sync() override { use()->sync(); }
  void revalidate() override { use()->revalidate(); }
  int64_t next(Space space, int64_t offset) override { return use()->next(space, offset); }
  RangeLock lock_range(const LockRequest& wanted) override {
    auto used = std::make_shared<DescriptorUse>(own_);
    return kept_with(inner().lock_range(wanted), std::move(used));
  }
  FileDescriptor descriptor(DescriptorKind kind) override {
    if (kind != DescriptorKind::file) return with_descriptors([&] { return inner().descriptor(kind); });
    auto used = std::make_shared<DescriptorUse>(own_);
    return {inner().descriptor(kind).number, std::move(used)};
  }

  void close() override {
    awake().leave(own_);
    inner().close();
  }

 private:
  // The inner file, kept open during the lifetime of the result.
  struct Open {
    DescriptorUse used;
    File& file;
    File* operator->() const { return &file; }
  };
  Open use() { return {DescriptorUse(own_), inner()}; }

  Sleeper own_;
};

}  // namespace

std::shared_ptr<File> open_one_of_many(Store& store, const std::string& path) {
  auto file = with_descriptors([&] { return store.open(path, Access::read); });
  if (!file->traits().evictable) return file;
  return std::make_shared<OneOfMany>(std::move(file));
}

}  // namespace sheaf
