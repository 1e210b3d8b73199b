#include "streams/container/open_set.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/forks.hpp"
#include "base/os/process_identity.hpp"
#include "multifile/options/open_mode.hpp"
#include "storage/beside.hpp"
#include "storage/store.hpp"
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
  return traits.mmap && traits.coherence == Coherence::local &&
         (traits.kind == FileSystem::ext4 || traits.kind == FileSystem::xfs ||
          traits.kind == FileSystem::tmpfs);
}

}  // namespace

// --- SetView

void SetView::look() {
  const uint64_t number = begun_.fetch_add(1) + 1;
  const bool changed = reader_.look();
  has_others_ = reader_.has_containers();
  known_ = known_ && !changed;
  done_ = number;
}

// Computes the contents. `own_origin` is 0 if the host's shared memory already has the whole set.
void SetView::replay(uint64_t own_origin) {
  contents_ = std::make_shared<SetContents>(reader_.contents(own_origin));
  own_origin_ = own_origin;
  known_ = true;
}

std::shared_ptr<const SetContents> SetView::now(bool look_again, uint64_t own_origin) {
  const uint64_t before = begun_.load();
  const std::lock_guard guard(mutex_);
  if (look_again ? done_ <= before : done_ == 0) look();
  if (!known_ || own_origin != own_origin_) replay(reader_.has_others() ? own_origin : 0);
  own_origin_ = own_origin;
  return contents_;
}

std::shared_ptr<const SetContents> SetView::again(uint64_t own_origin) {
  const std::lock_guard guard(mutex_);
  look();
  replay(own_origin);
  return contents_;
}

void remove_container(Store& store, const std::string& container, const std::string& memory_directory) {
  const FileStatus status = store.status(container);
  store.remove(container);
  if (status.number != 0) HostMemory::sweep(memory_directory, memory_key(status, container));
}

void set_container_aside(Store& store, const std::string& container, const std::string& to,
                         const std::string& memory_directory) {
  const FileStatus status = store.status(container);
  store.rename(container, to);
  if (status.number != 0) HostMemory::sweep(memory_directory, memory_key(status, container));
}

// --- OpenSet

std::shared_ptr<OpenSet> OpenSet::join(Store& store, const std::string& path, const std::string& host,
                                       const std::string& memory_directory, bool make,
                                       const std::shared_ptr<SetView>& view) {
  const std::string container = container_name(path, host);
  for (;;) {
    if (!make && !store.status(container).exists) return nullptr;
    std::shared_ptr<OpenSet> set(new OpenSet(path, view));
    if (!set->join_once(store, container, host, memory_directory, make)) continue;
    note_set(set.get());
    set->registered_ = true;
    return set;
  }
}

// Opens the container and its memory. Returns false if the container was removed during the call.
bool OpenSet::join_once(Store& store, const std::string& container, const std::string& host,
                        const std::string& directory, bool make) {
  try {
    bool made = false;
    file_ = make ? make_or_open_beside(store, container, {}, made) : open_beside(store, container, {});
  } catch (const Error& e) {
    if (e.code() == Code::not_found && !make) return false;
    throw;
  }
  const FileStatus status = file_->status();
  const FileSystemTraits traits = store.traits(container);
  local_ = traits.coherence == Coherence::local;
  mapped_ = can_be_mapped(traits);
  try {
    memory_ = HostMemory::join(directory, memory_key(status, container), SharedStreams::layout,
                               [&](HostMemory& memory) { fill(store, container, host, memory); });
  } catch (const Error&) {
    // A gathered container still exists if the gathering job could not remove it.
    if (!was_taken_) throw;
    remove_container(store, container, directory);
    return false;
  }
  block_size_ = status.block_size;
  streams_ = std::make_unique<SharedStreams>(*memory_);
  origin_ = format::short_identity(streams_->head().identity);
  writer_ = std::make_unique<ContainerWriter>(*file_, *streams_, mapped_);
  sums_ = std::make_unique<SumWriter>(*file_, *writer_, *memory_);
  if (!lock_container()) return false;
  // A job may have gathered and removed the container before the lock was acquired.
  const FileStatus now = store.status(container);
  return now.exists && now.number == status.number && now.device == status.device;
}

// Marks the container as in use by a lock that gathering jobs check. Returns false if a job is gathering the
// container now; that job will remove it.
bool OpenSet::lock_container() {
  bool locked = true;
  try {
    lock_ = file_->lock(0, 1, false, OnConflict::refusal);
    locked = static_cast<bool>(lock_);
    locked_at_ = forks();
  } catch (const Error&) {  // the file system has no locks
  }
  if (!locked) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return locked;
}

