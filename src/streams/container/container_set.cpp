#include "streams/container/container_set.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "storage/store.hpp"
#include "streams/container/constants.hpp"
#include "streams/container/container_names.hpp"
#include "streams/container/host_container.hpp"
#include "streams/container/host_stream.hpp"
#include "streams/container/sums/wanted.hpp"

namespace sheaf::streams {

using multifile::Checking;
using namespace container_constants;

namespace {

using Clock = std::chrono::steady_clock;

bool is_writing(const StreamOpening& opening) { return opening.create || opening.truncate || opening.write; }

StreamStatus status_of(const NamedStream& stream) {
  return {number_of(stream.key), stream.size, stream.modified(), stream.changed, stream.mode, true};
}

// A stream of another host or of the multifile, opened for reading on a host that has not written to the set.
// Once a process of this host writes to the set, the stream shows the contents that its processes share.
class ForeignStream final : public ContainerStream {
 public:
  // Function that returns this stream as the processes of this host share it. Returns nullopt if they do not
  // share the set, and null if the stream has lost its name.
  using Ask = std::function<std::optional<std::shared_ptr<ContainerStream>>()>;

  ForeignStream(std::shared_ptr<const NamedStreams> set, const NamedStream& stream, Ask ask)
      : set_(std::move(set)), stream_(stream), ask_(std::move(ask)) {}
  ~ForeignStream() override { delete shared_.load(); }

  size_t read(std::span<std::byte> data, int64_t offset) override {
    if (ContainerStream* const now = shared()) return now->read(data, offset);
    if (offset < 0) throw os_error("there is no such offset in the stream", stream_.name, EINVAL);
    return set_->read_pieces(stream_, data, offset);
  }
  int64_t write(std::span<const std::span<const std::byte>>, int64_t, WriteAt) override { refuse(); }
  Appended append(std::span<const std::span<const std::byte>>) override { refuse(); }
  void truncate(int64_t) override { refuse(); }
  void allocate(int64_t, int64_t, bool, Allocation) override { refuse(); }
  StreamStatus status() override {
    if (ContainerStream* const now = shared()) return now->status();
    StreamStatus status = status_of(stream_);
    status.linked = shared_.load() == nullptr;
    return status;
  }
  void set(const StreamAttributes&) override { refuse(); }
  std::string name() override {
    if (ContainerStream* const now = shared()) return now->name();
    return shared_.load() == nullptr ? stream_.name : std::string();
  }
  std::optional<StreamTarget> moved() override {
    ContainerStream* const now = shared();
    return now ? now->moved() : std::nullopt;
  }
  std::optional<int64_t> next_data(int64_t offset) override { return next(Space::data, offset); }
  std::optional<int64_t> next_hole(int64_t offset) override { return next(Space::hole, offset); }
  void flush() override {}
  void sync() override {}

 private:
  [[noreturn]] void refuse() const {
    throw os_error("not open for writing: the stream", stream_.name, EBADF);
  }
  // Returns the shared stream; null if there is none. Uses no lock, because a fork may happen at any time.
  ContainerStream* shared() {
    if (const ContainerStreamRef* const known = shared_.load()) return known->get();
    std::optional<ContainerStreamRef> found;
    try {
      found = ask_();
    } catch (const Error&) {  // continue with the content known at open
    }
    if (!found) return nullptr;
    auto made = std::make_unique<const ContainerStreamRef>(std::move(*found));
    const ContainerStreamRef* known = nullptr;
    return shared_.compare_exchange_strong(known, made.get()) ? made.release()->get() : known->get();
  }
  std::optional<int64_t> next(Space what, int64_t offset) {
    if (ContainerStream* const now = shared())
      return what == Space::data ? now->next_data(offset) : now->next_hole(offset);
    return next_in(stream_.pieces, stream_.size, what, offset);
  }

  using ContainerStreamRef = std::shared_ptr<ContainerStream>;
  const std::shared_ptr<const NamedStreams> set_;
  const NamedStream& stream_;
  const Ask ask_;
  std::atomic<const ContainerStreamRef*> shared_{nullptr};
};

class HostSet final : public ContainerSet, public std::enable_shared_from_this<HostSet> {
 public:
  // `host` must have a name.
  HostSet(Store& store, const std::string& path, const ContainerHost& host, Checking checking)
      : store_(store),
        host_(host),
        reader_(std::make_shared<SetReader>(store, path, container_name(path, host.name), checking)),
        local_(store.traits(path).is_local()) {}

