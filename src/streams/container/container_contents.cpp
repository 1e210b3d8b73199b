#include "streams/container/container_contents.hpp"

#include <algorithm>
#include <array>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "format/fields.hpp"
#include "storage/store.hpp"
#include "streams/container/constants.hpp"

namespace sheaf::streams {

using namespace container_constants;

namespace {

using namespace format;

// Reads the records of an area that follow the known ones, up to the first place without a record.
class AreaReader {
 public:
  AreaReader(ContainerContents& contents, OpenArea& open)
      : contents_(contents), open_(open), begin_(open.area.place + open.known) {}

  void read() {
    try {
      do {
        while (const auto found = decode_record(rest(), contents_.header.identity, at())) {
          if (found->record) keep(*found->record);
          done_ += static_cast<size_t>(found->bytes);
        }
      } while (may_go_on() && more());
    } catch (...) {  // drop the new records, because their names are not stored yet
      contents_.records.resize(contents_.records.size() - kept_);
      throw;
    }
    open_.known += static_cast<int64_t>(done_);
    if (names_ > 0) place_names();
  }

 private:
  std::span<const std::byte> rest() const { return std::span(bytes_).subspan(done_); }
  int64_t at() const { return begin_ + static_cast<int64_t>(done_); }

  // Returns whether the remaining bytes may be the start of a record that needs more bytes.
  bool may_go_on() const {
    if (rest().size() < 8) return true;
    const auto length = get_little<uint16_t>(rest().data() + 4);
    return length >= record_head_size && rest().size() < length;
  }

  // Reads more bytes of the area. Returns false at its end.
  bool more() {
    const int64_t end = std::min(open_.area.place + open_.area.bytes, contents_.file_bytes);
    const size_t before = bytes_.size();
    const int64_t from = begin_ + static_cast<int64_t>(before);
    if (from >= end) return false;
    bytes_.resize(before + static_cast<size_t>(std::min(end - from, at_once_)));
    const size_t got = contents_.file->read_at(std::span(bytes_).subspan(before), from);
    bytes_.resize(before + got);
    at_once_ = std::min(2 * at_once_, max_at_once);
    return got > 0;
  }

  // Adds a record. Names are copied after all records were read, when their total size is known.
  void keep(ContainerRecord record) {
    names_ += record.name.size();
    record.name = {static_cast<const char*>(nullptr), record.name.size()};
    contents_.records.push_back({record, at()});
    ++kept_;
  }

  void place_names() {
    std::vector<std::byte>& held = contents_.held.emplace_back();
    held.reserve(names_);
    for (auto& [record, place] : std::span(contents_.records).last(kept_)) {
      const size_t length = record.name.size();
      if (length == 0) continue;
      const auto name = bytes_.begin() + (place - begin_) + record_head_size + 8;
      record.name = {reinterpret_cast<const char*>(held.data()) + held.size(), length};
      held.insert(held.end(), name, name + static_cast<std::ptrdiff_t>(length));
    }
  }

