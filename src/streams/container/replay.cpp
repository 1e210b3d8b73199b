#include "streams/container/replay.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "storage/store.hpp"
#include "storage/times.hpp"
#include "streams/container/container_names.hpp"

namespace sheaf::streams {

namespace {

using format::ContainerRecord;
using format::RecordKind;
using format::StreamKey;

// Applies the records of a set in their order.
class Replayer {
 public:
  Replayer(NamedStreams& set, uint64_t own) : set_(set), own_(own) {}

  void apply(const ContainerRecord& record, uint32_t source) {
    const uint64_t container = set_.sources[source].origin;
    const StreamKey key{record.stream.number, record.stream.origin == 0 ? container : record.stream.origin};
    set_.newest = std::max(set_.newest, record.time);
    if (container == own_ && key.origin == own_)
      set_.next_number = std::max(set_.next_number, key.number + 1);
    NamedStream* const stream = record.kind == RecordKind::create ? create(record, key) : set_.find(key);
    if (stream == nullptr || stream->name.empty()) return;
    if (container == own_) stream->here = true;
    if (record.kind == RecordKind::create && !record.empties && record.time > stream->named)
      return;  // the stream exists, and the record changes nothing
    stream->changed = std::max(stream->changed, record.time);
    if (container != own_) ++stream->elsewhere;
    change(*stream, record, source);
  }

 private:
  NamedStream* create(const ContainerRecord& record, const StreamKey& key) {
    if (NamedStream* const known = set_.find(key)) return known;
    if (NamedStream* const there = set_.find(record.name)) {
      set_.keys.insert_or_assign(key, there);
      return there;
    }
    NamedStream& made = set_.all.emplace_back(
        NamedStream{.name = {}, .key = key, .written = record.time, .mode = record.mode});
    name(made, record);
    set_.keys.insert_or_assign(key, &made);
    return &made;
  }

  void name(NamedStream& stream, const ContainerRecord& record) {
    stream.name = record.name;
    stream.named = record.time;
    set_.names.emplace(stream.name, &stream);
  }

  void remove(NamedStream& stream) {
    set_.names.erase(stream.name);
    stream.name.clear();
    stream.pieces.clear();
    stream.failures.clear();
  }

  void rename(NamedStream& stream, const ContainerRecord& record, uint32_t source) {
    if (NamedStream* const there = set_.find(record.name); there != nullptr && there != &stream) {
      if (set_.sources[source].origin != own_) ++there->elsewhere;
      there->changed = std::max(there->changed, record.time);
      remove(*there);
    }
    set_.names.erase(stream.name);
    name(stream, record);
  }

  void resize(NamedStream& stream, int64_t size, int64_t time) {
    stream.pieces.cut(size);
    std::erase_if(stream.failures, [&](const auto& one) { return one.offset >= size; });
    stream.size = size;
    stream.written = std::max(stream.written, time);
  }

  static void note_failure(NamedStream& stream, const ContainerRecord& record, uint64_t container) {
    if (record.failure == 0)
      stream.failures.push_back({container, record.time, record.offset, record.length});
    else
      std::erase_if(stream.failures, [&](const NamedStream::RecordedFailure& one) {
        return one.container == container && one.time == record.failure;
      });
  }

  void change(NamedStream& stream, const ContainerRecord& record, uint32_t source) {
    switch (record.kind) {
      case RecordKind::create:
        if (record.empties) resize(stream, 0, record.time);
        break;
      case RecordKind::piece:
        stream.pieces.put(record.offset, {.length = record.length, .place = record.place, .source = source});
        if (record.length > 0) stream.size = std::max(stream.size, record.offset + record.length);
        stream.written = std::max(stream.written, record.modified != 0 ? record.modified : record.time);
        break;
      case RecordKind::size:
        resize(stream, record.size, record.time);
        break;
      case RecordKind::attributes:
        if (record.which & format::sets_mode) stream.mode = record.mode;
        if (record.which & format::sets_modified) {
          stream.stamp = record.modified;
          stream.stamped = record.time;
        }
        break;
      case RecordKind::rename:
        rename(stream, record, source);
        break;
      case RecordKind::remove:
        remove(stream);
        break;
      case RecordKind::failure:
        note_failure(stream, record, set_.sources[source].origin);
        break;
      case RecordKind::sums:
        break;
    }
  }