  const std::string& path() const override { return reader_->path(); }

  std::shared_ptr<ContainerStream> open_stream(std::string_view name, const StreamOpening& opening) override;
  std::shared_ptr<ContainerStream> open_number(uint64_t number) override;
  std::optional<StreamStatus> status(std::string_view name) override { return status(name, true); }
  std::optional<StreamStatus> known(std::string_view name) override { return status(name, false); }
  bool set(std::string_view name, const StreamAttributes& attributes) override;
  bool truncate(std::string_view name, int64_t size) override;
  bool remove(std::string_view name) override;
  bool rename(std::string_view from, std::string_view to, bool keep) override;
  bool move_out(std::string_view name, const std::string& target, const CopyOut& copy) override;
  void list(std::string_view prefix, const Visit& visit) override;
  void revalidate() override {
    const auto open = join(false);
    contents(open.get(), true);
  }
  bool shared() override {
    const auto open = join(false);
    return open && !open->index().memory().alone();
  }

 private:
  std::shared_ptr<HostContainer> join(bool make);
  // Returns whether a reader must check if processes of this host have started to write to the set. On served
  // file systems, returns true at most once per interval, because a check is a request to the server.
  bool may_have_begun();
  // Returns the shared stream with this number, or null.
  std::shared_ptr<ContainerStream> shared_stream(const std::shared_ptr<HostContainer>& open, uint64_t number);
  // Opens or creates a shared stream. `asked`: `elsewhere` has everything closed before the call. If not, an
  // existing stream is not opened. Returns null if no stream was opened or created.
  std::shared_ptr<HostStream> open_shared(const std::shared_ptr<HostContainer>& open,
                                          const std::shared_ptr<const NamedStreams>& elsewhere,
                                          std::string_view name, const StreamOpening& opening, bool asked);
  std::shared_ptr<ContainerStream> foreign(std::shared_ptr<const NamedStreams> elsewhere,
                                           const NamedStream& stream);
  // Returns whether other hosts may have closed streams that this host must find on open.
  bool has_others() const { return !local_ || reader_->has_others(); }
  std::optional<StreamStatus> status(std::string_view name, bool wait);
  // Returns the contents of other hosts' containers. With `wait`, includes everything closed before the call.
  std::shared_ptr<const NamedStreams> contents(HostContainer* open, bool wait);
  std::shared_ptr<HostStream> open_for(std::string_view name) {
    return std::dynamic_pointer_cast<HostStream>(open_stream(name, {.write = true}));
  }
  // Applies act(stream). Returns false if there is no stream of this name.
  template <class Act>
  bool change(std::string_view name, Act act) {
    const auto stream = open_for(name);
    if (!stream) return false;
    act(*stream);
    stream->flush();
    return true;
  }
  // Renames the stream `from`, or removes it if `to` is empty, as rename() does.
  bool change_name(std::string_view from, std::string_view to, bool keep);

