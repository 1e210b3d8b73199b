#include "streams/container/host_container.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <ranges>
#include <thread>

#include "base/assert.hpp"
#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/forks.hpp"
#include "base/os/process_identity.hpp"
#include "format/fields.hpp"
#include "multifile/options/open_mode.hpp"
#include "storage/beside.hpp"
#include "storage/store.hpp"
#include "storage/times.hpp"
#include "streams/container/constants.hpp"
#include "streams/container/container_names.hpp"
#include "streams/container/sums/wanted.hpp"

namespace sheaf::streams {

using namespace container_constants;

namespace {

// Returns the key of a container's shared memory. A rename of the container keeps the key if the store has
// file numbers.
std::string memory_key(const FileStatus& status, const std::string& container) {
  std::array<char, 64> text;
  if (status.number != 0) {
    std::snprintf(text.data(), text.size(), "%llx-%llx-%llx", static_cast<unsigned long long>(own_user()),
                  static_cast<unsigned long long>(status.device),
                  static_cast<unsigned long long>(status.number));
  } else {  // a store without file numbers: only this process has its files
    const uint64_t name = format::hash_of(std::as_bytes(std::span(container)));
    std::snprintf(text.data(), text.size(), "p%lld-%llx", static_cast<long long>(process_number()),
                  static_cast<unsigned long long>(name));
  }
  return text.data();
}

// Returns whether a container can be written through a mapping. Written bytes must keep their disk space,
// because a store to a mapping without disk space raises SIGBUS.
bool can_be_mapped(const FileSystemTraits& traits) {
  return traits.mmap && traits.is_local() &&
         (traits.kind == FileSystem::ext4 || traits.kind == FileSystem::xfs ||
          traits.kind == FileSystem::tmpfs);
}

// --- New containers and new memory.

// Initializes an empty container: writes a header, a table of areas and, if the disk has enough space, the
// spare area.
void begin_container(File& file, const format::ContainerHeader& header, bool mapped) {
  auto bytes = format::encode(header);
  if (!mapped)
    format::put_little<uint64_t>(bytes.data() + format::container_changes_at, format::changes_untold);
  const std::array<std::byte, format::container_page> table{};
  file.write_at(table, format::container_page);
  file.write_at(bytes, 0);
  try {
    file.write_at(std::array<std::byte, format::container_page>{}, spare_at);
  } catch (const Error& e) {
    if (e.code() != Code::no_space) throw;
  }
}

// Switches a container from mapped areas to the common log: records, for readers, that processes append to
// the log from now on.
void begin_log(File& file) {
  std::array<std::byte, 8> word;
  format::put_little<uint64_t>(word.data(), format::changes_untold);
  file.write_at(word, format::container_changes_at);
}

// Returns the spare area of a container that has no writers. The disk space of the spare area is allocated
// when the container is created, so that records fit on a full disk. Containers of older versions have an
// area or bytes of streams at this place; the result is then empty.
RecordArea spare_area_of(const ContainerContents& contents) {
  RecordArea spare{.place = spare_at, .used = 0, .bytes = format::container_page, .entered = false};
  for (const OpenArea& open : contents.open)
    if (open.area.place == spare_at) spare = {spare_at, open.known, open.area.bytes, true};
  const bool has_bytes = std::ranges::any_of(contents.records, [](const PlacedRecord& placed) {
    return placed.record.kind == format::RecordKind::piece &&
           placed.record.place < spare_at + format::container_page;
  });
  std::array<std::byte, format::container_page> page{};
  if (has_bytes || spare.bytes != format::container_page ||
      contents.file->read_at(page, spare_at) < page.size() ||
      std::ranges::any_of(page | std::views::drop(spare.used), [](std::byte b) { return b != std::byte{0}; }))
    return {};
  return spare;
}

// Copies the places of the checksum words of `made`, a piece of the own container. Throws `no_space`.
void copy_sums(ContainerIndex& index, SharedPiece& made, const RoomIndex& rooms) {
  SharedSums& sums = made.sums;
  for (int64_t at = made.place, end = made.place + made.length.load(); at < end;) {
    const RoomIndex::RoomSums found = rooms.find(at);
    if (at == made.place) {
      sums.room = found.sums.room;
      sums.end_at = found.sums.end_at;
    }
    if (found.sums.room == 0 || found.sums.room != sums.room) return;
    if (found.sums.slots > 0) {
      const SharedPlace slots = index.allocator().make<SharedSlots>();
      add_slots(index.memory(), sums, slots, {0, found.sums.first, found.sums.slots, found.sums.slots_at});
    }
    at = found.end;
  }
}

// --- Forks.

template <class T>
struct ForkList {
  std::mutex mutex;
  std::vector<T*> members;

