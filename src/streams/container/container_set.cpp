#include "streams/container/container_set.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "storage/store.hpp"
#include "streams/container/constants.hpp"
#include "streams/container/container_names.hpp"
#include "streams/container/foreign_stream.hpp"
#include "streams/container/host_stream.hpp"
#include "streams/container/open_set.hpp"
#include "streams/container/sums/wanted.hpp"

namespace sheaf::streams {

using multifile::Checking;
using namespace container_constants;

namespace {

using format::ContainerRecord;
using format::RecordKind;
using Clock = std::chrono::steady_clock;

class HostSet final : public ContainerSet, public std::enable_shared_from_this<HostSet> {
 public:
  HostSet(Store& store, const std::string& path, const ContainerHost& host, Checking checking)
      : store_(store),
        path_(path),
        memory_directory_(host.memory_directory),
        host_(host.name.empty() ? container_host_name(host.memory_directory) : host.name),
        view_(std::make_shared<SetView>(store, path, container_name(path, host_), checking)) {
    local_ = store.traits(path).coherence == Coherence::local;
  }

  const std::string& path() const override { return path_; }

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
    return open && !open->memory().alone();
  }

 private:
  std::shared_ptr<OpenSet> join(bool make);
  // Returns whether a reader must check if processes of this host have started to write to the set. On served
  // file systems, returns true at most once per interval, because a check is a request to the server.
  bool may_have_begun();
  // Returns the shared stream with this number, or null.
  std::shared_ptr<ContainerStream> shared_stream(const std::shared_ptr<OpenSet>& open, uint64_t number);
  std::shared_ptr<ContainerStream> foreign(std::shared_ptr<const SetContents> elsewhere,
                                           const ReplayedStream& stream);
  // Returns whether other hosts may have closed streams that this host must find on open.
  bool has_others() const { return !local_ || view_->has_others(); }
  std::optional<StreamStatus> status(std::string_view name, bool wait);
  // Returns the contents of other hosts' containers. With `wait`, includes everything closed before the call.
  std::shared_ptr<const SetContents> contents(OpenSet* open, bool wait);
  SharedPlace find(OpenSet& open, const std::shared_ptr<const SetContents>& elsewhere, std::string_view name);
  SharedPlace create(OpenSet& open, std::string_view name, const StreamOpening& opening);
  std::shared_ptr<HostStream> open_for(std::string_view name);

