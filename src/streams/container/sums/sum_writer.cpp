#include "streams/container/sums/sum_writer.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"

namespace sheaf::streams {

using format::BlockSum;
using format::no_sum;
using format::sum_word;
using format::sum_word_size;
using format::summed_block;

namespace {

uint64_t unknown(int64_t block) { return sum_word({}, block); }

uint32_t sum_in_file(File& file, int64_t place, int64_t bytes) {
  std::vector<std::byte> found(static_cast<size_t>(bytes));
  file.read_at(found, place);
  return crc32c(0, found);
}

}  // namespace

// --- Appending.

SumWriter::Fresh SumWriter::fresh(WriteParts parts, int64_t done, int64_t bytes) {
  Fresh made;
  int64_t block = 0;
  for (int64_t left = bytes; left >= summed_block; left -= summed_block, ++block)
    made.slots.push_back(sum_word(
        {sum_of_parts(parts, done + block * summed_block, done + (block + 1) * summed_block), summed_block},
        block));
  const int64_t begin = block * summed_block;
  made.end = sum_word({sum_of_parts(parts, done + begin, done + bytes), bytes - begin}, block);
  return made;
}

// Repairs the words after an append that did not end. Words that cover bytes beyond `length` are reset.
void SumWriter::mend(SharedSums& sums, int64_t length) {
  if (sums.appending.load() == 0) return;
  const int64_t block = length / summed_block;
  const auto known = format::sum_of_word(sums.end.load(), block);
  if (!known || known->bytes != length % summed_block) sums.end.store(unknown(block));
  for (int64_t next = block; next < blocks_with_slots(memory_, sums);) {
    int64_t end = 0;
    const BlockSums found = sums_at(memory_, sums, sums.room + next * summed_block, end);
    const int64_t behind = std::max(next + 1, found.first + found.slots);
    if (const int64_t at = found.slot_of(next))
      words_.write_words(at, std::vector<uint64_t>(static_cast<size_t>(behind - next), no_sum));
    next = behind;
  }
  write_word(sums.end_at, sums.end.load());
  sums.appending.store(0);
}

void SumWriter::before_append(SharedSums& sums, SharedOverwrite& over, int64_t length) {
  settle(over);
  mend(sums, length);
  sums.appending.store(1);
}

uint64_t SumWriter::append(const SharedSums& sums, int64_t length, WriteParts parts, int64_t done,
                           int64_t bytes) {
  SHEAF_DEBUG_ASSERT(sums.appending.load() == 1 && length >= 0 && bytes >= 0);
  int64_t block = length / summed_block, has = length % summed_block;
  const auto end = format::sum_of_word(sums.end.load(), block);
  BlockSum sum = has == 0 ? BlockSum{} : end.value_or(BlockSum{});
  bool is_known = sum.bytes == has;
  std::vector<uint64_t> whole;
  for (const int64_t stop = done + bytes; done < stop;) {
    const int64_t taken = std::min(summed_block - has, stop - done);
    sum = {sum_of_parts(parts, done, done + taken, has == 0 ? 0 : sum.sum), has + taken};
    done += taken;
    has += taken;
    if (has < summed_block) break;
    whole.push_back(is_known ? sum_word(sum, block) : no_sum);
    ++block;
    has = 0;
    sum = {};
    is_known = true;
  }
  auto left = std::span<const uint64_t>(whole);
  for (int64_t next = length / summed_block; !left.empty();) {
    int64_t place = 0;
    const BlockSums found = sums_at(memory_, sums, sums.room + next * summed_block, place);
    const int64_t count = std::min(std::ssize(left), found.first + found.slots - next);
    words_.write_words(found.slot_of(next), left.first(static_cast<size_t>(count)));
    left = left.subspan(static_cast<size_t>(count));
    next += count;
  }
  return is_known ? sum_word(sum, block) : unknown(block);
}

void SumWriter::after_append(SharedSums& sums, uint64_t end) {
  SHEAF_DEBUG_ASSERT(sums.appending.load() == 1);
  sums.end.store(end);
  sums.appending.store(0);
}

// --- Overwriting.

FoundSum SumWriter::find(const SharedSums& sums, int64_t block) {
  int64_t next = 0;
  const BlockSums found = sums_at(memory_, sums, sums.room + block * summed_block, next);
  uint64_t slot = 0, end = 0;
  if (const int64_t at = found.slot_of(block)) words_.read_words(at, {&slot, 1});
  if (!format::sum_of_word(slot, block)) words_.read_words(sums.end_at, {&end, 1});
  return choose_sum(found, block, slot, end);
}

SumWriter::Change SumWriter::change_of(const SharedSums& sums, int64_t block, int64_t place,
                                       int64_t bytes) const {
  const int64_t at = sums.room + block * summed_block;
  return {.block = block,
          .begin = std::max(place, at) - at,
          .end = std::min(place + bytes, at + summed_block) - at,
          .skipped = std::max<int64_t>(0, at - place)};
}

void SumWriter::look_before(const SharedSums& sums, Change& change) {
  const int64_t covered = change.found.sum.bytes;
  change.is_all = change.begin == 0 && change.end >= covered;
  const int64_t end = std::min(change.end, covered);
  if (!change.is_all && end > change.begin)
    change.before =
        sum_in_file(file_, sums.room + change.block * summed_block + change.begin, end - change.begin);
}

// Computes the new checksum of a block from the old one, without reading the other bytes. CRC32C is linear:
// if bytes are replaced, the checksum changes by the difference of their checksums, shifted by the length of
// the following bytes. Damage elsewhere in the block therefore remains a mismatch.
void SumWriter::finish(Change& change, WriteParts parts, int64_t done) {
  BlockSum& sum = change.found.sum;
  const int64_t from = done + change.skipped;
  if (change.is_all) {
    sum = {sum_of_parts(parts, from, from + change.end), change.end};
    return;
  }
  const int64_t end = std::min(change.end, sum.bytes);
  if (end <= change.begin) return;
  const uint32_t after = sum_of_parts(parts, from, from + end - change.begin);
  sum.sum ^= crc32c_joined(change.before ^ after, 0, sum.bytes - end);
}

void SumWriter::settle(SharedOverwrite& over) {
  const int64_t at = over.at.load();
  if (at == 0) return;
  const uint64_t word = over.unsure.load() == 0 ? over.word.load() : unknown(over.block.load());
  if (const uint64_t sums = over.sums.load()) memory_.as<SharedSums>(sums).end.store(word);
  write_word(at, word);
  over.at.store(0);
}

void SumWriter::overwrite_block(const OverwriteTarget& target, SharedOverwrite& over, WriteParts parts,
                                int64_t done, int64_t bytes, const std::function<void()>& write) {
  auto& sums = memory_.as<SharedSums>(target.sums);
  const int64_t block = (target.place - sums.room) / summed_block;
  const int64_t place = sums.room + block * summed_block;
  Change change = change_of(sums, block, target.place, bytes);
  const bool is_known = over.at.load() != 0 && over.place.load() == place && over.unsure.load() == 0;
  if (is_known) {
    change.found.sum = format::sum_of_word(over.word.load(), block).value_or(BlockSum{});
  } else {
    settle(over);
    change.found = find(sums, block);
    if (change.found.at == 0) return write();
    over.sums.store(change.found.is_end ? target.sums : 0);
    over.place.store(place);
    over.block.store(block);
    over.word.store(sum_word(change.found.sum, block));
    over.unsure.store(0);
    over.at.store(change.found.at);
    write_word(change.found.at, unknown(block));
  }
  look_before(sums, change);
  over.unsure.store(1);
  write();
  finish(change, parts, done);
  over.word.store(sum_word(change.found.sum, block));
  over.unsure.store(0);
}

// Writes the words of all changes, adjacent words in one request.
void SumWriter::write_all(SharedSums& sums, std::span<const Change> changes) {
  std::vector<uint64_t> words;
  for (size_t k = 0; k < changes.size(); k += words.size()) {
    words.clear();
    const int64_t at = changes[k].found.at;
    for (const Change& change : changes.subspan(k)) {
      if (change.found.at != at + std::ssize(words) * sum_word_size) break;
      words.push_back(sum_word(change.found.sum, change.block));
      if (change.found.is_end) sums.end.store(words.back());
    }
    words_.write_words(at, words);
  }
}

void SumWriter::overwrite(const OverwriteTarget& target, SharedOverwrite& over, WriteParts parts,
                          int64_t done, int64_t bytes, const std::function<void()>& write) {
  auto& sums = memory_.as<SharedSums>(target.sums);
  if (sums.room == 0) return write();
  if (target.length > 0) mend(sums, target.length);
  const int64_t first = (target.place - sums.room) / summed_block;
  const int64_t last = (target.place + bytes - 1 - sums.room) / summed_block;
  if (first == last) return overwrite_block(target, over, parts, done, bytes, write);
  settle(over);
  std::vector<Change> changes, unknown_meanwhile;
  for (int64_t block = first; block <= last; ++block) {
    Change change = change_of(sums, block, target.place, bytes);
    change.found = find(sums, block);
    if (change.found.at == 0) continue;
    look_before(sums, change);
    changes.push_back(change);
    change.found.sum = {};
    unknown_meanwhile.push_back(change);
  }
  write_all(sums, unknown_meanwhile);
  write();
  for (Change& change : changes) finish(change, parts, done);
  write_all(sums, changes);
}

// --- Releasing bytes to the file system.

UnusedBytes SumWriter::unused(const SharedSums& sums, int64_t place, int64_t end) {
  UnusedBytes found{.place = place, .bytes = end - place};
  if (sums.room == 0) return found;
  int64_t behind = 0;
  int64_t block = (place - sums.room) / summed_block;
  if ((place - sums.room) % summed_block != 0) {
    found.kept = sums_at(memory_, sums, place, behind);
    ++block;
  }
  const int64_t last = (end - 1 - sums.room) / summed_block;
  if (block > last) return found;
  while (block <= last) {
    const BlockSums these = sums_at(memory_, sums, sums.room + block * summed_block, behind);
    const int64_t next = std::min(last + 1, std::max(block + 1, these.first + these.slots));
    if (const int64_t at = these.slot_of(block)) found.words.push_back({at, next - block});
    block = next;
  }
  uint64_t word = 0;
  words_.read_words(sums.end_at, {&word, 1});
  if (format::sum_of_word(word, last)) found.words.push_back({sums.end_at, 1});
  return found;
}

// The kept bytes of a partially released block get a new checksum, unless the block is damaged.
void SumWriter::give_up(const UnusedBytes& unused) {
  if (const BlockSums& sums = unused.kept; sums.room != 0) {
    const int64_t block = sums.block_at(unused.place), place = sums.place_of(block);
    uint64_t slot = 0, end = 0;
    if (const int64_t at = sums.slot_of(block)) words_.read_words(at, {&slot, 1});
    words_.read_words(sums.end_at, {&end, 1});
    const FoundSum found = choose_sum(sums, block, slot, end);
    const int64_t kept = unused.place - place;
    if (found.sum.bytes > kept && sum_in_file(file_, place, found.sum.bytes) == found.sum.sum)
      write_word(found.at, sum_word({sum_in_file(file_, place, kept), kept}, block));
  }
  for (const auto& [at, count] : unused.words)
    words_.write_words(at, std::vector<uint64_t>(static_cast<size_t>(count), no_sum));
}

void SumWriter::discard(const std::vector<UnusedBytes>& all) {
  for (const UnusedBytes& unused : all) {
    give_up(unused);
    discard_range(file_, unused.place, unused.bytes);
  }
}

}  // namespace sheaf::streams