  Store& store_;
  const ContainerHost host_;
  const std::shared_ptr<SetReader> reader_;
  const bool local_;                   // one cache: other containers are of other users or process namespaces
  SetMutex mutex_{SetMutex::Of::set};  // guards the following members
  std::shared_ptr<HostContainer> open_;
  Clock::time_point look_again_{}, ask_again_{};
};

std::shared_ptr<HostContainer> HostSet::join(bool make) {
  const std::lock_guard guard(mutex_);
  if (open_) return open_;
  open_ = HostContainer::join(store_, host_, make, reader_);
  // The known contents may be outdated: another job may have gathered them into a multifile. Read them again
  // at the next call.
  if (open_) look_again_ = {};
  return open_;
}

bool HostSet::may_have_begun() {
  const std::lock_guard guard(mutex_);
  if (open_ || local_) return true;
  const auto now = Clock::now();
  if (now < ask_again_) return false;
  ask_again_ = now + rest_between_questions;
  return true;
}

std::shared_ptr<const NamedStreams> HostSet::contents(HostContainer* open, bool wait) {
  const auto begin = Clock::now();
  bool look = wait && has_others();
  {
    const std::lock_guard guard(mutex_);
    look |= begin >= look_again_;
    if (look) look_again_ = begin + check_interval;  // until then, concurrent callers do not check
  }
  const auto found = reader_->now(look, open != nullptr ? open->origin() : 0);
  if (look) {
    const auto end = Clock::now();
    const std::lock_guard guard(mutex_);
    look_again_ = end + std::max<Clock::duration>(check_interval, rest_per_look * (end - begin));
  }
  return found;
}

std::shared_ptr<ContainerStream> HostSet::open_stream(std::string_view name, const StreamOpening& opening) {
  require_name(name, path());
  const auto open = join(opening.create);
  const bool asked = !opening.create || opening.asked || !has_others();
  const auto elsewhere = contents(open.get(), !opening.create && !opening.asked);
  if (!open) {
    const NamedStream* const found = elsewhere->find(name);
    if (found == nullptr) return nullptr;
    if (!is_writing(opening)) return foreign(elsewhere, *found);
    join(true);
    return open_stream(name, opening);
  }
  auto stream = open_shared(open, elsewhere, name, opening, asked);
  if (stream || asked) return stream;
  // Another host may have removed or replaced the stream. Check other hosts without holding the lock of
  // names, then try again.
  return open_shared(open, contents(open.get(), true), name, opening, true);
}

std::shared_ptr<HostStream> HostSet::open_shared(const std::shared_ptr<HostContainer>& open,
                                                 const std::shared_ptr<const NamedStreams>& elsewhere,
                                                 std::string_view name, const StreamOpening& opening,
                                                 bool asked) {
  std::shared_ptr<HostStream> stream;
  {
    const ContainerIndex::NamesLock lock(open->index());
    const SharedPlace at = open->find(elsewhere, name);
    if (at == 0 && opening.create) {
      stream = std::make_shared<HostStream>(open, open->create(name, opening), true);
      stream->note_change();
      return stream;
    }
    if (at == 0 || !asked) return nullptr;
    if (opening.create && opening.exclusive)
      throw os_error("there is already a stream of this name in", path(), EEXIST);
    if (is_writing(opening)) open->bind(at);
    stream = std::make_shared<HostStream>(open, at, is_writing(opening));
  }
  if (opening.truncate) stream->truncate(0);
  return stream;
}

std::shared_ptr<ContainerStream> HostSet::foreign(std::shared_ptr<const NamedStreams> elsewhere,
                                                  const NamedStream& stream) {
  const auto ask = [set = shared_from_this(), number = number_of(stream.key)] {
    return set->may_have_begun() && set->join(false) ? std::optional(set->open_number(number)) : std::nullopt;
  };
  return std::make_shared<ForeignStream>(std::move(elsewhere), stream, ask);
}

std::shared_ptr<ContainerStream> HostSet::open_number(uint64_t number) {
  const auto open = join(false);
  if (auto stream = open ? shared_stream(open, number) : nullptr) return stream;
  const auto elsewhere = contents(open.get(), true);
  const auto other = std::ranges::find_if(elsewhere->all, [&](const NamedStream& stream) {
    return !stream.name.empty() && number_of(stream.key) == number;
  });
  if (other == elsewhere->all.end()) return nullptr;
  if (!open) return foreign(elsewhere, *other);
  {
    const ContainerIndex::NamesLock lock(open->index());
    open->find(elsewhere, other->name);
  }
  return shared_stream(open, number);
}

std::shared_ptr<ContainerStream> HostSet::shared_stream(const std::shared_ptr<HostContainer>& open,
                                                        uint64_t number) {
  ContainerIndex& index = open->index();
  const ContainerIndex::NamesLock lock(index);
  SharedPlace found = 0;
  index.for_each([&](SharedPlace at) {
    const SharedStream& stream = index.stream(at);
    if (number_of(stream.key) == number && (stream.entry.load() != 0 || stream.opens.load() > 0)) found = at;
  });
  if (found == 0) return nullptr;
  open->bind(found);
  return std::make_shared<HostStream>(open, found, true);
}

std::optional<StreamStatus> HostSet::status(std::string_view name, bool wait) {
  const auto open = join(false);
  const auto elsewhere = contents(open.get(), wait);
  if (!open) {
    const NamedStream* const found = elsewhere->find(name);
    return found == nullptr ? std::nullopt : std::optional(status_of(*found));
  }
  const ContainerIndex::NamesLock lock(open->index());
  const SharedPlace at = open->find(elsewhere, name);
  if (at == 0) return std::nullopt;
  StreamStatus found = streams::status_of(open->index().stream(at));
  found.block = open->block_size();
  return found;
}

bool HostSet::set(std::string_view name, const StreamAttributes& attributes) {
  return change(name, [&](HostStream& stream) { stream.set(attributes); });
}

bool HostSet::truncate(std::string_view name, int64_t size) {
  return change(name, [&](HostStream& stream) { stream.truncate(size); });
}

bool HostSet::remove(std::string_view name) {
  require_name(name, path());
  return change_name(name, {}, false);
}

bool HostSet::rename(std::string_view from, std::string_view to, bool keep) {
  require_name(from, path());
  require_name(to, path());
  return change_name(from, to, keep);
}

bool HostSet::change_name(std::string_view from, std::string_view to, bool keep) {
  auto open = join(false);
  auto elsewhere = contents(open.get(), true);
  if (!open) {
    if (elsewhere->find(from) == nullptr) return false;
    open = join(true);
    if (!to.empty()) elsewhere = contents(open.get(), true);
  }
  std::vector<UnusedBytes> unused;
  {
    ContainerIndex& index = open->index();
    const ContainerIndex::NamesLock lock(index);
    const SharedPlace at = open->find(elsewhere, from);
    if (at == 0) return false;
    const SharedPlace replaced = to.empty() ? at : open->find(elsewhere, to);
    if (replaced != 0 && keep) throw os_error("there is already a stream of this name in", path(), EEXIST);
    if (replaced == at && !to.empty()) return true;
    if (replaced != 0 && index.stream(replaced).opens.load() == 0)
      unused = open->writer().unused(index.stream(replaced), 0);
    open->rename(at, to);
  }
  open->writer().sums().discard(unused);
  open->publish_changes();
  return true;
}

bool HostSet::move_out(std::string_view name, const std::string& target, const CopyOut& copy) {
  const auto stream = open_for(name);
  if (!stream || !stream->move_out(target, copy)) return false;
  try {
    status(name);  // also removes the name of the moved stream
    join(false)->publish_changes();
  } catch (const Error&) {
    // The stream has already left the set, so the call must not fail. Other hosts find the change when the
    // next change is published.
  }
  return true;
}

void HostSet::list(std::string_view prefix, const Visit& visit) {
  const auto open = join(false);
  const auto elsewhere = contents(open.get(), true);
  std::vector<std::pair<std::string, StreamStatus>> found;
  if (open) {
    ContainerIndex& index = open->index();
    const ContainerIndex::NamesLock lock(index);
    open->revalidate(elsewhere);
    for (const auto& [name, stream] : elsewhere->names)
      if (name.starts_with(prefix)) open->find(elsewhere, name);
    index.for_each([&](SharedPlace at) {
      if (const auto name = index.name_of(at); !name.empty() && name.starts_with(prefix) &&
                                               index.stream(at).moved.load() == 0 &&
                                               index.stream(at).moving.load() == 0)
        found.emplace_back(name, streams::status_of(index.stream(at)));
    });
  } else {
    for (const auto& [name, stream] : elsewhere->names)
      if (name.starts_with(prefix)) found.emplace_back(name, status_of(*stream));
  }
  for (const auto& [name, status] : found) visit(name, status);
}

}  // namespace

std::shared_ptr<ContainerSet> ContainerSet::open(Store& store, const std::string& path,
                                                 const ContainerHost& host, Checking checking) {
  ContainerHost named = host;
  if (named.name.empty()) named.name = container_host_name(host.memory_directory);
  const bool is_checked = checking == Checking::on && checking_of_environment() == Checking::on;
  return std::make_shared<HostSet>(store, path, named, is_checked ? Checking::on : Checking::off);
}

}  // namespace sheaf::streams