  Store& store_;
  const std::string path_;
  const std::string memory_directory_;
  const std::string host_;
  bool local_ = false;                 // one cache: other containers are of other users or process namespaces
  SetMutex mutex_{SetMutex::Of::set};  // guards the following members
  std::shared_ptr<OpenSet> open_;
  Clock::time_point look_again_{}, ask_again_{};
  const std::shared_ptr<SetView> view_;
};

std::shared_ptr<OpenSet> HostSet::join(bool make) {
  const std::lock_guard guard(mutex_);
  if (open_) return open_;
  open_ = OpenSet::join(store_, path_, host_, memory_directory_, make, view_);
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

std::shared_ptr<const SetContents> HostSet::contents(OpenSet* open, bool wait) {
  const auto begin = Clock::now();
  bool look = wait && has_others();
  {
    const std::lock_guard guard(mutex_);
    look |= begin >= look_again_;
    if (look) look_again_ = begin + check_interval;  // until then, concurrent callers do not check
  }
  const auto found = view_->now(look, open != nullptr ? open->origin() : 0);
  if (look) {
    const auto end = Clock::now();
    const std::lock_guard guard(mutex_);
    look_again_ = end + std::max<Clock::duration>(check_interval, rest_per_look * (end - begin));
  }
  return found;
}

// Returns the shared stream `name`, after applying `elsewhere` to the shared streams; 0 if it does not exist.
// The caller holds the lock of names.
SharedPlace HostSet::find(OpenSet& open, const std::shared_ptr<const SetContents>& elsewhere,
                          std::string_view name) {
  SharedStreams& streams = open.streams();
  open.revalidate(elsewhere);
  SharedPlace own = streams.find(name);
  if (own != 0 && open.take_name_of_moved(own)) own = 0;
  const ReplayedStream* const other = elsewhere->find(name);
  if (other == nullptr) return own;
  if (own != 0) {
    const SharedStream& stream = streams.stream(own);
    if (elsewhere->find(stream.key) == other || stream.named.load() >= other->named) return own;
  }
  // This host already knows the stream `other`, or has records of it. It has no longer this name, because a
  // process of this host has removed or renamed it since the last check of other hosts.
  if (other->here || other->key.origin == open.origin() || streams.find(other->key) != 0) return own;
  return open.bring_in(*other, *elsewhere);
}

SharedPlace HostSet::create(OpenSet& open, std::string_view name, const StreamOpening& opening) {
  SharedStreams& streams = open.streams();
  const format::StreamKey key{streams.head().numbers.fetch_add(1) + 1, open.origin()};
  ContainerRecord record{.kind = RecordKind::create, .time = streams.tick(), .stream = open.recorded(key)};
  record.empties = opening.truncate || opening.exclusive;
  record.name = name;
  record.mode = opening.mode;
  const SharedPlace made = streams.make_stream(key, opening.mode, record.time);
  SharedPlace entry = 0;
  try {
    entry = streams.make_entry(made, name);
    open.writer().record(record);
  } catch (...) {
    if (entry != 0) streams.drop_entry(entry);
    streams.let_go(made);
    throw;
  }
  streams.give_name(entry, record.time);
  return made;
}

std::shared_ptr<ContainerStream> HostSet::open_stream(std::string_view name, const StreamOpening& opening) {
  require_name(name, path_);
  const bool changes = opening.create || opening.truncate || opening.write;
  const auto open = join(opening.create);
  bool asked = !opening.create || opening.asked || !has_others();
  auto elsewhere = contents(open.get(), !opening.create && !opening.asked);
  if (!open) {
    const ReplayedStream* const found = elsewhere->find(name);
    if (found == nullptr) return nullptr;
    if (!changes) return foreign(elsewhere, *found);
    join(true);
    return open_stream(name, opening);
  }
  std::shared_ptr<HostStream> stream;
  bool made = false;
  while (!stream) {
    {
      const SharedStreams::NamesLock lock(open->streams());
      SharedPlace at = find(*open, elsewhere, name);
      if (at != 0 && asked && opening.create && opening.exclusive)
        throw os_error("there is already a stream of this name in", path_, EEXIST);
      if (at == 0 && !opening.create) return nullptr;
      made = at == 0;
      if (made) at = create(*open, name, opening);
      if (!made && asked && changes) open->bind(at);
      if (made || asked) stream = std::make_shared<HostStream>(open, at, changes);
      if (made) stream->note_change();
    }
    // Another host may have removed or replaced the stream. Check other hosts without holding the lock of
    // names, then try again.
    if (!stream) elsewhere = contents(open.get(), asked = true);
  }
  if (opening.truncate && !made) stream->truncate(0);
  return stream;
}

std::shared_ptr<ContainerStream> HostSet::foreign(std::shared_ptr<const SetContents> elsewhere,
                                                  const ReplayedStream& stream) {
  const auto ask = [set = shared_from_this(), number = number_of(stream.key)] {
    return set->may_have_begun() && set->join(false) ? std::optional(set->open_number(number)) : std::nullopt;
  };
  return std::make_shared<ForeignStream>(std::move(elsewhere), stream, ask);
}

std::shared_ptr<ContainerStream> HostSet::open_number(uint64_t number) {
  const auto open = join(false);
  if (auto stream = open ? shared_stream(open, number) : nullptr) return stream;
  const auto elsewhere = contents(open.get(), true);
  const auto other = std::ranges::find_if(elsewhere->streams, [&](const ReplayedStream& stream) {
    return !stream.name.empty() && number_of(stream.key) == number;
  });
  if (other == elsewhere->streams.end()) return nullptr;
  if (!open) return foreign(elsewhere, *other);
  {
    const SharedStreams::NamesLock lock(open->streams());
    find(*open, elsewhere, other->name);
  }
  return shared_stream(open, number);
}

std::shared_ptr<ContainerStream> HostSet::shared_stream(const std::shared_ptr<OpenSet>& open,
                                                        uint64_t number) {
  SharedStreams& streams = open->streams();
  const SharedStreams::NamesLock lock(streams);
  SharedPlace found = 0;
  streams.for_each([&](SharedPlace at) {
    const SharedStream& stream = streams.stream(at);
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
    const ReplayedStream* const found = elsewhere->find(name);
    return found == nullptr ? std::nullopt : std::optional(status_of(*found));
  }
  const SharedStreams::NamesLock lock(open->streams());
  const SharedPlace at = find(*open, elsewhere, name);
  if (at == 0) return std::nullopt;
  StreamStatus found = streams::status_of(open->streams().stream(at));
  found.block = open->block_size();
  return found;
}

std::shared_ptr<HostStream> HostSet::open_for(std::string_view name) {
  return std::dynamic_pointer_cast<HostStream>(open_stream(name, {.write = true}));
}

bool HostSet::set(std::string_view name, const StreamAttributes& attributes) {
  const auto stream = open_for(name);
  if (stream) stream->set(attributes);
  if (stream) stream->flush();
  return stream != nullptr;
}

bool HostSet::truncate(std::string_view name, int64_t size) {
  const auto stream = open_for(name);
  if (stream) stream->truncate(size);
  if (stream) stream->flush();
  return stream != nullptr;
}

bool HostSet::remove(std::string_view name) {
  require_name(name, path_);
  auto open = join(false);
  const auto elsewhere = contents(open.get(), true);
  if (!open) {
    if (elsewhere->find(name) == nullptr) return false;
    open = join(true);
  }
  std::vector<UnusedBytes> unused;
  {
    SharedStreams& streams = open->streams();
    const SharedStreams::NamesLock lock(streams);
    const SharedPlace at = find(*open, elsewhere, name);
    if (at == 0) return false;
    SharedStream& stream = streams.stream(at);
    if (stream.opens.load() == 0) unused = open->unused(stream, 0);
    open->rename(at, 0);
  }
  open->discard(unused);
  open->publish_changes();
  return true;
}

bool HostSet::rename(std::string_view from, std::string_view to, bool keep) {
  require_name(from, path_);
  require_name(to, path_);
  auto open = join(false);
  auto elsewhere = contents(open.get(), true);
  if (!open) {
    if (elsewhere->find(from) == nullptr) return false;
    open = join(true);
    elsewhere = contents(open.get(), true);
  }
  std::vector<UnusedBytes> unused;
  {
    SharedStreams& streams = open->streams();
    const SharedStreams::NamesLock lock(streams);
    const SharedPlace at = find(*open, elsewhere, from);
    if (at == 0) return false;
    const SharedPlace there = find(*open, elsewhere, to);
    if (there != 0 && keep) throw os_error("there is already a stream of this name in", path_, EEXIST);
    if (there == at) return true;
    const SharedPlace entry = streams.make_entry(at, to);
    if (there != 0 && streams.stream(there).opens.load() == 0)
      unused = open->unused(streams.stream(there), 0);
    try {
      open->rename(at, entry);
    } catch (...) {
      streams.drop_entry(entry);
      throw;
    }
  }
  open->discard(unused);
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
    SharedStreams& streams = open->streams();
    const SharedStreams::NamesLock lock(streams);
    open->revalidate(elsewhere);
    for (const auto& [name, stream] : elsewhere->names)
      if (name.starts_with(prefix)) find(*open, elsewhere, name);
    streams.for_each([&](SharedPlace at) {
      if (const auto name = streams.name_of(at); !name.empty() && name.starts_with(prefix) &&
                                                 streams.stream(at).moved.load() == 0 &&
                                                 streams.stream(at).moving.load() == 0)
        found.emplace_back(name, streams::status_of(streams.stream(at)));
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
  const bool is_checked = checking == Checking::on && checking_of_environment() == Checking::on;
  return std::make_shared<HostSet>(store, path, host, is_checked ? Checking::on : Checking::off);
}

}  // namespace sheaf::streams
