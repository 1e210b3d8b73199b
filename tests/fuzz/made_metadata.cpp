#include "fuzz/made_metadata.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace sheaf::fuzz {

namespace {

constexpr size_t max_tasks_made = 12;
constexpr int64_t max_rounds = 6;
constexpr int64_t max_sums = 4096;
constexpr uint32_t piece_made = 4096;

void put(Bytes& to, std::span<const int64_t> values, ByteOrder order) {
  const size_t at = to.size();
  to.resize(at + 8 * values.size());
  for (size_t i = 0; i < values.size(); ++i) store<int64_t>(&to[at + 8 * i], values[i], order);
}

void put(Bytes& to, int32_t value, ByteOrder order) {
  to.resize(to.size() + 4);
  store<int32_t>(&to[to.size() - 4], value, order);
}

template <size_t N>
void put(Bytes& to, const std::array<std::byte, N>& bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void pad(Bytes& to, int64_t tail_at) {
  while ((tail_at + std::ssize(to)) % 8 != 0) to.push_back(std::byte{});
}

// Returns the offset of the data, which follow META1, or nullopt if the block size is invalid.
std::optional<int64_t> data_begin(int64_t tasks, int64_t fsblksize) {
  if (fsblksize <= 0) return std::nullopt;
  return align_up(format::fixed_size + 16 * tasks + format::pointer_size, fsblksize);
}

}  // namespace

std::vector<int64_t> MadeMetadata::final_chunks() const {
  std::vector<int64_t> all = chunks;
  if (header.version <= 3 && header.fsblksize > 0)
    for (int64_t& size : all)
      if (size >= 0) size = align_up(size, header.fsblksize).value_or(size);
  return all;
}

void MadeMetadata::take_numbers(Recipe& recipe) {
  const uint8_t options = recipe.byte();
  header = {};
  header.set_name("m");
  header.metadata_order = options & 1 ? ByteOrder::big : ByteOrder::little;
  header.version = options & 2 ? 3 + (options >> 7) : 5;
  header.fsblksize = static_cast<int32_t>(recipe.number());
  sealed = options & 4;
  cut = options & 8;
  const auto tasks = static_cast<size_t>(recipe.byte()) % (max_tasks_made + 1);
  claimed_tasks_ = static_cast<int64_t>(tasks);
  if (options & 16) {
    header.nfiles = static_cast<int32_t>(recipe.number());
    header.filenumber = static_cast<int32_t>(recipe.number());
  }
  pointer = {static_cast<int32_t>(recipe.number()), 0};
  const int64_t rounds = std::clamp<int64_t>(pointer.maxblocks, 0, max_rounds);
  const auto fill = [&](std::vector<int64_t>& values, size_t count) {
    values.resize(count);
    for (int64_t& value : values) value = recipe.number();
  };
  fill(ranks, tasks);
  fill(chunks, tasks);
  fill(counts, tasks);
  fill(sizes, tasks * static_cast<size_t>(rounds));
  mapping.clear();
  mapping_size = 0;
  if (header.leads_set()) {
    mapping_size = static_cast<int32_t>(recipe.number());
    mapping.resize(static_cast<size_t>(std::clamp<int64_t>(mapping_size, 0, 2 * max_tasks_made)));
    for (auto& entry : mapping)
      entry = {static_cast<int32_t>(recipe.number()), static_cast<int32_t>(recipe.number())};
  }
  if (options & 32) {
    pointer.varheader = recipe.number();
  } else {
    fit_pointer();
  }
  if (options & 64) claimed_tasks_ = static_cast<int32_t>(recipe.number());
}

void MadeMetadata::fit_pointer() {
  auto end = data_begin(std::ssize(ranks), header.fsblksize);
  for (const int64_t chunk : final_chunks()) {
    const auto all = checked_mul(chunk, pointer.maxblocks);
    end = all && end ? checked_add(*end, *all) : std::nullopt;
  }
  pointer.varheader = std::max<int64_t>(0, end.value_or(0));
}

// Adds table and mapping, and after them the trailer. Returns false if there would be too many data
// checksums.
bool MadeMetadata::seal() {
  const auto plain_end = tail_at + std::ssize(tail);
  const ByteOrder order = header.metadata_order;
  Bytes meta1, meta2;
  put(meta1, ranks, order);
  put(meta1, chunks, order);
  put(meta2, counts, order);
  put(meta2, sizes, order);
  int64_t sums = 0;
  for (size_t t = 0; t < ranks.size(); ++t)
    for (int64_t round = 0; round < std::min(counts[t], rounds()); ++round) {
      const int64_t size = sizes_of_round(round)[t];
      if (size > 0 && chunks[t] > 0)
        sums += std::min(max_sums + 1, format::sums_of_block(size, chunks[t], piece_made));
    }
  if (sums > max_sums) return false;
  format::Trailer trailer;
  trailer.pointer = pointer;
  trailer.identity.fill(std::byte{3});
  trailer.plain_end = plain_end;
  const auto add = [&](format::SectionKind kind, const Bytes& bytes) {
    pad(tail, tail_at);
    if (bytes.empty()) return;
    trailer.sections.push_back({kind, tail_at + std::ssize(tail), std::ssize(bytes), 0});
    tail.insert(tail.end(), bytes.begin(), bytes.end());
  };
  Bytes data_sums(static_cast<size_t>(4 * sums), std::byte{1}), groups, parts;
  if (!ranks.empty())
    put(groups, format::encode(format::Group{format::hash_of(meta1), format::hash_of(meta2), 0,
                                             format::hash_of(data_sums)}));
  if (!mapping.empty()) {
    const auto field = std::span(tail).last(4 + 8 * mapping.size());
    put(parts, std::array{static_cast<int64_t>(format::hash_of(field))}, ByteOrder::little);
  }
  if (groups.empty())
    trailer.sections.push_back({format::SectionKind::groups, (plain_end + 7) / 8 * 8, 0, 0});
  add(format::SectionKind::groups, groups);
  add(format::SectionKind::sums, data_sums);
  add(format::SectionKind::mapping, parts);
  pad(tail, tail_at);
  trailer.table = tail_at + std::ssize(tail);
  const Bytes end = format::encode(trailer);
  tail.insert(tail.end(), end.begin(), end.end());
  return true;
}

void MadeMetadata::write(Recipe& recipe) {
  const ByteOrder order = header.metadata_order;
  tail.clear();
  put(tail, counts, order);
  put(tail, sizes, order);
  if (header.leads_set()) {
    put(tail, static_cast<int32_t>(mapping_size), order);
    for (const auto& entry : mapping) {
      put(tail, entry.file, order);
      put(tail, entry.local_rank, order);
    }
  }
  constexpr int64_t largest = int64_t{1} << 62;
  header.ntasks = static_cast<int32_t>(claimed_tasks_);
  head.clear();
  head.resize(format::fixed_size + 16 * ranks.size() + format::pointer_size);
  tail_at = std::clamp(pointer.varheader, std::ssize(head), largest);
  // The file gets no hole, because a hole could hold thousands of claimed tasks whose numbers are all zero.
  if (claimed_tasks_ != std::ssize(ranks)) tail_at = std::ssize(head);
  sealed = sealed && seal();
  auto fixed = format::encode(header);
  if (sealed) {
    format::Extension extension;
    extension.flags = format::flag_checksums | format::flag_journal;
    extension.piece = piece_made;
    extension.identity.fill(std::byte{3});
    format::put_extension(extension, fixed);
  }
  head.clear();
  put(head, fixed);
  put(head, ranks, order);
  put(head, chunks, order);
  unmarked = recipe.byte() == 1;
  put(head, format::encode(unmarked ? format::Pointer{} : pointer, order));
  if (cut) tail.resize(tail.size() - std::min<size_t>(tail.size(), 1U + recipe.byte()));
}

void MadeMetadata::make(Recipe& recipe) {
  take_numbers(recipe);
  write(recipe);
}

bool MadeMetadata::overlapping() const {
  return claimed_tasks_ != std::ssize(ranks) || tail_at != pointer.varheader ||
         (rounds() < pointer.maxblocks && header.leads_set());
}

bool MadeMetadata::blocks_fit() const {
  const auto begin = data_begin(std::ssize(ranks), header.fsblksize);
  if (!begin) return false;
  std::optional<int64_t> skip = 0;
  for (const int64_t chunk : final_chunks()) {
    if (chunk < 0) return false;
    skip = checked_add(*skip, chunk);
    if (!skip) return false;
  }
  const auto all = checked_mul(*skip, pointer.maxblocks);
  const auto end = all ? checked_add(*begin, *all) : std::nullopt;
  if (!end || *end != pointer.varheader) return false;
  for (size_t t = 0; t < ranks.size(); ++t) {
    if (counts[t] < 1 || counts[t] > pointer.maxblocks) return false;
    // A larger size may be correct too, within limits that this function does not check.
    for (int64_t round = 0; round < pointer.maxblocks; ++round)
      if (const int64_t size = sizes_of_round(round)[t];
          round < counts[t] && (size < 0 || size > final_chunks()[t]))
        return false;
  }
  return true;
}

bool MadeMetadata::is_sound() const {
  if (overlapping() || cut || unmarked || ranks.empty() || header.nfiles < 1 || header.filenumber < 0)
    return false;
  if (header.filenumber >= header.nfiles && !(header.nfiles == 1 && header.filenumber == 1)) return false;
  if (pointer.maxblocks < 1 || rounds() != pointer.maxblocks) return false;
  if (mapping_size != std::ssize(mapping) || (sealed && header.version != 5)) return false;
  if (std::ranges::any_of(
          mapping, [&](const auto& e) { return e.file < 0 || e.file >= header.nfiles || e.local_rank < 0; }))
    return false;
  return blocks_fit();
}

}  // namespace sheaf::fuzz
