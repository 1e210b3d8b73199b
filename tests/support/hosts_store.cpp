#include "support/hosts_store.hpp"

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "storage/range.hpp"
#include "support/hosts_world.hpp"

namespace sheaf::test {

namespace {

using World = SimulatedHosts::World;

class HostedFile final : public File {
 public:
  HostedFile(std::string path, std::shared_ptr<World> world, std::shared_ptr<ServedFile> file, HostedTask who,
             bool writable)
      : path_(std::move(path)),
        world_(std::move(world)),
        file_(std::move(file)),
        who_(who),
        writable_(writable) {
    if (world_->has_caches() && world_->options.opens_revalidate) cache().revalidate();
    since_ = file_->tally.opened();
    length_ = file_->bytes.status().size;
  }
  HostedFile(const HostedFile&) = delete;
  HostedFile& operator=(const HostedFile&) = delete;
  ~HostedFile() override {
    try {
      close();
    } catch (const std::exception&) {
    }
  }

  void write_at(std::span<const std::byte> data, int64_t offset) override {
    require_writable(path_, writable_);
    require_range(path_, offset, data.size());
    const std::lock_guard lock(world_->mutex);
    require_open();
    file_->tally.wrote(path_, who_, offset, std::ssize(data));
    if (!world_->has_caches()) return server().write(data, offset);
    cache().write(data, offset);
    disturb();
  }

  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    require_range(path_, offset, data.size());
    const std::lock_guard lock(world_->mutex);
    require_open();
    if (world_->has_caches()) disturb();
    const size_t got = world_->has_caches() ? cache().read(data, offset) : server().read(data, offset);
    file_->tally.read(path_, who_, since_, offset, static_cast<int64_t>(got));
    return got;
  }

  FileStatus status() override {
    const std::lock_guard lock(world_->mutex);
    require_open();
    FileStatus status = file_->bytes.status();
    status.block_size = world_->options.page_of(who_.host);  // as FUSE and NFS report it
    if (world_->has_caches()) status.size = cache().size();
    return status;
  }

  void resize(int64_t size) override {
    require_writable(path_, writable_);
    require_range(path_, size, 0);
    const std::lock_guard lock(world_->mutex);
    require_open();
    if (!world_->has_caches()) return server().resize(size);
    cache().resize(size);
  }

  void sync() override {
    const std::lock_guard lock(world_->mutex);
    require_open();
    publish_pending();
  }

  void revalidate() override {
    const std::lock_guard lock(world_->mutex);
    require_open();
    if (!world_->has_caches()) return;
    publish_pending();
    cache().forget();
    server().check();
    since_ = ++world_->clock;
    length_ = file_->bytes.status().size;
  }

  bool write_directly(std::span<const std::byte> data, int64_t offset) override {
    require_writable(path_, writable_);
    require_range(path_, offset, data.size());
    const std::lock_guard lock(world_->mutex);
    require_open();
    if (!takes_directly(offset, data.size())) return false;
    file_->tally.wrote(path_, who_, offset, std::ssize(data));
    ServedFile::Seen& here = server();
    here.cache.flush();
    if (world_->options.behind)
      here.write_behind(data, offset);
    else
      here.write(data, offset);
    here.cache.forget();
    disturb();
    return true;
  }

  size_t read_directly(std::span<std::byte> data, int64_t offset) override {
    if (world_->options.direct == 0) return read_at(data, offset);
    require_range(path_, offset, data.size());
    const std::lock_guard lock(world_->mutex);
    require_open();
    cache().flush();
    if (world_->options.knows_old_lengths)
      data = data.first(static_cast<size_t>(std::clamp<int64_t>(length_ - offset, 0, std::ssize(data))));
    const size_t got = server().read(data, offset);
    file_->tally.read(path_, who_, ++world_->clock, offset, static_cast<int64_t>(got));
    return got;
  }

