#include "streams/container/container_writer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "base/checked.hpp"
#include "base/error.hpp"
#include "comm/agree.hpp"
#include "format/fields.hpp"
#include "streams/container/constants.hpp"

namespace sheaf::streams {

using namespace container_constants;

namespace {

using namespace format;

int64_t whole_pages(int64_t bytes) { return must_fit(align_up(bytes, container_page), "a container"); }

// Stores a word atomically: after a kill, the file has the old or the new word.
void store_word(std::byte* at, uint64_t word) {
  std::byte little[8];
  put_little<uint64_t>(little, word);
  uint64_t raw;
  std::memcpy(&raw, little, sizeof raw);
  std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(at)).store(raw, std::memory_order_release);
}

}  // namespace

bool ContainerWriter::takes_inside(int64_t bytes) const { return !mapped_ && bytes <= max_inside; }

// Appends a record to an area of the log. Never overwrites bytes that may have reached the file, because
// other hosts may have read them and continue after them. After a kill or a failed write, the log therefore
// continues in another area.
int64_t ContainerWriter::record_in(RecordArea& area, ContainerRecord record,
                                   std::span<const std::byte> inside) {
  const int64_t place = area.place + area.used;
  if (!inside.empty()) record.place = place + piece_head_size(record);
  std::vector<std::byte> encoded;
  encode(record, index_.head().identity, place, encoded);
  SHEAF_ASSERT(area.used >= 0 && std::ssize(encoded) <= area.bytes - area.used);
  if (!inside.empty()) std::ranges::copy(inside, encoded.begin() + piece_head_size(record));
  try {
    file_.write_at(encoded, place);
  } catch (...) {
    area.bytes = 0;
    // Overwrite the start of a partially written record, if possible, so that readers ignore it.
    attempt([&] { file_.write_at(std::array<std::byte, container_alignment>{}, place); });
    throw;
  }
  area.used += std::ssize(encoded);
  return place;
}

int64_t ContainerWriter::record_in_log(const ContainerRecord& record, std::span<const std::byte> inside) {
  ContainerIndex::Head& head = index_.head();
  const int64_t bytes = size_of(record);
  const ContainerIndex::LogLock locked(index_);
  if (head.log_area.bytes == 0 || head.log_area.used + bytes > head.log_area.bytes) {
    const int64_t before = head.log_area.bytes;
    end_log();
    const Area area = make_area(bytes, before);
    head.log_area = {area.place, 0, area.bytes, true};
  }
  return record_in(head.log_area, record, inside);
}

// Appends a record to the spare area and returns its place. Returns nullopt if the spare area has no space
// for it.
std::optional<int64_t> ContainerWriter::record_in_spare(const ContainerRecord& record) {
  ContainerIndex::Head& head = index_.head();
  const ContainerIndex::LogLock locked(index_);
  if (head.spare_area.used + size_of(record) > head.spare_area.bytes) return std::nullopt;
  if (!head.spare_area.entered) enter({head.spare_area.place, head.spare_area.bytes});
  head.spare_area.entered = true;
  return record_in(head.spare_area, record, {});
}

// Ends the current area of the log with an end record, so that readers need not read the area again. No
// record follows it, even if a later step fails. The caller holds the lock of the log.
void ContainerWriter::end_log() {
  ContainerIndex::Head& head = index_.head();
  const int64_t left = std::exchange(head.log_area.bytes, 0) - head.log_area.used;
  if (left < record_head_size || left > max_record) return;
  const int64_t place = head.log_area.place + head.log_area.used;
  file_.write_at(encode_end(left, head.identity, place), place);
}

int64_t ContainerWriter::record(const ContainerRecord& record) {
  try {
    return mapped_ ? record_in_own_area(record) : record_in_log(record, {});
  } catch (const Error& e) {
    const bool makes_room = record.kind == RecordKind::remove || record.kind == RecordKind::size ||
                            record.kind == RecordKind::failure;
    const auto place =
        e.code() == Code::no_space && makes_room ? record_in_spare(record) : std::optional<int64_t>();
    if (!place) throw;
    return *place;
  }
}

int64_t ContainerWriter::record_in_own_area(const ContainerRecord& record) {
  const std::lock_guard guard(mutex_);
  const int64_t bytes = size_of(record);
  if (areas_.empty() || used_ + bytes > areas_.back().area.bytes) next_area(bytes);
  const LogArea& log = areas_.back();
  const int64_t place = log.area.place + used_;
  buffer_.clear();
  encode(record, index_.head().identity, place, buffer_);
  if (log.memory) {
    std::memcpy(log.memory.get() + used_, buffer_.data(), buffer_.size());
  } else {
    file_.write_at(buffer_, place);
  }
  used_ += bytes;
  return place;
}

