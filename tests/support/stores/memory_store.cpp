// support/stores/memory_store: names and handles of the files in memory.
#include "support/stores/memory_store.hpp"

#include <cerrno>

#include "base/error.hpp"
#include "storage/range.hpp"
#include "support/stores/memory_inode.hpp"

namespace sheaf {

namespace {

class MemoryFile final : public File {
 public:
  MemoryFile(std::string path, std::shared_ptr<MemoryStore::Inode> inode, bool writable)
      : path_(std::move(path)), inode_(std::move(inode)), writable_(writable) {}

  void write_at(std::span<const std::byte> data, int64_t offset) override {
    require_writable(path_, writable_);
    require_range(path_, offset, data.size());
    inode().write(data, offset);
  }
  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    require_range(path_, offset, data.size());
    return inode().read(data, offset);
  }
  FileStatus status() override { return inode().status(); }
  void resize(int64_t size) override {
    require_writable(path_, writable_);
    require_range(path_, size, 0);
    inode().resize(size);
  }
  void sync() override { inode(); }
  int64_t next(Space space, int64_t offset) override {
    require_range(path_, offset, 0);
    return space == Space::data ? inode().next_data(offset) : inode().next_hole(offset);
  }
  RangeLock lock_range(const LockRequest& wanted) override {
    const auto& [offset, length, exclusive, on_conflict, timeout] = wanted;
    const bool waits = on_conflict != OnConflict::refusal;
    Backoff looks(lock_backoff);
    inode();
    if (inode_->locks.lock(offset, length, exclusive, waits ? timeout : std::chrono::milliseconds(0)))
      return held_until(
          [inode = inode_, offset = offset, length = length] { inode->locks.unlock(offset, length); });
    if (!waits) return {};
    throw not_locked(path_, offset, length, "another task", looks.waited());
  }
  const std::string& path() const override { return path_; }
  void close() override { inode_.reset(); }

 private:
  MemoryStore::Inode& inode() const {
    if (!inode_) throw os_error("cannot use the closed file", path_, EBADF);
    return *inode_;
  }

  const std::string path_;
  std::shared_ptr<MemoryStore::Inode> inode_;
  const bool writable_;
};

}  // namespace

MemoryStore::MemoryStore(int64_t block_size, int64_t page_size)
    : block_size_(block_size), page_size_(page_size) {}
MemoryStore::~MemoryStore() = default;

std::shared_ptr<File> MemoryStore::open(const std::string& path, Access access) {
  const std::lock_guard lock(mutex_);
  if (directories_.contains(path)) {
    if (access == Access::sidecar) throw file_error(Code::foreign, path, "is a directory");
    throw os_error("cannot open", path, access == Access::fresh ? EEXIST : EISDIR);
  }
  auto found = files_.find(path);
  if (found != files_.end() && access == Access::fresh) throw os_error("cannot create", path, EEXIST);
  if (found == files_.end()) {
    if (path.empty() || (access != Access::create && access != Access::fresh))
      throw os_error("cannot open", path, ENOENT);
    found = files_.emplace(path, std::make_shared<Inode>(block_size_, page_size_)).first;
  }
  return std::make_shared<MemoryFile>(path, found->second, access != Access::read);
}

FileStatus MemoryStore::status(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (directories_.contains(path))
    return {.exists = true, .is_directory = true, .size = 0, .block_size = block_size_};
  const auto found = files_.find(path);
  return found == files_.end() ? FileStatus{} : found->second->status();
}

void MemoryStore::remove(const std::string& path) {
  const std::lock_guard lock(mutex_);
  find(path, "cannot remove")->removed = true;
  files_.erase(path);
}

bool MemoryStore::make_in_stripes(const std::string& path, const Striping& wanted) {
  const std::lock_guard lock(mutex_);
  if (directories_.contains(path) || files_.contains(path)) return false;
  const auto made = files_.emplace(path, std::make_shared<Inode>(block_size_, page_size_)).first;
  made->second->striping = wanted;
  return true;
}

Striping MemoryStore::striping(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return find(path, "cannot find")->striping;
}

void MemoryStore::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  auto inode = find(from, "cannot rename");
  if (directories_.contains(to)) throw os_error("cannot rename to '" + to + "' the file", from, EISDIR);
  if (from == to) return;
  files_.erase(from);
  auto& named = files_[to];
  if (named) named->removed = true;
  named = std::move(inode);
}

std::vector<std::string> MemoryStore::names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const std::string& path : paths()) {
    const size_t slash = path.rfind('/');
    if (path.substr(0, slash == std::string::npos ? 0 : slash) == directory)
      names.push_back(path.substr(slash + 1));
  }
  return names;
}

void MemoryStore::add_directory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  directories_.insert(path);
}

std::vector<std::byte> MemoryStore::contents(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto inode = find(path, "cannot read");
  std::vector<std::byte> bytes(static_cast<size_t>(inode->status().size));
  bytes.resize(inode->read(bytes, 0));
  return bytes;
}

void MemoryStore::set_contents(const std::string& path, std::span<const std::byte> data) {
  const auto file = open(path, Access::create);
  file->resize(0);
  file->write_at(data, 0);
}

std::vector<std::string> MemoryStore::paths() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  names.reserve(files_.size());
  for (const auto& [name, inode] : files_) names.push_back(name);
  return names;
}

int64_t MemoryStore::allocated() const {
  const std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const auto& [name, inode] : files_) sum += inode->status().allocated;
  return sum;
}

// The caller holds the mutex.
std::shared_ptr<MemoryStore::Inode> MemoryStore::find(const std::string& path, const char* doing) const {
  if (directories_.contains(path)) throw os_error(doing, path, EISDIR);
  const auto found = files_.find(path);
  if (found == files_.end()) throw os_error(doing, path, ENOENT);
  return found->second;
}

}  // namespace sheaf
