#include "streams/container/replay.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "storage/store.hpp"
#include "streams/container/container_names.hpp"

namespace sheaf::streams {

namespace {

using format::ContainerRecord;
using format::RecordKind;
using format::StreamKey;

// Applies the records of a set in their order.
class Replayer {
 public:
  Replayer(SetContents& set, uint64_t own) : set_(set), own_(own) {}

  void apply(const ContainerRecord& record, uint32_t source) {
    const uint64_t container = set_.sources[source].origin;
    const StreamKey key{record.stream.number, record.stream.origin == 0 ? container : record.stream.origin};
    set_.newest = std::max(set_.newest, record.time);
    if (container == own_ && key.origin == own_)
      set_.next_number = std::max(set_.next_number, key.number + 1);
    ReplayedStream* const stream = record.kind == RecordKind::create ? create(record, key) : set_.find(key);
    if (stream == nullptr || stream->name.empty()) return;
    if (container == own_) stream->here = true;
    if (record.kind == RecordKind::create && !record.empties && record.time > stream->named)
      return;  // the stream exists, and the record changes nothing
    stream->changed = std::max(stream->changed, record.time);
    if (container != own_) ++stream->elsewhere;
    change(*stream, record, source);
  }

 private:
  ReplayedStream* create(const ContainerRecord& record, const StreamKey& key) {
    if (ReplayedStream* const known = set_.find(key)) return known;
    if (ReplayedStream* const there = set_.find(record.name)) {
      set_.keys.insert_or_assign(key, there);
      return there;
    }
    ReplayedStream& made = set_.streams.emplace_back();
    made.key = key;
    made.mode = record.mode;
    made.written = record.time;
    name(made, record);
    set_.keys.insert_or_assign(key, &made);
    return &made;
  }

  void name(ReplayedStream& stream, const ContainerRecord& record) {
    stream.name = record.name;
    stream.named = record.time;
    set_.names.emplace(stream.name, &stream);
  }

  void remove(ReplayedStream& stream) {
    set_.names.erase(stream.name);
    stream.name.clear();
    stream.pieces.clear();
    stream.failures.clear();
  }

  void resize(ReplayedStream& stream, int64_t size, int64_t time) {
    stream.pieces.cut(size);
    std::erase_if(stream.failures, [&](const auto& one) { return one.offset >= size; });
    stream.size = size;
    stream.written = std::max(stream.written, time);
  }

  static void note_failure(ReplayedStream& stream, const ContainerRecord& record, uint64_t container) {
    if (record.failure == 0)
      stream.failures.push_back({container, record.time, record.offset, record.length});
    else
      std::erase_if(stream.failures, [&](const ReplayedStream::RecordedFailure& one) {
        return one.container == container && one.time == record.failure;
      });
  }

