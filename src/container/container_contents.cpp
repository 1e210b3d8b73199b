#include "container/container_contents.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "format/fields.hpp"

namespace sheaf {

namespace {

using namespace format;

constexpr int64_t read_at_once = 64 << 10;  // bytes: longer than any record

// Bytes of an area, read as far as there are records in them.
class AreaReader {
 public:
  AreaReader(ContainerContents& contents, const Area& area) : contents_(contents), area_(area) {}

  void read() {
    while (more()) {
      while (const auto found = decode_record(std::span(bytes_).subspan(done_), contents_.header.identity,
                                              area_.place + static_cast<int64_t>(done_))) {
        if (found->record) keep(*found->record);
        done_ += static_cast<size_t>(found->bytes);
      }
      if (std::ssize(bytes_) - static_cast<int64_t>(done_) > longest_record) break;
    }
    if (names_ == 0) bytes_.clear();
    contents_.held.push_back(std::move(bytes_));
    place_names();
  }

 private:
  static constexpr int64_t longest_record = UINT16_MAX;

  // Appends to the bytes; false: that is all.
  bool more() {
    const int64_t left = std::min(area_.bytes, contents_.file_bytes - area_.place) - std::ssize(bytes_);
    if (left <= 0) return false;
    const size_t before = bytes_.size();
    bytes_.resize(before + static_cast<size_t>(std::min(left, read_at_once)));
    const size_t got = contents_.file->read_at(std::span(bytes_).subspan(before),
                                               area_.place + static_cast<int64_t>(before));
    bytes_.resize(before + got);
    return got > 0;
  }

  // The bytes may move until all have been read, so names are noted by where they are.
  void keep(ContainerRecord record) {
    if (!record.name.empty()) ++names_;
    record.name = {static_cast<const char*>(nullptr), record.name.size()};
    contents_.records.push_back({record, area_.place + static_cast<int64_t>(done_)});
    ++kept_;
  }

  void place_names() {
    if (names_ == 0) return;
    const char* const begin = reinterpret_cast<const char*>(contents_.held.back().data());
    for (auto& [record, place] : std::span(contents_.records).last(kept_))
      if (const size_t length = record.name.size(); length > 0)
        record.name = {begin + (place - area_.place) + record_head_size + 8, length};
  }

  ContainerContents& contents_;
  const Area area_;
  std::vector<std::byte> bytes_;
  size_t done_ = 0;
  size_t kept_ = 0;
  size_t names_ = 0;
};

struct Table {
  std::vector<Area> areas;
  std::optional<Area> next;
};

Table read_table(const ContainerContents& contents, int64_t place) {
  std::array<std::byte, container_page> bytes{};
  contents.file->read_at(bytes, place);
  Table table;
  for (int64_t k = 0; k <= areas_in_table; ++k) {
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

// Tables and areas cannot be more than the file: so a container that leads in circles ends.
void account(const ContainerContents& contents, const Area& area, int64_t& left) {
  left -= std::clamp<int64_t>(contents.file_bytes - area.place, 0, area.bytes);
  if (left < 0)
    throw file_error(Code::damaged, contents.file->path(),
                     "its tables claim more records than the file has bytes");
}

void read_areas(ContainerContents& contents) {
  int64_t left = contents.file_bytes;
  Area at{container_page, container_page};
  for (;;) {
    account(contents, at, left);
    const Table table = read_table(contents, at.place);
    contents.last_table = at.place;
    contents.last_entries = std::ssize(table.areas);
    for (const Area& area : table.areas) {
      account(contents, area, left);
      AreaReader(contents, area).read();
    }
    if (!table.next || table.next->place >= contents.file_bytes) return;
    at = *table.next;
  }
}

uint64_t changes_in(std::span<const std::byte> header) {
  return get_little<uint64_t>(header.data() + container_changes_at);
}

}  // namespace

std::optional<ContainerContents> read_container(Store& store, const std::string& path) {
  ContainerContents contents;
  contents.file = store.open(path, Access::read);
  contents.file_bytes = contents.file->status().size;
  std::array<std::byte, container_page> bytes{};
  const auto header = std::span(bytes).first(contents.file->read_at(bytes, 0));
  if (header.size() >= 8 && !begins_as_container(header) && header[0] != std::byte{0})
    throw file_error(Code::not_a_multifile, path, "is not a container of Sheaf");
  const auto decoded = decode_container_header(header, path);
  if (!decoded) return std::nullopt;
  contents.header = *decoded;
  contents.changes = changes_in(bytes);
  contents.synced = get_little<uint64_t>(bytes.data() + container_synced_at) != 0;
  read_areas(contents);
  return contents;
}

uint64_t read_container_changes(Store& store, const std::string& path) {
  std::array<std::byte, container_page> bytes{};
  const auto file = store.open(path, Access::read);
  const auto header = std::span(bytes).first(file->read_at(bytes, 0));
  return decode_container_header(header, path) ? changes_in(bytes) : 0;
}

}  // namespace sheaf