  ContainerContents& contents_;
  OpenArea& open_;
  const int64_t begin_;  // place of the first byte of bytes_
  int64_t at_once_ = first_at_once;
  std::vector<std::byte> bytes_;
  size_t done_ = 0;
  size_t kept_ = 0;
  size_t names_ = 0;  // bytes
};

struct AreaTable {
  std::vector<Area> areas;
  std::optional<Area> next;
};

// Reads the entries of a table, starting with entry `first`.
AreaTable read_table(const ContainerContents& contents, int64_t place, int64_t first) {
  std::array<std::byte, container_page> bytes{};
  contents.file->read_at(bytes, place);
  AreaTable table;
  for (int64_t k = first; k <= areas_in_table; ++k) {
    const auto entry =
        std::span(bytes).subspan(static_cast<size_t>(k * area_entry_size)).first<area_entry_size>();
    const auto area = decode_area(entry, contents.header.identity, place + k * area_entry_size);
    if (!area) break;
    if (k == areas_in_table) {
      table.next = area;
    } else {
      table.areas.push_back(*area);
    }
  }
  return table;
}

// Adds the size of an area or table to `claimed`. Throws `damaged` if the sum exceeds the size of the file.
// This bound ends the reading of a container whose tables form a cycle.
void account(ContainerContents& contents, const Area& area) {
  contents.claimed += std::clamp<int64_t>(contents.file_bytes - area.place, 0, area.bytes);
  contents.end = std::max(contents.end, area.place + area.bytes);
  if (contents.claimed > contents.file_bytes)
    throw file_error(Code::damaged, contents.file->path(),
                     "its tables claim more records than the file has bytes");
}

// Reads the tables from the last known entry of the last known table on.
void read_tables(ContainerContents& contents) {
  for (;;) {
    const AreaTable table = read_table(contents, contents.last_table, contents.last_entries);
    for (const Area& area : table.areas) {
      account(contents, area);
      contents.open.push_back({area});
      ++contents.last_entries;
    }
    if (!table.next || table.next->place >= contents.file_bytes) return;
    account(contents, *table.next);
    contents.last_table = table.next->place;
    contents.last_entries = 0;
  }
}

void read_areas(ContainerContents& contents) {
  for (OpenArea& open : contents.open) AreaReader(contents, open).read();
  std::erase_if(contents.open,
                [](const OpenArea& open) { return open.area.bytes - open.known < record_head_size; });
}

uint64_t changes_in(std::span<const std::byte> header) {
  return get_little<uint64_t>(header.data() + container_changes_at);
}

}  // namespace

namespace {

// Reads the current header. Returns nullopt if the file has no complete one.
std::optional<ContainerHeader> read_header(ContainerContents& contents, const std::string& path) {
  std::array<std::byte, container_page> bytes{};
  const auto header = std::span(bytes).first(contents.file->read_at(bytes, 0));
  if (header.size() >= 8 && !begins_as_container(header) && header[0] != std::byte{0})
    throw file_error(Code::not_a_multifile, path, "is not a container of Sheaf");
  const auto decoded = decode_container_header(header, path);
  if (!decoded) return std::nullopt;
  contents.changes = changes_in(bytes);
  contents.synced = get_little<uint64_t>(bytes.data() + container_synced_at) != 0;
  contents.failed = get_little<uint64_t>(bytes.data() + container_failed_at) != 0;
  return decoded;
}

}  // namespace

std::optional<ContainerContents> read_container(Store& store, const std::string& path) {
  ContainerContents contents;
  contents.file = store.open(path, Access::read);
  const auto header = read_header(contents, path);
  if (!header) return std::nullopt;
  contents.header = *header;
  contents.file_bytes = contents.file->status().size;
  contents.last_table = container_page;
  account(contents, {container_page, container_page});
  read_tables(contents);
  read_areas(contents);
  return contents;
}

void require_in_the_making(File& file) {
  const FileStatus status = file.status();
  if (status.size > 2 * container_page)
    throw file_error(Code::damaged, file.path(),
                     "its header, the first " + std::to_string(container_page) +
                         " bytes, is not sound, so that nothing of its " + std::to_string(status.size) +
                         " bytes can be read: to go on without it, give it another name");
  std::vector<std::byte> bytes(static_cast<size_t>(2 * container_page));
  bytes.resize(file.read_at(bytes, 0));
  const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
  if (!begins_as_container(bytes) && !std::ranges::all_of(bytes, is_zero))
    throw file_error(Code::not_a_multifile, file.path(), "is not a container of Sheaf");
}

// Reads the word that counts changes before the records. If a writer adds a record during the read, it
// changes the word again, so that the next call finds the record.
Come read_more(Store& store, const std::string& path, ContainerContents& contents, bool unsaid) {
  ContainerContents now;
  now.file = store.open(path, Access::read);
  const auto header = read_header(now, path);
  if (!header || header->identity != contents.header.identity) return Come::replaced;
  const bool tells = now.changes != changes_untold;
  const bool same = now.changes == contents.changes && now.synced == contents.synced;
  if (tells && same && !unsaid) return Come::none;
  const size_t known = contents.records.size();
  contents.file = now.file;
  contents.file_bytes = contents.file->status().size;
  read_tables(contents);
  read_areas(contents);
  contents.changes = now.changes;
  contents.synced = now.synced;
  return same && contents.records.size() == known ? Come::none : Come::appended;
}

// --- Damage.

namespace {

std::string at_byte(int64_t place) { return " at byte " + std::to_string(place); }

void tell(std::string& first, std::string what) {
  if (first.empty()) first = std::move(what);
}

// Checks the bytes of the last table after its known entries.
void check_table(const ContainerContents& contents, ContainerFindings& found) {
  std::array<std::byte, container_page> bytes{};
  if (contents.file->read_at(bytes, contents.last_table) < bytes.size())
    tell(found.damage, "it ends within its table" + at_byte(contents.last_table));
  const auto entry = [&](int64_t k) {
    return std::span(bytes).subspan(static_cast<size_t>(k * area_entry_size)).first<area_entry_size>();
  };
  int64_t k = contents.last_entries;
  while (k <= areas_in_table && is_zero(entry(k))) ++k;
  if (k > areas_in_table) return;
  const int64_t place = contents.last_table + k * area_entry_size;
  if (const auto area = decode_area(entry(k), contents.header.identity, place);
      area && k == contents.last_entries) {
    if (area->place >= contents.file->status().size)  // otherwise the area was added during the check
      tell(found.damage, "its tables go on" + at_byte(area->place) + ", behind its end");
    return;
  }
  // A writer writes the checksum of an entry last, so an interrupted write leaves it zero.
  const bool torn = k == contents.last_entries &&
                    is_zero(std::span(bytes).subspan(static_cast<size_t>((k + 1) * area_entry_size - 4)));
  tell(torn ? found.torn : found.damage,
       "the entry" + at_byte(place) + " of its table of areas is not sound: records may be missing");
}

// Checks the words with the lengths of pieces, which the checksums of the records do not cover.
void check_lengths(const ContainerContents& contents, ContainerFindings& found) {
  const auto& all = contents.records;
  for (size_t k = 0; k < all.size(); ++k) {
    const auto& [record, place] = all[k];
    if (record.length_is_sound) continue;
    const bool has_next = k + 1 < all.size() && all[k + 1].place == place + size_of(record);
    tell(has_next || record.modified != 0 ? found.damage : found.torn,
         "the length of the piece" + at_byte(place) + " is not sound: its bytes are missing");
  }
}

// Checks the bytes after the records of an area.
class Behind {
 public:
  Behind(const ContainerContents& contents, const OpenArea& open)
      : contents_(contents),
        begin_(open.area.place + open.known),
        end_(std::min(open.area.place + open.area.bytes, contents.file_bytes)) {}