  void change(ReplayedStream& stream, const ContainerRecord& record, uint32_t source) {
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
        if (ReplayedStream* const there = set_.find(record.name); there != nullptr && there != &stream) {
          if (set_.sources[source].origin != own_) ++there->elsewhere;
          there->changed = std::max(there->changed, record.time);
          remove(*there);
        }
        set_.names.erase(stream.name);
        name(stream, record);
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

  SetContents& set_;
  const uint64_t own_;
};

void add_base(SetContents& set, std::shared_ptr<const multifile::BaseStreams> base, const std::string& path) {
  const auto source = static_cast<uint32_t>(set.sources.size());
  const auto& names = base->names();
  for (size_t task = 0; task < names.size(); ++task) {
    ReplayedStream& stream = set.streams.emplace_back();
    stream.name = names[task].name;
    stream.key = {task + 1, base->origin()};
    stream.mode = names[task].mode;
    stream.written = stream.changed = names[task].modified;
    stream.size = base->size(static_cast<int64_t>(task));
    stream.elsewhere = static_cast<int64_t>(base->origin() >> 1);
    stream.pieces.put(0, {.length = stream.size, .source = source, .task = static_cast<int64_t>(task)});
    set.names.emplace(stream.name, &stream);
    set.keys.emplace(stream.key, &stream);
  }
  set.sources.push_back({.path = path, .base = std::move(base)});
  set.sources.back().origin = set.sources.back().base->origin();
}

bool was_taken(const SetContents& set, const format::Identity& identity) {
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

int64_t time_of_reading() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

ReadsOfBlocks reads_in(Store& store, const std::string& path, multifile::Checking checking) {
  return {checking, store.traits(path).coherence != Coherence::local};
}

// Collects the records of all containers and applies them in the order of their times.
class Turns {
 public:
  Turns(const ReadsOfBlocks& reads) : reads_(reads) {}

  // Adds a container, which must stay valid until carry_out(). Returns null if the multifile has its content.
  SetSource* add(SetContents& set, const std::string& path, const ContainerContents& found) {
    if (was_taken(set, found.header.identity)) return nullptr;
    const auto source = static_cast<uint32_t>(set.sources.size());
    SetSource& made = set.sources.emplace_back(SetSource{.path = path, .file = found.file});
    made.identity = found.header.identity;
    made.origin = format::short_identity(found.header.identity);
    made.changes = found.changes;
    made.file_bytes = found.file_bytes;
    made.failed = found.failed;
    for (const PlacedRecord& placed : found.records)
      if (placed.record.kind != RecordKind::sums)
        turns_.push_back({placed.record.time, made.origin, source, &placed.record});
    if (found.header.version == format::container_summed) add_sums(made, found);
    return &made;
  }

  void carry_out(SetContents& set, uint64_t own) {
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
void find_cut_off(SetContents& set) {
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
void find_failures(SetContents& set) {
  for (SetSource& source : set.sources)
    if (source.failed && source.damage.empty())
      source.damage = "bytes could not be written to a stream of it, and were not written since";
  for (const auto& [name, stream] : set.names)
    for (const ReplayedStream::RecordedFailure& failure : stream->failures) {
      const auto source = std::ranges::find(set.sources, failure.container, &SetSource::origin);
      if (source != set.sources.end() && source->damage.empty())
        source->damage =
            std::to_string(failure.bytes) + " bytes at offset " + std::to_string(failure.offset) + " of '" +
            stream->name +
            "' could not be written, and were not written since: write that file again, or remove it";
    }
}

}  // namespace

SetContents read_set(Store& store, const std::vector<std::string>& containers, const std::string& multifile,
                     const SetReading& reading) {
  SetContents set;
  set.read_at = time_of_reading();
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
  if (seen == base_seen_) return;
  base_ = seen == 0 ? nullptr : multifile::BaseStreams::open(store_, path_, reads_.checking);
  base_seen_ = seen;
  changed_ = true;
}

bool SetReader::look() {
  looked_at_ = time_of_reading();
  looked_ = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  const SetFiles files = files_of(store_, path_);
  // Look for the multifile last: a gathering job removes a container when the multifile has its content.
  const bool gone = look_for_containers(files.containers);
  if (files.multifile || gone || base_seen_ != 0) look_for_base();
  return changed_;
}

SetContents SetReader::contents(uint64_t own) {
  if (own != 0) revalidate(own_, true);
  SetContents set;
  set.read_at = looked_at_;
  set.looked = looked_;
  if (base_) add_base(set, base_, path_);
  Turns turns(reads_);
  for (const KnownContainer& known : others_)
    if (known.contents) turns.add(set, known.path, *known.contents);
  if (own != 0 && own_.contents) turns.add(set, own_.path, *own_.contents);
  turns.carry_out(set, own);
  changed_ = false;
  return set;
}

void read_piece(const SetSource& source, const layout::StreamPiece& piece, std::span<std::byte> data,
                multifile::Checking checking) {
  if (source.sums && source.checked && checking == multifile::Checking::on) {
    for (int64_t at = piece.place; !data.empty();) {
      const RoomIndex::RoomSums found = source.sums->find(at);
      const auto part = data.first(static_cast<size_t>(std::min(std::ssize(data), found.end - at)));
      read_checked(*source.file, found.sums, part, at, *source.checked);
      at += std::ssize(part);
      data = data.subspan(part.size());
    }
    return;
  }
  const size_t got = source.base ? source.base->read(piece.task, data, piece.place)
                                 : source.file->read_at(data, piece.place);
  std::memset(data.data() + got, 0, data.size() - got);
}

size_t read_pieces(const std::vector<SetSource>& sources, const ReplayedStream& stream,
                   std::span<std::byte> data, int64_t offset, multifile::Checking checking) {
  if (offset >= stream.size) return 0;
  const auto wanted = std::min(std::ssize(data), stream.size - offset);
  for (int64_t done = 0; done < wanted;) {
    const layout::PieceMap::PieceOrGap at = stream.pieces.at(offset + done);
    const auto count = static_cast<size_t>(std::min(wanted - done, at.piece.length));
    const auto part = data.subspan(static_cast<size_t>(done), count);
    if (!at.found) {
      std::memset(part.data(), 0, part.size());
    } else {
      const SetSource& source = sources[at.piece.source];
      try {
        read_piece(source, at.piece, part, checking);
      } catch (const SumMismatch& mismatch) {
        mismatch.refuse(stream.name, offset + done + mismatch.place - at.piece.place);
      }
    }
    done += static_cast<int64_t>(count);
  }
  return static_cast<size_t>(wanted);
}

}  // namespace sheaf::streams