  int64_t next(Space space, int64_t offset) override {
    require_range(path_, offset, 0);
    const std::lock_guard lock(world_->mutex);
    require_open();
    if (world_->has_caches()) cache().flush();
    return space == Space::data ? file_->bytes.next_data(offset) : file_->bytes.next_hole(offset);
  }

  RangeLock lock_range(const LockRequest& wanted) override {
    const auto& [offset, length, exclusive, on_conflict, timeout] = wanted;
    const bool waits = on_conflict != OnConflict::refusal;
    Backoff looks(lock_backoff);
    if (!locks().lock(offset, length, exclusive, waits ? timeout : std::chrono::milliseconds(0))) {
      if (!waits) return {};
      throw not_locked(path_, offset, length, "another task", looks.waited());
    }
    locked();
    return held_until([this, offset = offset, length = length] { unlock(offset, length); });
  }

  const std::string& path() const override { return path_; }

  // If the server rejects pending bytes, they are lost and close() throws the error.
  void close() override {
    const std::lock_guard lock(world_->mutex);
    if (!std::exchange(is_open_, false)) return;
    const auto done = [&](void*) { file_->tally.closed(who_); };
    const std::unique_ptr<void, decltype(done)> at_end(this, done);
    if (world_->has_caches()) cache().flush();
  }

 private:
  // If the server rejects pending bytes, they are lost, as in close().
  void unlock(int64_t offset, int64_t length) {
    if (!is_open_) return;
    attempt([&] {
      const std::lock_guard lock(world_->mutex);
      if (world_->has_caches()) --cache().locks_held;
      if (revalidates()) publish_pending();
    });
    locks().unlock(offset, length);
  }

  void require_open() const {
    if (!is_open_) throw os_error("cannot use the closed file", path_, EBADF);
  }
  ServedFile::Seen& server() { return world_->seen_by(who_.host, *file_); }
  // Returns the cache, after sending the pending writes: these precede all other requests of the host.
  HostCache& cache() {
    server().drain();
    return server().cache;
  }

  void publish_pending() {
    if (world_->has_caches()) cache().flush();
    file_->tally.published(who_);
  }

  bool revalidates() const {
    return world_->has_caches() && world_->options.locks == LockScope::global &&
           world_->options.locks_revalidate;
  }

  void locked() {
    const std::lock_guard lock(world_->mutex);
    if (world_->has_caches()) ++cache().locks_held;
    if (!revalidates()) return;
    cache().forget();
    since_ = ++world_->clock;
  }

  RangeLocks& locks() {
    const std::lock_guard lock(world_->mutex);
    require_open();
    const bool is_shared = world_->options.coherence == Coherence::local;
    if (!is_shared && world_->options.locks == LockScope::none)
      throw os_error("cannot lock a range of", path_, ENOLCK);
    return is_shared || world_->options.locks == LockScope::global ? file_->bytes.locks
                                                                   : file_->host_locks[who_.host];
  }

  bool takes_directly(int64_t offset, size_t length) const {
    const int64_t block = world_->options.direct;
    return block > 0 && offset % block == 0 && static_cast<int64_t>(length) % block == 0;
  }

  void disturb() {
    if (world_->happens(world_->options.pressure)) cache().press(world_->random);
    if (world_->happens(world_->options.timeout)) cache().revalidate();
  }

  const std::string path_;
  const std::shared_ptr<World> world_;
  const std::shared_ptr<ServedFile> file_;
  const HostedTask who_;
  const bool writable_;
  int64_t since_ = 0;   // data published before this time may be read
  int64_t length_ = 0;  // file length when this File was opened or revalidated
  bool is_open_ = true;
};

}  // namespace

SimulatedHosts::SimulatedHosts(HostsOptions options) : world_(std::make_shared<World>(options)) {}
SimulatedHosts::~SimulatedHosts() = default;

HostsCounts SimulatedHosts::counts() const {
  const std::lock_guard lock(world_->mutex);
  return world_->counts;
}

