#include "sfio/striped_store.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/os/host_name.hpp"
#include "sfio/direct_link.hpp"
#include "sfio/striped_file.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "storage/posix/posix_store.hpp"
#include "storage/range.hpp"

namespace sheaf::sfio {

namespace {

class StoredFile final : public File {
 public:
  StoredFile(std::string path, std::unique_ptr<StripedFile> file, bool writable)
      : path_(std::move(path)), file_(std::move(file)), writable_(writable) {}
  ~StoredFile() override {
    try {
      close();
    } catch (const std::exception&) {
    }
  }

  void write_at(std::span<const std::byte> data, int64_t offset) override {
    const Piece<const std::byte> pieces[] = {{offset, data}};
    write_pieces(pieces);
  }

  void write_pieces(std::span<const Piece<const std::byte>> pieces) override {
    require_writable(path_, writable_);
    file().write(blocks_of(pieces));
  }
  void read_pieces(std::span<const Piece<std::byte>> pieces) override { file().read(blocks_of(pieces)); }

  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    require_range(path_, offset, data.size());
    return static_cast<size_t>(file().read_block({offset, data.data(), std::ssize(data)}));
  }

  FileStatus status() override {
    const StripedStatus found = file().status();
    return {.exists = true, .size = found.size, .block_size = found.block_size, .allocated = found.allocated};
  }

  void resize(int64_t size) override {
    require_writable(path_, writable_);
    require_range(path_, size, 0);
    file().resize(size);
  }

  void sync() override { file().sync(); }

  RangeLock lock_range(const LockRequest& wanted) override { return file().lock_range(wanted); }

  // Reports no holes, although subfiles may have some.
  int64_t next(Space space, int64_t offset) override {
    require_range(path_, offset, 0);
    const int64_t size = status().size;
    return space == Space::data ? std::min(offset, size) : size;
  }

  FileTraits traits() override { return {.dear_requests = true}; }

  const std::string& path() const override { return path_; }

  void close() override {
    if (!file_) return;
    const auto file = std::move(file_);
    file->close();
  }

 private:
  template <class Byte>
  std::vector<Block> blocks_of(std::span<const Piece<Byte>> pieces) const {
    std::vector<Block> blocks;
    blocks.reserve(pieces.size());
    for (const auto& [offset, memory] : pieces) {
      require_range(path_, offset, memory.size());
      blocks.push_back({offset, const_cast<std::byte*>(memory.data()), std::ssize(memory)});
    }
    return blocks;
  }

  StripedFile& file() {
    if (!file_) throw os_error("cannot use", path_, EBADF);
    return *file_;
  }

  std::string path_;
  std::unique_ptr<StripedFile> file_;
  bool writable_;
};

SubfileOpenMode mode_of(Access access) {
  constexpr SubfileOpenMode modes[] = {SubfileOpenMode::read, SubfileOpenMode::write, SubfileOpenMode::create,
                                       SubfileOpenMode::fresh, SubfileOpenMode::write};
  return modes[static_cast<size_t>(access)];
}
static_assert(static_cast<size_t>(Access::sidecar) == 4);

StripeName named(const std::string& path) {
  if (!is_stripe_path(path))
    throw Error(Code::invalid_argument, "'" + path + "' does not name a striped file (sfio:...)");
  return parse_stripe_name(path);
}

class StripedStore final : public Store {
 public:
  explicit StripedStore(std::shared_ptr<Link> link) : link_(std::move(link)) {}

  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return std::make_shared<StoredFile>(path, StripedFile::open(link_, named(path), mode_of(access)),
                                        access != Access::read);
  }

  // Reports a file with a missing subfile as existing, so that an open reports the defect.
  FileStatus status(const std::string& path) override {
    const StripeName name = named(path);
    const std::lock_guard hold(link_->lock());
    FileStatus status;
    std::vector<int64_t> sizes;
    int64_t unit = name.unit;
    for (const FoundSubfile& found : look(*link_, name)) {
      status.is_directory = status.is_directory || found.is_directory;
      status.exists = status.exists || found.exists;
      status.block_size = std::max(status.block_size, found.block_size);
      status.allocated += found.allocated;
      if (found.identity && found.identity->unit > 0) unit = found.identity->unit;
      sizes.push_back(found.size);
    }
    if (!status.exists) return {};
    const layout::Stripes stripes{unit > 0 ? unit : default_stripe_unit, std::ssize(sizes)};
    check_stripes(stripes);
    status.size = logical_size(stripes, sizes);
    return status;
  }

  void remove(const std::string& path) override {
    if (!remove_striped(*link_, named(path))) throw os_error("cannot remove", path, ENOENT);
  }