  void check(ContainerFindings& found) {
    look();
    if (first_ < 0 || next_record_ == begin_) return;  // a record was added during the check
    const std::string where = "the record" + at_byte(begin_) + " is not sound";
    if (next_record_ > 0) {
      tell(found.damage,
           where + ": those behind it, from the one" + at_byte(next_record_) + " on, are not read");
    } else if (is_whole_) {
      tell(found.damage, where);
    } else if (first_ < begin_ + container_alignment) {  // if not, the writer has withdrawn the record
      tell(found.torn, where + ", and may be one that was never written to its end");
    }
  }

 private:
  void look() {
    File& file = *contents_.file;
    std::vector<std::byte> bytes;
    for (int64_t at = begin_; at < end_ && next_record_ < 0;) {
      at = std::max(at, file.next(Space::data, at) / container_alignment * container_alignment);
      if (at >= end_) return;
      bytes.resize(static_cast<size_t>(std::min(end_ - at, looked_at_once + max_record)));
      bytes.resize(file.read_at(bytes, at));
      if (bytes.empty()) return;
      const int64_t looked = std::min(std::ssize(bytes), looked_at_once);
      look_at(bytes, looked, at);
      at += looked;
    }
  }

  // Searches the first `looked` bytes, which are at `place`, for the start of a valid record.
  void look_at(std::span<const std::byte> bytes, int64_t looked, int64_t place) {
    for (int64_t k = 0; k < looked; k += container_alignment) {
      const auto rest = bytes.subspan(static_cast<size_t>(k));
      if (is_zero(rest.first(std::min<size_t>(rest.size(), container_alignment)))) continue;
      if (first_ < 0) first_ = place + k;
      if (std::ssize(rest) < record_head_size) continue;
      if (place + k == begin_) is_whole_ = is_written_to_its_end(rest);
      const auto kind = static_cast<RecordKind>(rest[6]);
      const bool may_be_long = kind == RecordKind::piece || kind == RecordKind::sums;
      const auto most = std::min<size_t>(rest.size(), may_be_long ? max_record : max_but_pieces);
      if (const auto record = decode_record(rest.first(most), contents_.header.identity, place + k);
          record && record->record) {
        next_record_ = place + k;
        return;
      }
    }
  }

  // Returns whether a record has no zeros at its end. An interrupted write leaves zeros after the bytes
  // written.
  static bool is_written_to_its_end(std::span<const std::byte> bytes) {
    const int64_t length = get_little<uint16_t>(bytes.data() + 4);
    const auto kind = static_cast<RecordKind>(bytes[6]);
    if (kind < RecordKind::create || kind > RecordKind::sums || length < record_head_size ||
        length % container_alignment != 0 || length > std::ssize(bytes))
      return false;
    return !is_zero(bytes.subspan(static_cast<size_t>(length - container_alignment), container_alignment));
  }

  const ContainerContents& contents_;
  const int64_t begin_;
  const int64_t end_;
  int64_t first_ = -1;        // first nonzero position, rounded down to the alignment
  int64_t next_record_ = -1;  // place of a valid record
  bool is_whole_ = false;     // the invalid record was written to its end
};

}  // namespace

ContainerFindings check_tables(const ContainerContents& contents) {
  ContainerFindings found;
  check_table(contents, found);
  return found;
}

ContainerFindings check_container(const ContainerContents& contents) {
  ContainerFindings found = check_tables(contents);
  check_lengths(contents, found);
  const int64_t size = contents.file->status().size;
  for (const OpenArea& open : contents.open) {
    if (open.area.place + open.area.bytes > size)
      tell(found.damage, "it ends within the records from byte " + std::to_string(open.area.place) + " on");
    Behind(contents, open).check(found);
  }
  return found;
}

}  // namespace sheaf::streams