void SimulatedHosts::add_directory(const std::string& path) {
  const std::lock_guard lock(world_->mutex);
  world_->directories.insert(path);
}

std::vector<std::byte> SimulatedHosts::contents(const std::string& path) const {
  const std::lock_guard lock(world_->mutex);
  const auto file = world_->at_server(path, "cannot read");
  std::vector<std::byte> bytes(static_cast<size_t>(file->bytes.status().size));
  bytes.resize(file->bytes.read(bytes, 0));
  return bytes;
}

std::vector<std::string> SimulatedHosts::paths() const {
  const std::lock_guard lock(world_->mutex);
  std::vector<std::string> names;
  for (const auto& [name, file] : world_->files) names.push_back(name);
  return names;
}

void SimulatedHosts::lose(int host) {
  const std::lock_guard lock(world_->mutex);
  for (const auto& [name, file] : world_->files) file->seen.erase(host);
}

HostsStore::HostsStore(const SimulatedHosts& hosts, int host, int64_t task)
    : world_(hosts.world_), who_{host, task} {}

std::shared_ptr<File> HostsStore::open(const std::string& path, Access access) {
  const std::lock_guard lock(world_->mutex);
  const bool makes = access == Access::create || access == Access::fresh;
  if (world_->directories.contains(path)) {
    if (access == Access::sidecar) throw file_error(Code::foreign, path, "is a directory");
    throw os_error("cannot open", path, access == Access::fresh ? EEXIST : EISDIR);
  }
  auto file = world_->find(who_.host, path, makes);
  if (file && access == Access::fresh) throw os_error("cannot create", path, EEXIST);
  if (!file && (path.empty() || !makes)) throw os_error("cannot open", path, ENOENT);
  if (!file) file = world_->make(who_.host, path);
  return std::make_shared<HostedFile>(path, world_, std::move(file), who_, access != Access::read);
}

// Returns attributes as this host caches them: their age is that of the host's last open.
FileStatus HostsStore::status(const std::string& path) {
  const std::lock_guard lock(world_->mutex);
  if (world_->directories.contains(path))
    return {
        .exists = true, .is_directory = true, .size = 0, .block_size = world_->options.page_of(who_.host)};
  const auto file = world_->find(who_.host, path);
  if (!file) return {};
  FileStatus status = file->bytes.status();
  status.block_size = world_->options.page_of(who_.host);
  if (!world_->has_caches()) return status;
  auto& cache = world_->seen_by(who_.host, *file).cache;
  if (world_->happens(world_->options.timeout)) cache.revalidate();
  status.size = cache.size();
  return status;
}

void HostsStore::remove(const std::string& path) {
  const std::lock_guard lock(world_->mutex);
  world_->remove(who_.host, path);
}

void HostsStore::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(world_->mutex);
  world_->rename(who_.host, from, to);
}

// Asks the server, because hosts do not cache directories.
std::vector<std::string> HostsStore::names_in(const std::string& directory) {
  const std::lock_guard lock(world_->mutex);
  std::vector<std::string> names;
  for (const auto& [path, file] : world_->files) {
    const size_t slash = path.rfind('/');
    if (path.substr(0, slash == std::string::npos ? 0 : slash) == directory)
      names.push_back(path.substr(slash + 1));
  }
  return names;
}

FilePlacement HostsStore::placement_of(File&, FileSystem) {
  const int host = world_->options.data_host;
  return {.one_client = world_->options.one_client, .host = host < 0 ? "" : std::to_string(host)};
}

bool HostsStore::is_host(const std::string& name) { return name == std::to_string(who_.host); }

FileSystemTraits HostsStore::traits(const std::string& path) {
  FileSystemTraits traits = Store::traits(path);
  traits.kind = world_->options.kind;
  traits.coherence = world_->options.coherence;
  traits.locks = traits.coherence == Coherence::local ? LockScope::global : world_->options.locks;
  traits.unit = world_->options.unit;
  return traits;
}

}  // namespace sheaf::test
