// storage/decorators/shared_handles: the table of open files, and the File that counts its holders.
#include "storage/decorators/shared_handles.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "base/assert.hpp"
#include "storage/decorators/forwarding_file.hpp"

namespace sheaf {

// The files that are open now. Handles share the table, so they may outlive the SharedHandles.
class SharedHandles::SharedHandleTable {
 public:
  using Key = std::pair<std::string, bool>;  // canonical path, and whether the file is open for writing
  struct OpenFileEntry {
    const SharedFileHandle* who;  // for comparison only
    std::weak_ptr<SharedFileHandle> handle;
  };

  std::mutex mutex;  // also held during opens: two tasks that open a path at once get one File
  std::map<Key, OpenFileEntry> open;

  void forget(const std::string& place) {
    for (const bool writable : {false, true}) open.erase({place, writable});
  }
};

class SharedHandles::SharedFileHandle final : public ForwardingFile {
 public:
  SharedFileHandle(std::shared_ptr<File> inner, SharedHandleTable::Key key,
                   std::shared_ptr<SharedHandleTable> table)
      : ForwardingFile(std::move(inner)), table_(std::move(table)), key_(std::move(key)) {}
  ~SharedFileHandle() override {
    const std::lock_guard lock(table_->mutex);
    leave_table();
  }

  void write_pieces(std::span<const Piece<const std::byte>> pieces) override { inner().write_pieces(pieces); }
  void read_pieces(std::span<const Piece<std::byte>> pieces) override { inner().read_pieces(pieces); }
  int64_t revalidate_opened() override { return inner().revalidate_opened(); }
  void publish() override { inner().publish(); }
  bool write_directly(std::span<const std::byte> data, int64_t offset) override {
    return inner().write_directly(data, offset);
  }
  size_t read_directly(std::span<std::byte> data, int64_t offset) override {
    return inner().read_directly(data, offset);
  }
  FileTraits traits() override { return inner().traits(); }
  FileDescriptor descriptor(DescriptorKind kind) override { return inner().descriptor(kind); }

  void close() override {
    {
      const std::lock_guard lock(table_->mutex);
      if (holders_ == 0 || --holders_ > 0) return;
      leave_table();
    }
    inner().close();
  }

  void join() {                  // requires the table's mutex
    SHEAF_ASSERT(holders_ > 0);  // a closed file is not in the table
    ++holders_;
  }

 private:
  // Erases this file's entry, but not that of a later file with the same name. Requires the table's mutex.
  void leave_table() {
    const auto entry = table_->open.find(key_);
    if (entry != table_->open.end() && entry->second.who == this) table_->open.erase(entry);
  }

  const std::shared_ptr<SharedHandleTable> table_;
  const SharedHandleTable::Key key_;  // canonical path at the time of the open
  int64_t holders_ = 1;               // opens without a matching close; guarded by the table's mutex
};

SharedHandles::SharedHandles(Store& inner)
    : ForwardingStore(inner), table_(std::make_shared<SharedHandleTable>()) {}
SharedHandles::SharedHandles(std::shared_ptr<Store> inner, const SharedHandles& beside)
    : ForwardingStore(*inner), kept_(std::move(inner)), table_(beside.table_) {}

std::shared_ptr<File> SharedHandles::open(const std::string& path, Access access) {
  const SharedHandleTable::Key key{inner().place_of(path), access != Access::read};
  const std::lock_guard lock(table_->mutex);
  const auto known = table_->open.find(key);
  if (access != Access::fresh && known != table_->open.end()) {
    if (auto handle = known->second.handle.lock()) {
      handle->join();
      return handle;
    }
  }
  // No SharedFileHandle may be destroyed while this function holds the mutex, because ~SharedFileHandle()
  // acquires the mutex.
  auto file = inner().open(path, access);
  auto& entry = table_->open[key];
  auto handle = std::make_shared<SharedFileHandle>(std::move(file), key, table_);
  entry = {handle.get(), handle};
  return handle;
}

void SharedHandles::remove(const std::string& path) {
  const std::lock_guard lock(table_->mutex);
  inner().remove(path);
  table_->forget(inner().place_of(path));
}

void SharedHandles::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(table_->mutex);
  inner().rename(from, to);
  table_->forget(inner().place_of(from));
  table_->forget(inner().place_of(to));
}

size_t SharedHandles::open_files() const {
  const std::lock_guard lock(table_->mutex);
  return table_->open.size();
}

}  // namespace sheaf