int64_t ContainerWriter::record_with(ContainerRecord piece, std::span<const std::byte> data) {
  piece.inside = std::ssize(data);
  return record_in_log(piece, data);
}

// Returns the address of the place `at` in a mapped area; null if no mapped area contains it. The caller
// holds the mutex.
std::byte* ContainerWriter::mapped_at(int64_t at) {
  for (auto log = areas_.rbegin(); log != areas_.rend(); ++log)
    if (at >= log->area.place && at < log->area.place + log->area.bytes)
      return log->memory ? log->memory.get() + (at - log->area.place) : nullptr;
  return nullptr;
}

// Writes the end word before the length. If the process is killed in between, the checksum still covers all
// bytes that the length includes.
void ContainerWriter::note_length(int64_t record, int64_t length, int64_t modified, uint64_t end_word) {
  const uint64_t word = length_word(length, index_.head().identity, record);
  const int64_t at = record + piece_words_at;
  static_assert(end_word_at == piece_words_at + 16);
  {
    const std::lock_guard guard(mutex_);
    if (std::byte* const words = mapped_at(at)) {
      if (end_word != 0) store_word(words + 16, end_word);
      store_word(words, word);
      store_word(words + 8, static_cast<uint64_t>(modified));
      return;
    }
  }
  std::array<std::byte, 24> words;
  put_little<uint64_t>(words.data(), word);
  put_little<int64_t>(words.data() + 8, modified);
  put_little<uint64_t>(words.data() + 16, end_word);
  file_.write_at(std::span(words).first(end_word != 0 ? 24 : 16), at);
}

void ContainerWriter::read_words(int64_t at, std::span<uint64_t> words) {
  {
    const std::lock_guard guard(mutex_);
    if (const std::byte* const found = mapped_at(at)) {
      for (size_t k = 0; k < words.size(); ++k) words[k] = get_little<uint64_t>(found + k * sizeof(uint64_t));
      return;
    }
  }
  streams::read_words(file_, at, words);
}

void ContainerWriter::write_words(int64_t at, std::span<const uint64_t> words) {
  {
    const std::lock_guard guard(mutex_);
    if (std::byte* const found = mapped_at(at)) {
      for (size_t k = 0; k < words.size(); ++k) store_word(found + k * sizeof(uint64_t), words[k]);
      return;
    }
  }
  std::vector<std::byte> bytes(words.size_bytes());
  for (size_t k = 0; k < words.size(); ++k)
    put_little<uint64_t>(bytes.data() + k * sizeof(uint64_t), words[k]);
  file_.write_at(bytes, at);
}

std::vector<UnusedBytes> ContainerWriter::unused(const SharedStream& stream, int64_t size) {
  std::vector<UnusedBytes> found;
  for (SharedPlace at = stream.first.load(); at != 0; at = index_.piece(at).next.load()) {
    const SharedPiece& piece = index_.piece(at);
    const int64_t length = piece.length.load();
    const int64_t kept = std::clamp<int64_t>(size - piece.offset, 0, length);
    if (piece.origin == 0 && length - kept >= worth_discarding)
      found.push_back(sums_.unused(piece.sums, piece.place + kept, piece.place + length));
  }
  return found;
}

// If the process is killed after the record, the next call harmlessly records the same blocks again.
void ContainerWriter::make_slots(SharedPiece& piece, int64_t length) {
  const int64_t wanted = length / format::summed_block;
  for (int64_t has = blocks_with_slots(index_.memory(), piece.sums); has < wanted;) {
    const ContainerRecord record{
        .kind = RecordKind::sums,
        .time = index_.tick(),
        .place = piece.sums.room,
        .first_block = has,
        .slots = std::clamp(std::max(has, wanted - has), sums_constants::first_slots, max_slots)};
    const SharedPlace slots = index_.allocator().make<SharedSlots>();
    int64_t at = 0;
    try {
      at = this->record(record) + format::slots_at;
    } catch (...) {
      index_.allocator().drop<SharedSlots>(slots);
      throw;
    }
    add_slots(index_.memory(), piece.sums, slots, {0, has, record.slots, at});
    has += record.slots;
  }
}

