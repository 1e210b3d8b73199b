#include "storage/decorators/few_descriptors.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "storage/decorators/forwarding_file.hpp"

namespace sheaf {

namespace {

constexpr size_t fewest_descriptors = 8;
constexpr size_t most_descriptors = 64 << 10;

size_t descriptors_for_files() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return most_descriptors;
  return std::clamp(static_cast<size_t>(limit.rlim_cur) / 2, fewest_descriptors, most_descriptors);
}

bool lacks_descriptors(const Error& e) { return e.errno_value() == EMFILE || e.errno_value() == ENFILE; }

class OneOfMany;

// Those that have a descriptor, the one used last in front.
class Awake {
 public:
  void begin_use(OneOfMany& file);
  void end_use(OneOfMany& file);
  void leave(OneOfMany& file);
  void rest_all();

 private:
  void rest_those_beyond(size_t most);

  std::mutex mutex_;
  std::list<OneOfMany*> files_;
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

class OneOfMany final : public ForwardingFile {
 public:
  OneOfMany(std::shared_ptr<File> inner, RestingFile& resting)
      : ForwardingFile(std::move(inner)), resting_(resting) {
    const Use counted(*this);
  }
  ~OneOfMany() override { awake().leave(*this); }
  OneOfMany(const OneOfMany&) = delete;
  OneOfMany& operator=(const OneOfMany&) = delete;

  void write_at(std::span<const std::byte> data, int64_t offset) override { use()->write_at(data, offset); }
  size_t read_at(std::span<std::byte> data, int64_t offset) override { return use()->read_at(data, offset); }
  FileStatus status() override { return use()->status(); }
  void resize(int64_t size) override { use()->resize(size); }
  void sync() override { use()->sync(); }
  void renew() override { use()->renew(); }
  int64_t next(Space space, int64_t offset) override { return use()->next(space, offset); }
  RangeLock lock_range(const LockRequest& wanted) override {
    auto used = std::make_unique<Use>(*this);
    return kept_with(inner().lock_range(wanted), std::move(used));
  }
  FileDescriptor descriptor(Whose whose) override {
    if (whose != Whose::file) return with_descriptors([&] { return inner().descriptor(whose); });
    auto used = std::make_shared<Use>(*this);
    return {inner().descriptor(whose).number, std::move(used)};
  }

  void close() override {
    awake().leave(*this);
    inner().close();
  }

 private:
  friend Awake;

  // Keeps the file open while it exists.
  class Use {
   public:
    explicit Use(OneOfMany& file) : file_(file) {
      awake().begin_use(file_);
      try {
        file_.open_if_resting();
      } catch (...) {
        awake().end_use(file_);
        throw;
      }
    }
    ~Use() { awake().end_use(file_); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    File* operator->() const { return &file_.inner(); }

   private:
    OneOfMany& file_;
  };
  Use use() { return Use(*this); }

  void open_if_resting() {
    const std::lock_guard lock(waking_);
    if (!rests_) return;
    with_descriptors([&] { resting_.wake(); });
    rests_ = false;
  }

  RestingFile& resting_;
  std::mutex waking_;   // of the threads that use the file
  bool rests_ = false;  // changed by users under `waking_`, and by Awake where there are none
  int64_t users_ = 0;   // from here on guarded by Awake
  bool listed_ = false;
  std::list<OneOfMany*>::iterator place_;
};

void Awake::begin_use(OneOfMany& file) {
  const std::lock_guard lock(mutex_);
  ++file.users_;
  if (file.listed_) {
    files_.splice(files_.begin(), files_, file.place_);
    return;
  }
  file.place_ = files_.insert(files_.begin(), &file);
  file.listed_ = true;
  rest_those_beyond(descriptors_for_files());
}

void Awake::end_use(OneOfMany& file) {
  const std::lock_guard lock(mutex_);
  --file.users_;
}

void Awake::leave(OneOfMany& file) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(file.listed_, false)) files_.erase(file.place_);
}

void Awake::rest_all() {
  const std::lock_guard lock(mutex_);
  rest_those_beyond(0);
}

// The caller holds the mutex. Those in use stay.
void Awake::rest_those_beyond(size_t most) {
  for (auto at = files_.end(); files_.size() > most && at != files_.begin();) {
    OneOfMany& file = **--at;
    if (file.users_ > 0 || !file.resting_.rest()) continue;
    file.rests_ = true;
    file.listed_ = false;
    at = files_.erase(at);
  }
}

}  // namespace

std::shared_ptr<File> open_one_of_many(Store& store, const std::string& path) {
  auto file = with_descriptors([&] { return store.open(path, Access::read); });
  RestingFile* const resting = file->traits().resting;
  if (!resting) return file;
  return std::make_shared<OneOfMany>(std::move(file), *resting);
}

}  // namespace sheaf