  NamedStreams& set_;
  const uint64_t own_;
};

void add_base(NamedStreams& set, std::shared_ptr<const multifile::BaseStreams> base,
              const std::string& path) {
  const auto source = static_cast<uint32_t>(set.sources.size());
  const auto& names = base->names();
  for (size_t task = 0; task < names.size(); ++task) {
    NamedStream& stream =
        set.all.emplace_back(NamedStream{.name = names[task].name,
                                         .key = {task + 1, base->origin()},
                                         .size = base->size(static_cast<int64_t>(task)),
                                         .written = names[task].modified,
                                         .changed = names[task].modified,
                                         .mode = names[task].mode,
                                         .elsewhere = static_cast<int64_t>(base->origin() >> 1)});
    stream.pieces.put(0, {.length = stream.size, .source = source, .task = static_cast<int64_t>(task)});
    set.names.emplace(stream.name, &stream);
    set.keys.emplace(stream.key, &stream);
  }
  set.sources.push_back({.path = path, .base = std::move(base)});
  set.sources.back().origin = set.sources.back().base->origin();
}

bool was_taken(const NamedStreams& set, const format::Identity& identity) {
  return std::ranges::any_of(set.sources, [&](const SetSource& source) {
    return source.base && std::ranges::find(source.base->taken(), identity) != source.base->taken().end();
  });
}

// Reads a container. Returns nullopt if the container is being created or was removed.
std::optional<ContainerContents> read_if_there(Store& store, const std::string& path) {
  try {
    return read_container(store, path);
  } catch (const Error& e) {
    if (e.code() == Code::not_found) return std::nullopt;
    throw;
  }
}

ReadsOfBlocks reads_in(Store& store, const std::string& path, multifile::Checking checking) {
  return {checking, !store.traits(path).is_local()};
}

// Collects the records of all containers and applies them in the order of their times.
class Turns {
 public:
  Turns(const ReadsOfBlocks& reads) : reads_(reads) {}

  // Adds a container, which must stay valid until carry_out(). Returns null if the multifile has its content.
  SetSource* add(NamedStreams& set, const std::string& path, const ContainerContents& found) {
    if (was_taken(set, found.header.identity)) return nullptr;
    const auto source = static_cast<uint32_t>(set.sources.size());
    SetSource& made =
        set.sources.emplace_back(SetSource{.path = path,
                                           .file = found.file,
                                           .identity = found.header.identity,
                                           .origin = format::short_identity(found.header.identity),
                                           .file_bytes = found.file_bytes,
                                           .failed = found.failed});
    for (const PlacedRecord& placed : found.records)
      if (placed.record.kind != RecordKind::sums)
        turns_.push_back({placed.record.time, made.origin, source, &placed.record});
    if (found.header.version == format::container_summed) add_sums(made, found);
    return &made;
  }

  void carry_out(NamedStreams& set, uint64_t own) {
    std::ranges::stable_sort(turns_, {}, [](const Turn& turn) { return std::tuple(turn.time, turn.origin); });
    Replayer replayer(set, own);
    for (const Turn& turn : turns_) replayer.apply(*turn.record, turn.source);
  }

 private:
  void add_sums(SetSource& source, const ContainerContents& found) const {
    RoomIndex index;
    for (const PlacedRecord& placed : found.records) index.add(placed.record, placed.place);
    index.sort();
    source.sums = std::make_shared<const RoomIndex>(std::move(index));
    if (reads_.checking == multifile::Checking::on)
      source.checked = std::make_shared<CheckedBlocks>(reads_.served);
  }