Extent ContainerWriter::room(int64_t least, int64_t wanted) {
  SHEAF_ASSERT(least > 0 && least <= wanted);
  const int64_t unit = least >= aligned_from ? container_page : container_alignment;
  const std::lock_guard guard(mutex_);
  int64_t begin = must_fit(align_up(stretch_, unit), "a container");
  if (wanted > stretch_end_ - begin) {
    // A large piece gets a new stretch of its own, so that it can grow in place.
    if (least > stretch_end_ - begin || wanted >= next_stretch_) {
      next_stretch_ = std::clamp(2 * next_stretch_, first_stretch, largest_stretch);
      const int64_t bytes = whole_pages(std::max(wanted, next_stretch_));
      begin = index_.head().tail.fetch_add(bytes);
      stretch_end_ = begin + bytes;
    } else {
      wanted = stretch_end_ - begin;
    }
  }
  stretch_ = begin + wanted;
  return {begin, wanted};
}

bool ContainerWriter::extend(int64_t end, int64_t wanted) {
  const std::lock_guard guard(mutex_);
  if (end != stretch_) return false;
  if (wanted > stretch_end_ - stretch_) {
    // Extend the stretch if the following bytes of the file are unallocated.
    const int64_t bytes = whole_pages(std::max(wanted, next_stretch_));
    int64_t tail = stretch_end_;
    if (!index_.head().tail.compare_exchange_strong(tail, stretch_end_ + bytes)) return false;
    next_stretch_ = std::clamp(2 * next_stretch_, first_stretch, largest_stretch);
    stretch_end_ += bytes;
  }
  stretch_ += wanted;
  return true;
}

std::shared_ptr<std::byte> ContainerWriter::map(const Area& area) {
  return mapped_ ? map_range(file_, area.place, area.bytes) : nullptr;
}

// Allocates a new area for at least `least` bytes of records, and enters it in a table, where readers find
// it. With mappings, first writes zeros to the area, which allocates the disk space that stores through the
// mapping need. Without mappings, only extends the file, because an area must lie inside the file. `before`:
// size of the preceding area in bytes; 0 for the first area.
Area ContainerWriter::make_area(int64_t least, int64_t before) {
  const int64_t bytes = whole_pages(std::max(least, std::clamp(4 * before, first_area, largest_area)));
  const Area area{index_.head().tail.fetch_add(bytes), bytes};
  const int64_t zeros = mapped_ ? area.bytes : container_alignment;
  file_.write_at(std::vector<std::byte>(static_cast<size_t>(zeros)), area.place + area.bytes - zeros);
  enter(area);
  return area;
}

void ContainerWriter::next_area(int64_t least) {
  const Area area = make_area(least, areas_.empty() ? 0 : areas_.back().area.bytes);
  if (areas_.size() >= max_mapped) areas_.erase(areas_.begin());
  areas_.push_back({area, map(area)});
  used_ = 0;
}

// Returns the number of entries of the last table, after following the tables to the last one. Entries of a
// killed process count, because other hosts may have read them.
int64_t ContainerWriter::last_entries() {
  ContainerIndex::Head& head = index_.head();
  for (;;) {
    std::array<std::byte, container_page> table{};
    file_.read_at(table, head.last_table);
    const auto entry = [&](int64_t k) {
      const auto bytes = std::span(table).subspan(static_cast<size_t>(k * area_entry_size));
      return decode_area(bytes.first<area_entry_size>(), head.identity,
                         head.last_table + k * area_entry_size);
    };
    int64_t entries = 0;
    while (entries < areas_in_table && entry(entries)) ++entries;
    const auto next = entries == areas_in_table ? entry(areas_in_table) : std::nullopt;
    if (!next) return entries;
    head.last_table = next->place;
  }
}

void ContainerWriter::enter(const Area& area) {
  ContainerIndex::Head& head = index_.head();
  const HostLock locked(head.tables);
  int64_t entries = last_entries();
  const auto write = [&](const Area& entered, int64_t entry) {
    const int64_t place = head.last_table + entry * area_entry_size;
    file_.write_at(encode(entered, head.identity, place), place);
  };
  if (entries == areas_in_table) {
    const Area table{head.tail.fetch_add(container_page), container_page};
    file_.write_at(std::array<std::byte, container_page>{}, table.place);
    write(table, areas_in_table);
    head.last_table = table.place;
    entries = 0;
  }
  write(area, entries);
}

// Writes a word of the header.
void ContainerWriter::put_word(int64_t place, uint64_t word) {
  const std::lock_guard guard(mutex_);
  if (!header_) header_ = map({0, container_page});
  if (header_) {
    store_word(header_.get() + place, word);
    return;
  }
  std::array<std::byte, 8> bytes;
  put_little<uint64_t>(bytes.data(), word);
  file_.write_at(bytes, place);
}

// In the child, drops the areas and the stretch, which belong to the parent.
void ContainerWriter::after_fork(bool in_child) {
  if (in_child) {
    areas_.clear();
    stretch_ = stretch_end_ = 0;
  }
  mutex_.unlock();
}

}  // namespace sheaf::streams