// Fills new shared memory from the container, before any other process uses the memory.
void OpenSet::fill(Store& store, const std::string& container, const std::string& host, HostMemory& memory) {
  auto contents = read_container(store, container);
  if (!contents) {
    require_in_the_making(*file_);
    format::ContainerHeader header{.identity = multifile::new_identity(), .host = host};
    header.made = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    if (checking_of_environment() == multifile::Checking::on) header.version = format::container_summed;
    ContainerWriter::begin(*file_, header, mapped_);
    contents = read_container(store, container);
    if (!contents) throw file_error(Code::io, container, "does not keep what is written to it");
  } else if (const ContainerFindings found = check_tables(*contents); !found.damage.empty()) {
    throw file_error(Code::damaged, container, found.damage);
  }
  if (!mapped_ && contents->changes != format::changes_untold) ContainerWriter::begin_log(*file_);
  const auto base = multifile::BaseStreams::open(store, path_);
  if (base && std::ranges::find(base->taken(), contents->header.identity) != base->taken().end()) {
    was_taken_ = true;
    throw file_error(Code::not_found, container, "is in the multifile already");
  }
  SharedStreams streams(memory);
  streams.make(contents->header.identity, contents->header.version == format::container_summed);
  streams_ = std::make_unique<SharedStreams>(memory);
  origin_ = format::short_identity(contents->header.identity);
  SharedStreams::Head& head = streams.head();
  head.last_table = contents->last_table;
  head.last_entries = contents->last_entries;
  head.spare_area = ContainerWriter::spare_of(*contents);
  head.tail = must_fit(align_up(std::max(contents->file_bytes, contents->end), format::container_page),
                       "a container");
  if (contents->records.empty()) return;
  contents.reset();
  const auto set = view_->again(origin_);
  head.clock = set->newest;
  head.numbers = set->next_number - 1;
  for (const ReplayedStream& stream : set->streams) {
    if (stream.name.empty() || !stream.here) continue;
    const SharedPlace at = streams.make_stream(stream.key, stream.mode, stream.written);
    const SharedPlace entry = streams.make_entry(at, stream.name);
    if (stream.key.origin != origin_) streams.note_key(at);
    copy_pieces(streams.stream(at), stream, *set);
    streams.give_name(entry, stream.named);
    streams.stream(at).changed = stream.changed;
  }
}

OpenSet::~OpenSet() {
  if (registered_) forget_set(this);
  if (lock_ && locked_at_ != forks())
    new RangeLock(std::move(lock_));  // after a fork the lock belongs to the parent, which releases it
  sums_.reset();
  writer_.reset();
  streams_.reset();
  memory_.reset();
}

// Copies the places of the checksum words of `made`, a piece of the own container. Throws `no_space`.
void OpenSet::copy_sums(SharedPiece& made, const RoomIndex& index) {
  SharedSums& sums = made.sums;
  for (int64_t at = made.place, end = made.place + made.length.load(); at < end;) {
    const RoomIndex::RoomSums found = index.find(at);
    if (at == made.place) {
      sums.room = found.sums.room;
      sums.end_at = found.sums.end_at;
    }
    if (found.sums.room == 0 || found.sums.room != sums.room) return;
    if (found.sums.slots > 0) {
      const SharedPlace slots = streams_->make_slots();
      add_slots(streams_->memory(), sums, slots,
                {0, found.sums.first, found.sums.slots, found.sums.slots_at});
    }
    at = found.end;
  }
}

// Replaces the pieces of `stream` by those of `from`. Throws `no_space` and then changes nothing.
void OpenSet::copy_pieces(SharedStream& stream, const ReplayedStream& from, const SetContents& contents) {
  std::vector<SharedPlace> places(from.pieces.all().size());
  try {
    auto next = places.begin();
    for (const auto& [offset, piece] : from.pieces.all()) {
      const SetSource& source = contents.sources[piece.source];
      SharedPiece& made = streams_->piece(*next++ = streams_->make_piece());
      made.offset = offset;
      made.length = piece.length;
      made.capacity = source.base ? piece.task : piece.length;
      made.place = piece.place;
      made.origin = source.origin == origin_ ? 0 : source.origin;
      if (made.origin == 0 && source.sums) copy_sums(made, *source.sums);
    }
  } catch (...) {
    for (const SharedPlace at : places)
      if (at != 0) streams_->drop_piece(at);
    throw;
  }
  streams_->drop_pieces(stream);
  for (const SharedPlace at : places) streams_->add_piece(stream, at);
  stream.size = from.size;
  stream.mode = from.mode;
  stream.modified = from.modified();
  stream.elsewhere = from.elsewhere;
  stream.looked = contents.looked;
}

SharedPlace OpenSet::bring_in(const ReplayedStream& from, const SetContents& elsewhere) {
  const SharedPlace at = streams_->make_stream(from.key, from.mode, from.written);
  SharedPlace entry = 0;
  try {
    entry = streams_->make_entry(at, from.name);
    copy_pieces(streams_->stream(at), from, elsewhere);
    streams_->note_key(at);  // later lookups by key find this stream instead of importing it again
  } catch (...) {
    if (entry != 0) streams_->drop_entry(entry);
    streams_->let_go(at);
    throw;
  }
  streams_->give_name(entry, from.named);
  streams_->stream(at).changed = from.changed;
  return at;
}