  struct Turn {
    int64_t time;
    uint64_t origin;
    uint32_t source;
    const ContainerRecord* record;
  };
  const ReadsOfBlocks reads_;
  std::vector<Turn> turns_;
};

// Marks streams with bytes beyond the end of their container, which may have grown since.
void find_cut_off(NamedStreams& set) {
  for (const auto& [name, stream] : set.names)
    for (const auto& [offset, piece] : stream->pieces.all()) {
      SetSource& source = set.sources[piece.source];
      if (source.base || piece.length <= source.file_bytes - piece.place) continue;
      source.file_bytes = source.file->status().size;
      if (piece.length <= source.file_bytes - piece.place) continue;
      stream->cut_off = true;
      if (source.damage.empty()) source.damage = "it ends before bytes of '" + stream->name + "'";
    }
}

// Adds to the damage of each source the failed writes that the program has not repeated.
void find_failures(NamedStreams& set) {
  for (SetSource& source : set.sources)
    if (source.failed && source.damage.empty())
      source.damage = "bytes could not be written to a stream of it, and were not written since";
  for (const auto& [name, stream] : set.names)
    for (const NamedStream::RecordedFailure& failure : stream->failures) {
      const auto source = std::ranges::find(set.sources, failure.container, &SetSource::origin);
      if (source != set.sources.end() && source->damage.empty())
        source->damage =
            std::to_string(failure.bytes) + " bytes at offset " + std::to_string(failure.offset) + " of '" +
            stream->name +
            "' could not be written, and were not written since: write that file again, or remove it";
    }
}

// Sorts the streams by name, and counts those of each source. A stream counts for the file that has its
// newest bytes, or, if it is empty, for the file that created it.
void sort(NamedStreams& set) {
  for (const auto& [name, stream] : set.names) {
    set.sorted.push_back(stream);
    const auto& pieces = stream->pieces.all();
    const auto source = pieces.empty()
                            ? std::ranges::find(set.sources, stream->key.origin, &SetSource::origin)
                            : set.sources.begin() + pieces.begin()->second.source;
    if (source != set.sources.end()) ++source->streams;
  }
  std::ranges::sort(set.sorted, {}, &NamedStream::name);
}

}  // namespace

NamedStreams read_set(Store& store, const std::vector<std::string>& containers, const std::string& multifile,
                      const SetReading& reading) {
  NamedStreams set;
  if (!multifile.empty())
    if (auto base = multifile::BaseStreams::open(store, multifile, reading.checking))
      add_base(set, std::move(base), multifile);
  std::deque<ContainerContents> held;
  Turns turns(reads_in(store, containers.empty() ? multifile : containers.front(), reading.checking));
  for (const std::string& path : containers) {
    try {
      auto found = read_if_there(store, path);
      if (!found) {
        require_in_the_making(*store.open(path, Access::read));
        continue;
      }
      if (SetSource* const made = turns.add(set, path, held.emplace_back(std::move(*found)));
          made != nullptr && reading.checked) {
        ContainerFindings findings = check_container(held.back());
        made->damage = std::move(findings.damage);
        made->torn = std::move(findings.torn);
      }
    } catch (const Error& e) {
      if (!reading.lenient) throw;
      set.sources.push_back({.path = path, .damage = e.what()});
    }
  }
  turns.carry_out(set, 0);
  find_cut_off(set);
  find_failures(set);
  sort(set);
  return set;
}

// --- SetReader

SetReader::SetReader(Store& store, std::string path, std::string own, multifile::Checking checking)
    : store_(store), path_(std::move(path)), reads_(reads_in(store, path_, checking)), own_{std::move(own)} {}

// Returns true if the container has new records, or was created, replaced or removed.
bool SetReader::revalidate(KnownContainer& known, bool unsaid) {
  try {
    const Come come =
        known.contents ? read_more(store_, known.path, *known.contents, unsaid) : Come::replaced;
    if (come != Come::replaced) return come == Come::appended;
    const bool was_there = known.contents.has_value();
    known.contents = read_if_there(store_, known.path);
    return was_there || known.contents;
  } catch (const Error& e) {
    if (e.code() != Code::not_found) throw;
    return std::exchange(known.contents, std::nullopt).has_value();
  }
}

// Returns true if a container has disappeared.
bool SetReader::look_for_containers(const std::vector<std::string>& paths) {
  const size_t forgotten = std::erase_if(
      others_, [&](const KnownContainer& known) { return !std::ranges::binary_search(paths, known.path); });
  if (forgotten > 0) changed_ = true;
  for (const std::string& path : paths) {
    if (path == own_.path) continue;
    const auto at = std::ranges::lower_bound(others_, path, {}, &KnownContainer::path);
    if (at == others_.end() || at->path != path) others_.insert(at, KnownContainer{path});
  }
  bool gone = forgotten > 0;
  for (KnownContainer& known : others_) {
    const bool was_there = known.contents.has_value();
    if (revalidate(known, false)) changed_ = true;
    gone |= was_there && !known.contents;
  }
  return gone;
}

void SetReader::look_for_base() {
  uint64_t seen = 0;
  if (const FileStatus base = store_.status(path_); base.exists)
    seen = (static_cast<uint64_t>(base.size) ^ base.number << 32) | 1;
  if (seen == base_.seen) return;
  base_.streams = seen == 0 ? nullptr : multifile::BaseStreams::open(store_, path_, reads_.checking);
  base_.seen = seen;
  changed_ = true;
}

// Reads the new records of other hosts' containers, and a new multifile.
void SetReader::look() {
  const SetCheck check{
      .number = begun_.fetch_add(1) + 1,
      .began = nanoseconds_now(),
      .monotonic = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1)};
  const SetFiles files = files_of(store_, path_);
  // Look for the multifile last: a gathering job removes a container when the multifile has its content.
  const bool gone = look_for_containers(files.containers);
  if (files.multifile || gone || base_.seen != 0) look_for_base();
  has_others_ = !others_.empty();
  if (changed_) contents_ = nullptr;
  check_ = check;
}

// Computes the contents as of the last check. Unless `own` is 0, also reads the container of this host.
void SetReader::replay(uint64_t own) {
  if (own != 0) revalidate(own_, true);
  auto set = std::make_shared<NamedStreams>();
  set->own = own;
  set->check = check_;
  if (base_.streams) add_base(*set, base_.streams, path_);
  Turns turns(reads_);
  for (const KnownContainer& known : others_)
    if (known.contents) turns.add(*set, known.path, *known.contents);
  if (own != 0 && own_.contents) turns.add(*set, own_.path, *own_.contents);
  turns.carry_out(*set, own);
  changed_ = false;
  contents_ = std::move(set);
}

std::shared_ptr<const NamedStreams> SetReader::now(bool look_again, uint64_t own) {
  const uint64_t before = begun_.load();
  const std::lock_guard guard(mutex_);
  if (look_again ? check_.number <= before : check_.number == 0) look();
  const uint64_t needed = others_.empty() && !base_.streams ? 0 : own;
  if (!contents_ || contents_->own != needed) replay(needed);
  return contents_;
}

std::shared_ptr<const NamedStreams> SetReader::again(uint64_t own) {
  const std::lock_guard guard(mutex_);
  look();
  replay(own);
  return contents_;
}

}  // namespace sheaf::streams