  // Subfiles may be on different file systems, and without I/O listeners each task uses its host's cache.
  // Reported as coherent, since all bytes of a subfile pass through one listener.
  FileSystemTraits traits(const std::string& path) override {
    const StripeName name = named(path);
    return {.coherence = Coherence::coherent,
            .unit = 1,
            .stripes = std::ssize(name.subfiles),
            .stripe_size = name.unit > 0 ? name.unit : default_stripe_unit};
  }

  // Requires that every subfile keeps its host and its position in the order.
  void rename(const std::string& from, const std::string& to) override {
    if (is_stripe_path(from) != is_stripe_path(to))
      throw Error(Code::invalid_argument,
                  "cannot rename '" + from + "' to '" + to + "': one of them is striped");
    rename_striped(*link_, named(from), named(to));
  }

 private:
  std::shared_ptr<Link> link_;
};

struct Sessions {
  std::mutex mutex;
  std::shared_ptr<Store> store;  // null: no session
};

// Never destroyed: files may be closed while the process exits.
Sessions& sessions() {
  static auto* const all = new Sessions;
  return *all;
}

std::string root() {
  const char* const root = std::getenv("SHEAF_SFIO_ROOT");
  return root ? root : "";
}

// Returns true if the place of a subfile depends on the current directory when this task accesses it itself.
bool counts_from_directory(const std::string& path) {
  if (!root().empty()) return !root().starts_with('/');
  return std::ranges::any_of(parse_stripe_name(path).subfiles,
                             [](const SubfilePlace& p) { return !p.path.starts_with('/'); });
}

// Selects the store by the path of each call.
class AnyStore final : public ForwardingStore {
 public:
  // Returns the store for names that do not depend on the current directory. It lives until exit.
  static AnyStore& wherever() {
    static auto* const store = new AnyStore({std::shared_ptr<Store>(), &posix_store()});
    return *store;
  }

  explicit AnyStore(std::shared_ptr<Store> files, std::shared_ptr<const WorkingDirectory> directory = nullptr)
      : ForwardingStore(*files), files_(std::move(files)), directory_(std::move(directory)) {}

  void rename(const std::string& from, const std::string& to) override {
    store_of(is_stripe_path(to) ? to : from)->rename(from, to);
  }
  std::string place_of(const std::string& path) override {
    return !is_stripe_path(path) ? files_->place_of(path)
           : directory_          ? directory_->identity + "/" + path
                                 : path;
  }
  void copy_attributes(const std::string& path, const std::string& like, ReplaceState state) override {
    if (is_stripe_path(path) == is_stripe_path(like)) ForwardingStore::copy_attributes(path, like, state);
  }

  const WorkingDirectory* directory() const { return directory_.get(); }

 private:
  std::shared_ptr<Store> store_of(const std::string& path) override {
    if (!is_stripe_path(path)) return files_;
    if (directory_ && !counts_from_directory(path)) return wherever().store_of(path);
    const std::lock_guard hold(sessions().mutex);
    if (sessions().store) return sessions().store;
    // The link keeps `files_` alive, since files may outlive this object.
    const auto keep_files = [files = files_](Link* link) { delete link; };
    if (!own_) own_ = make_striped_store({direct_link(*files_, root(), host_name()).release(), keep_files});
    return own_;
  }

  const std::shared_ptr<Store> files_;
  const std::shared_ptr<const WorkingDirectory> directory_;  // null: the current directory of each call
  std::shared_ptr<Store> own_;                               // for subfiles that this task accesses itself
};

}  // namespace

std::shared_ptr<Store> make_striped_store(std::shared_ptr<Link> link) {
  return std::make_shared<StripedStore>(std::move(link));
}

void set_session_store(std::shared_ptr<Store> store) {
  const std::lock_guard hold(sessions().mutex);
  sessions().store = std::move(store);
}

Store& any_store() { return AnyStore::wherever(); }

std::shared_ptr<Store> any_store_for(const std::string& path) {
  if (!path.starts_with('/')) return any_store_here();
  return {std::shared_ptr<Store>(), &any_store()};
}

std::shared_ptr<Store> any_store_here() {
  static std::mutex mutex;
  static std::weak_ptr<AnyStore> latest;
  const auto directory = WorkingDirectory::now();
  const std::lock_guard lock(mutex);
  if (const auto known = latest.lock(); known && known->directory() == directory.get()) return known;
  auto store = std::make_shared<AnyStore>(posix_store_in(directory), directory);
  latest = store;
  return store;
}

}  // namespace sheaf::sfio