void OpenSet::revalidate(const std::shared_ptr<const SetContents>& elsewhere) {
  finish_renaming();
  if (elsewhere == known_) return;
  streams_->hear(elsewhere->newest);
  std::vector<std::pair<SharedPlace, const ReplayedStream*>> changed;
  streams_->for_each([&](SharedPlace at) {
    const SharedStream& stream = streams_->stream(at);
    const ReplayedStream* const now = elsewhere->find(stream.key);
    // Another process may have applied the result of a later check already.
    if (now != nullptr && now->elsewhere != stream.elsewhere.load() &&
        elsewhere->looked > stream.looked.load())
      changed.emplace_back(at, now);
  });
  for (const auto& [at, now] : changed) {
    SharedStream& stream = streams_->stream(at);
    if (now->name.empty()) {
      stream.elsewhere.store(now->elsewhere);
      stream.looked.store(elsewhere->looked);
      if (stream.named.load() < now->changed) streams_->take_name(at);
      continue;
    }
    if (stream.named.load() < now->named && streams_->name_of(at) != now->name)
      streams_->give_name(streams_->make_entry(at, now->name), now->named);
    revalidate(at, *now, *elsewhere);
  }
  known_ = elsewhere;
}

// Applies the state `now` of other containers to the shared stream `at`. If this host has written records
// that `now` lacks, or the stream is open, reads the containers again under the lock of the stream.
void OpenSet::revalidate(SharedPlace at, const ReplayedStream& now, const SetContents& elsewhere) {
  SharedStream& stream = streams_->stream(at);
  const SharedStreams::StreamLock lock(*streams_, at);
  const bool has_grown = stream.grown.load() != 0;
  if (has_grown) record_growth(stream);
  sums_->settle(stream.over);
  const bool is_all = !has_grown && stream.opens.load() == 0 && stream.changed.load() < elsewhere.read_at;
  const auto again = is_all ? nullptr : view_->again(origin_);
  const SetContents& set = is_all ? elsewhere : *again;
  const ReplayedStream* const newest = is_all ? &now : set.find(stream.key);
  if (newest == nullptr || newest->name.empty()) return;
  copy_pieces(stream, *newest, set);
  stream.changed.store(std::max(stream.changed.load(), newest->changed));
}

SetSource OpenSet::source(uint64_t origin) {
  for (const bool look : {false, true})
    for (const SetSource& source : view_->now(look, origin_)->sources)
      if (source.origin == origin) return source;
  throw os_error("a container with bytes of a stream is gone from", path_, ENOENT);
}

std::vector<UnusedBytes> OpenSet::unused(SharedStream& stream, int64_t size) {
  std::vector<UnusedBytes> found;
  for (SharedPlace at = stream.first.load(); at != 0; at = streams_->piece(at).next.load()) {
    const SharedPiece& piece = streams_->piece(at);
    const int64_t length = piece.length.load();
    const int64_t kept = std::clamp<int64_t>(size - piece.offset, 0, length);
    if (piece.origin == 0 && length - kept >= worth_discarding)
      found.push_back(sums_->unused(piece.sums, piece.place + kept, piece.place + length));
  }
  return found;
}

void OpenSet::discard(const std::vector<UnusedBytes>& all) {
  for (const UnusedBytes& unused : all) {
    sums_->give_up(unused);
    discard_range(*file_, unused.place, unused.bytes);
  }
}

// If the process is killed after the record, the next call harmlessly records the same blocks again.
void OpenSet::make_slots(SharedPiece& piece, int64_t length) {
  const int64_t wanted = length / format::summed_block;
  for (int64_t has = blocks_with_slots(*memory_, piece.sums); has < wanted;) {
    format::ContainerRecord record{.kind = format::RecordKind::sums, .time = streams_->tick()};
    record.place = piece.sums.room;
    record.first_block = has;
    record.slots = std::clamp(std::max(has, wanted - has), sums_constants::first_slots, format::max_slots);
    const SharedPlace slots = streams_->make_slots();
    int64_t at = 0;
    try {
      at = writer_->record(record) + format::slots_at;
    } catch (...) {
      streams_->drop_slots(slots);
      throw;
    }
    add_slots(*memory_, piece.sums, slots, {0, has, record.slots, at});
    has += record.slots;
  }
}

// If the process is killed after writing the record, the next call harmlessly writes it again.
void OpenSet::record_growth(SharedStream& stream) {
  const SharedPlace at = stream.grown.load();
  if (at == 0) return;
  const SharedPiece& piece = streams_->piece(at);
  const int64_t from = stream.grown_from.load();
  if (piece.length.load() > from) {
    format::ContainerRecord record{
        .kind = format::RecordKind::piece, .time = streams_->tick(), .stream = recorded(stream.key)};
    record.offset = piece.offset + from;
    record.place = piece.place + from;
    record.length = piece.length.load() - from;
    record.modified = stream.modified.load();
    writer_->record(record);
  }
  stream.grown.store(0);
}

void OpenSet::publish_changes() {
  writer_->note_change();
  if (!local_) publish_by_close(*file_);
}

}  // namespace sheaf::streams
