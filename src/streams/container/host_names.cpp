// streams/container/host_names: further functions of HostContainer. They apply changes of other hosts to the
// shared streams, look up, create and rename streams, and note which are open.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "streams/container/host_container.hpp"

namespace sheaf::streams {

using format::ContainerRecord;
using format::RecordKind;

// --- Changes of other hosts.

SharedPlace HostContainer::bring_in(const NamedStream& from, const NamedStreams& elsewhere) {
  const SharedPlace at = index_->make_stream(from.key, from.mode, from.written);
  SharedPlace entry = 0;
  try {
    entry = index_->names().make_entry(at, from.name);
    copy_pieces(index_->stream(at), from, elsewhere);
    index_->note_key(at);  // later lookups by key find this stream instead of importing it again
  } catch (...) {
    if (entry != 0) index_->names().drop_entry(entry);
    index_->let_go(at);
    throw;
  }
  index_->give_name(entry, from.named);
  index_->stream(at).changed = from.changed;
  return at;
}

void HostContainer::revalidate(const std::shared_ptr<const NamedStreams>& elsewhere) {
  finish_renaming();
  if (elsewhere == known_) return;
  index_->hear(elsewhere->newest);
  std::vector<std::pair<SharedPlace, const NamedStream*>> changed;
  index_->for_each([&](SharedPlace at) {
    const SharedStream& stream = index_->stream(at);
    const NamedStream* const now = elsewhere->find(stream.key);
    // Another process may have applied the result of a later check already.
    if (now != nullptr && now->elsewhere != stream.elsewhere.load() &&
        elsewhere->check.monotonic > stream.looked.load())
      changed.emplace_back(at, now);
  });
  for (const auto& [at, now] : changed) {
    SharedStream& stream = index_->stream(at);
    if (now->name.empty()) {
      stream.elsewhere.store(now->elsewhere);
      stream.looked.store(elsewhere->check.monotonic);
      if (stream.named.load() < now->changed) index_->take_name(at);
      continue;
    }
    if (stream.named.load() < now->named && index_->name_of(at) != now->name)
      index_->give_name(index_->names().make_entry(at, now->name), now->named);
    revalidate(at, *now, *elsewhere);
  }
  known_ = elsewhere;
}

// Applies the state `now` of other containers to the shared stream `at`. If this host has written records
// that `now` lacks, or the stream is open, reads the containers again under the lock of the stream.
void HostContainer::revalidate(SharedPlace at, const NamedStream& now, const NamedStreams& elsewhere) {
  SharedStream& stream = index_->stream(at);
  const ContainerIndex::StreamLock lock(*index_, at);
  const bool has_grown = stream.grown.load() != 0;
  if (has_grown) record_growth(stream);
  writer_->sums().settle(stream.over);
  const bool is_all = !has_grown && stream.opens.load() == 0 && stream.changed.load() < elsewhere.check.began;
  const auto again = is_all ? nullptr : reader_->again(origin_);
  const NamedStreams& set = is_all ? elsewhere : *again;
  const NamedStream* const newest = is_all ? &now : set.find(stream.key);
  if (newest == nullptr || newest->name.empty()) return;
  copy_pieces(stream, *newest, set);
  stream.changed.store(std::max(stream.changed.load(), newest->changed));
}

// --- Names.

SharedPlace HostContainer::find(const std::shared_ptr<const NamedStreams>& elsewhere, std::string_view name) {
  revalidate(elsewhere);
  SharedPlace own = index_->names().find(name);
  if (own != 0 && take_name_of_moved(own)) own = 0;
  const NamedStream* const other = elsewhere->find(name);
  if (other == nullptr) return own;
  if (own != 0) {
    const SharedStream& stream = index_->stream(own);
    if (elsewhere->find(stream.key) == other || stream.named.load() >= other->named) return own;
  }
  // This host already knows the stream `other`, or has records of it. It no longer has this name, because a
  // process of this host has removed or renamed it since the last check of other hosts.
  if (other->here || other->key.origin == origin_ || index_->find(other->key) != 0) return own;
  return bring_in(*other, *elsewhere);
}

SharedPlace HostContainer::create(std::string_view name, const StreamOpening& opening) {
  const format::StreamKey key{index_->head().numbers.fetch_add(1) + 1, origin_};
  const ContainerRecord record{.kind = RecordKind::create,
                               .time = index_->tick(),
                               .stream = recorded(key),
                               .empties = opening.truncate || opening.exclusive,
                               .name = name,
                               .mode = opening.mode};
  const SharedPlace made = index_->make_stream(key, opening.mode, record.time);
  SharedPlace entry = 0;
  try {
    entry = index_->names().make_entry(made, name);
    writer_->record(record);
  } catch (...) {
    if (entry != 0) index_->names().drop_entry(entry);
    index_->let_go(made);
    throw;
  }
  index_->give_name(entry, record.time);
  return made;
}

// Ignores a full disk, because it must not prevent opening or removing a stream. The next open then tries
// again.
void HostContainer::bind(SharedPlace at) {
  SharedStream& stream = index_->stream(at);
  if (stream.use.load() == StreamUse::bound || stream.entry.load() == 0) return;
  try {
    writer_->record({.kind = RecordKind::create,
                     .time = index_->tick(),
                     .stream = recorded(stream.key),
                     .name = index_->name_of(at),
                     .mode = stream.mode.load()});
    stream.use.store(StreamUse::bound);
  } catch (const Error& e) {
    if (e.code() != Code::no_space) throw;
  }
}

void HostContainer::rename(SharedPlace at, std::string_view to) {
  ContainerIndex::Head& head = index_->head();
  const SharedPlace entry = to.empty() ? 0 : index_->names().make_entry(at, to);
  head.renamed_to.store(entry);
  head.renamed.store(at);
  try {
    finish_renaming();
  } catch (...) {
    head.renamed.store(0);
    if (entry != 0) index_->names().drop_entry(entry);
    throw;
  }
}

// Records and completes the rename in Head::renamed, including one that a killed process has begun. That
// process may have written the record already. A second one is harmless, because no process has looked up a
// name since.
void HostContainer::finish_renaming() {
  ContainerIndex::Head& head = index_->head();
  const SharedPlace at = head.renamed.load(), entry = head.renamed_to.load();
  if (at == 0) return;
  if (index_->stream(at).entry.load() != entry) {
    bind(at);
    const ContainerRecord record{.kind = entry == 0 ? RecordKind::remove : RecordKind::rename,
                                 .time = index_->tick(),
                                 .stream = recorded(index_->stream(at).key),
                                 .name = entry == 0 ? std::string_view() : index_->names().text(entry)};
    writer_->record(record);
    entry == 0 ? index_->take_name(at) : index_->give_name(entry, record.time);
  }
  head.renamed.store(0);
}

// Writes the record of the removal again, because the process that moved the stream may have been killed
// before it wrote one.
bool HostContainer::take_name_of_moved(SharedPlace at) {
  SharedStream& stream = index_->stream(at);
  if (stream.moving.load() != 0) {
    const ContainerIndex::StreamLock lock(*index_, at);
    if (stream.moving.load() != 0) {
      writer_->record({.kind = RecordKind::remove, .time = index_->tick(), .stream = recorded(stream.key)});
      stream.moving.store(0);
    }
  }
  if (stream.moved.load() == 0) return false;
  index_->take_name(at);
  return true;
}

// --- Open streams and forks.

HostContainer::Opens::iterator HostContainer::note_open(SharedPlace at) {
  const std::lock_guard guard(opens_.mutex);
  return opens_.places.insert(opens_.places.end(), at);
}

void HostContainer::note_close(Opens::iterator at) {
  const std::lock_guard guard(opens_.mutex);
  opens_.places.erase(at);
}

// Counts each open stream once more for the child, so that the stream stays open if the parent closes it.
void HostContainer::before_fork() {
  {
    const ContainerIndex::NamesLock lock(*index_);
    opens_.mutex.lock();  // after the lock of names, as when a stream is opened
    for (const SharedPlace at : opens_.places) index_->open(at);
  }
  memory_->before_fork();
  writer_->before_fork();
}

void HostContainer::after_fork(bool in_child) {
  writer_->after_fork(in_child);
  if (in_child) memory_->in_child();
  opens_.mutex.unlock();
}

}  // namespace sheaf::streams