  void note(T* one) {
    const std::lock_guard guard(mutex);
    members.push_back(one);
  }
  void forget(T* one) {
    const std::lock_guard guard(mutex);
    std::erase(members, one);
  }
  template <class Begin>
  void before_fork(Begin begin) {
    mutex.lock();
    for (T* const one : members) begin(*one);
  }
  template <class End>
  void after_fork(End end) {
    for (T* const one : members) end(*one);
    mutex.unlock();
  }
};

struct ForkLists {
  ForkList<SetMutex> sets, readers;
  ForkList<HostContainer> containers;

  ForkList<SetMutex>& of(SetMutex::Of what) { return what == SetMutex::Of::set ? sets : readers; }
  void before_fork() {
    const auto lock = [](SetMutex& one) { one.lock(); };
    sets.before_fork(lock);
    containers.before_fork([](HostContainer& one) { one.before_fork(); });
    readers.before_fork(lock);
  }
  void after_fork(bool in_child) {
    const auto unlock = [](SetMutex& one) { one.unlock(); };
    readers.after_fork(unlock);
    containers.after_fork([&](HostContainer& one) { one.after_fork(in_child); });
    sets.after_fork(unlock);
  }
};

// Constant-initialized and never destroyed, because programs may fork before or after the lifetime of static
// objects.
union ForkRegistry {
  constexpr ForkRegistry() : all() {}
  ~ForkRegistry() {}
  ForkLists all;
};
constinit ForkRegistry registry;

// Returns the registry after registering the fork handlers, unless they are registered already.
ForkLists& registered() {
  [[maybe_unused]] static const int handlers =
      pthread_atfork([] { registry.all.before_fork(); }, [] { registry.all.after_fork(false); },
                     [] { registry.all.after_fork(true); });
  return registry.all;
}

}  // namespace

// --- Containers that were gathered.

void remove_container(Store& store, const std::string& container, const std::string& memory_directory,
                      const std::string& aside) {
  const FileStatus status = store.status(container);
  aside.empty() ? store.remove(container) : store.rename(container, aside);
  if (status.number != 0) HostMemory::sweep(memory_directory, memory_key(status, container));
}

// --- Joining.

struct HostContainer::Joining {
  Store& store;
  const ContainerHost& host;
  const bool make;
  const std::string container;
  bool is_mapped = false;  // mappings of the container are coherent with reads
  bool was_taken = false;  // the container was gathered into the multifile
};

std::shared_ptr<HostContainer> HostContainer::join(Store& store, const ContainerHost& host, bool make,
                                                   const std::shared_ptr<SetReader>& reader) {
  SHEAF_ASSERT(!host.name.empty());
  const std::string container = container_name(reader->path(), host.name);
  for (;;) {
    if (!make && !store.status(container).exists) return nullptr;
    std::shared_ptr<HostContainer> made(new HostContainer(reader));
    Joining joining{store, host, make, container};
    if (!made->join_once(joining)) continue;
    registered().containers.note(made.get());
    return made;
  }
}

// Opens the container and its memory. Returns false if the container was removed during the call.
bool HostContainer::join_once(Joining& joining) {
  auto& [store, host, make, container, is_mapped, was_taken] = joining;
  try {
    bool made = false;
    file_ = make ? make_or_open_beside(store, container, {}, made) : open_beside(store, container, {});
  } catch (const Error& e) {
    if (e.code() == Code::not_found && !make) return false;
    throw;
  }
  const FileStatus status = file_->status();
  const FileSystemTraits traits = store.traits(container);
  local_ = traits.is_local();
  is_mapped = can_be_mapped(traits);
  try {
    memory_ = HostMemory::join(host.memory_directory, memory_key(status, container), ContainerIndex::layout,
                               [&](HostMemory& memory) { fill(joining, memory); });
  } catch (const Error&) {
    // A gathered container still exists if the gathering job could not remove it.
    if (!was_taken) throw;
    remove_container(store, container, host.memory_directory);
    return false;
  }
  block_size_ = status.block_size;
  index_ = std::make_unique<ContainerIndex>(*memory_);
  origin_ = format::short_identity(index_->head().identity);
  writer_ = std::make_unique<ContainerWriter>(*file_, *index_, is_mapped);
  if (!use_.acquire(*file_)) return false;
  // A job may have gathered and removed the container before the lock was acquired.
  const FileStatus now = store.status(container);
  return now.exists && now.number == status.number && now.device == status.device;
}

bool HostContainer::UseLock::acquire(File& file) {
  bool locked = true;
  try {
    lock = file.lock(0, 1, false, OnConflict::refusal);
    locked = static_cast<bool>(lock);
    forks = sheaf::forks();
  } catch (const Error&) {  // the file system has no locks
  }
  if (!locked) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return locked;
}

HostContainer::UseLock::~UseLock() {
  if (lock && forks != sheaf::forks())
    new RangeLock(std::move(lock));  // after a fork the lock belongs to the parent, which releases it
}

// Fills new shared memory from the container, before any other process uses the memory.
void HostContainer::fill(Joining& joining, HostMemory& memory) {
  auto& [store, host, make, container, is_mapped, was_taken] = joining;
  auto contents = read_container(store, container);
  if (!contents) {
    require_in_the_making(*file_);
    format::ContainerHeader header{.identity = multifile::new_identity(), .host = host.name};
    header.made = nanoseconds_now();
    if (checking_of_environment() == multifile::Checking::on) header.version = format::container_summed;
    begin_container(*file_, header, is_mapped);
    contents = read_container(store, container);
    if (!contents) throw file_error(Code::io, container, "does not keep what is written to it");
  } else if (const ContainerFindings found = check_tables(*contents); !found.damage.empty()) {
    throw file_error(Code::damaged, container, found.damage);
  }
  if (!is_mapped && contents->changes != format::changes_untold) begin_log(*file_);
  const auto base = multifile::BaseStreams::open(store, reader_->path());
  if (base && std::ranges::find(base->taken(), contents->header.identity) != base->taken().end()) {
    was_taken = true;
    throw file_error(Code::not_found, container, "is in the multifile already");
  }
  ContainerIndex index(memory);
  index.begin(contents->header.identity, contents->header.version == format::container_summed);
  index_ = std::make_unique<ContainerIndex>(memory);
  origin_ = format::short_identity(contents->header.identity);
  ContainerIndex::Head& head = index.head();
  head.last_table = contents->last_table;
  head.spare_area = spare_area_of(*contents);
  head.tail = must_fit(align_up(std::max(contents->file_bytes, contents->end), format::container_page),
                       "a container");
  if (contents->records.empty()) return;
  contents.reset();
  const auto set = reader_->again(origin_);
  head.clock = set->newest;
  head.numbers = set->next_number - 1;
  for (const NamedStream& stream : set->all) {
    if (stream.name.empty() || !stream.here) continue;
    const SharedPlace at = index.make_stream(stream.key, stream.mode, stream.written);
    const SharedPlace entry = index.names().make_entry(at, stream.name);
    if (stream.key.origin != origin_) index.note_key(at);
    copy_pieces(index.stream(at), stream, *set);
    index.give_name(entry, stream.named);
    index.stream(at).changed = stream.changed;
  }
}

HostContainer::~HostContainer() { registry.all.containers.forget(this); }

// Replaces the pieces of `stream` by those of `from`. Throws `no_space` and then changes nothing.
void HostContainer::copy_pieces(SharedStream& stream, const NamedStream& from, const NamedStreams& contents) {
  std::vector<SharedPlace> places(from.pieces.all().size());
  try {
    auto next = places.begin();
    for (const auto& [offset, piece] : from.pieces.all()) {
      const SetSource& source = contents.sources[piece.source];
      SharedPiece& made = index_->piece(*next++ = index_->allocator().make<SharedPiece>());
      made.offset = offset;
      made.length = piece.length;
      made.capacity = source.base ? piece.task : piece.length;
      made.place = piece.place;
      made.origin = source.origin == origin_ ? 0 : source.origin;
      if (made.origin == 0 && source.sums) copy_sums(*index_, made, *source.sums);
    }
  } catch (...) {
    for (const SharedPlace at : places)
      if (at != 0) index_->drop_piece(at);
    throw;
  }
  index_->drop_pieces(stream);
  for (SharedPlace last = 0; const SharedPlace at : places) {
    index_->add_piece(stream, last, at);
    last = at;
  }
  stream.size = from.size;
  stream.mode = from.mode;
  stream.modified = from.modified();
  stream.elsewhere = from.elsewhere;
  stream.looked = contents.check.monotonic;
}

SetSource HostContainer::source(uint64_t origin) {
  for (const bool look : {false, true}) {
    const auto set = reader_->now(look, origin_);
    for (const SetSource& source : set->sources)
      if (source.origin == origin) return source;
  }
  throw os_error("a container with bytes of a stream is gone from", reader_->path(), ENOENT);
}

// If the process is killed after writing the record, the next call harmlessly writes it again.
void HostContainer::record_growth(SharedStream& stream) {
  const SharedPlace at = stream.grown.load();
  if (at == 0) return;
  SharedPiece& piece = index_->piece(at);
  const int64_t length = piece.length.load();
  if (length > piece.recorded) {
    writer_->record({.kind = format::RecordKind::piece,
                     .time = index_->tick(),
                     .stream = recorded(stream.key),
                     .modified = stream.modified.load(),
                     .offset = piece.offset + piece.recorded,
                     .place = piece.place + piece.recorded,
                     .length = length - piece.recorded});
    piece.recorded = length;
  }
  stream.grown.store(0);
}

void HostContainer::publish_changes() {
  writer_->note_change();
  if (!local_) publish_by_close(*file_);
}

// --- Forks.

void ContainerSet::watch_forks() { registered(); }

SetMutex::SetMutex(Of what) : what_(what) { registered().of(what_).note(this); }
SetMutex::~SetMutex() { registry.all.of(what_).forget(this); }

}  // namespace sheaf::streams
