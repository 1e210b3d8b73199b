#include "multifile/recover/hole_table.hpp"

#include <algorithm>
#include <utility>

#include "comm/agree.hpp"
#include "multifile/recover/constants.hpp"

namespace sheaf::multifile {

using namespace recovery_constants;

namespace {

// Calls visit(round, task, count, size) for every entry of a block table. `count` is the number of blocks of
// the task.
template <class Visit>
void for_each_size(MetadataReader& reader, const format::Pointer& p, Visit visit) {
  std::vector<int64_t> counts(static_cast<size_t>(reader.header().ntasks));
  std::vector<int64_t> sizes(counts.size());
  reader.read_block_counts(p, 0, counts);
  for (int64_t round = 0; round < p.maxblocks; ++round) {
    reader.read_block_sizes(p, round, 0, sizes);
    for (size_t t = 0; t < sizes.size(); ++t) visit(round, t, counts[t], sizes[t]);
  }
}

void require_likely(MetadataReader& reader, const FileStatus& status, int64_t rounds) {
  const int64_t stored = status.allocated > 0 ? status.allocated : status.size;
  const auto table = checked_mul(8 * int64_t{reader.header().ntasks}, 1 + rounds);
  if (table && rounds <= INT32_MAX &&
      (*table <= table_bytes_of_any_file || *table / table_bytes_per_byte <= stored))
    return;
  reader.damaged("its last bytes are in block " + std::to_string(rounds - 1) +
                 " of a task: a block table of that length does not go with the " + std::to_string(stored) +
                 " bytes that are in the file");
}

}  // namespace

Chunks read_chunks(MetadataReader& reader) {
  Chunks chunks;
  chunks.sizes.resize(static_cast<size_t>(reader.header().ntasks));
  reader.read_chunk_sizes(0, chunks.sizes);
  try {
    chunks.layout = layout::lay_out(chunks.sizes, reader.header().fsblksize);
  } catch (const Error&) {
    reader.damaged("the chunk sizes add up to more than 2^63 bytes");
  }
  return chunks;
}

// Counts the chunks that end in a zero. The file system allocates whole blocks, so such a zero may be data or
// not.
static void find_guessed_ends(File& file, const Chunks& chunks, HoleTable& table) {
  std::string first;
  for (const auto& [number, round] : table.rounds)
    for (size_t t = 0; t < round.size(); ++t) {
      if (round[t] == 0) continue;
      std::byte last{};
      file.read_at({&last, 1}, chunks.layout.starts[t] + number * chunks.layout.skip + round[t] - 1);
      if (last != std::byte{}) continue;
      if (table.guessed_ends++ == 0)
        first = "chunk " + std::to_string(number) + " of local task " + std::to_string(t);
    }
  if (table.guessed_ends > 0)
    table.unknown.push_back("where " + std::to_string(table.guessed_ends) +
                            " chunk(s) end, the first one being " + first +
                            ": they end in zeros, which may be data or not");
}

HoleTable read_holes(MetadataReader& reader, const Chunks& chunks) {
  const auto& [sizes, layout] = chunks;
  File& file = reader.file();
  const FileStatus status = file.status();
  const int64_t end = status.size;
  HoleTable table;
  table.counts.assign(sizes.size(), 1);
  int64_t rounds = 1;
  for (int64_t at = layout.data_start; layout.skip > 0 && at < end;) {
    const int64_t from = file.next(Space::data, at);
    if (from >= end) break;
    const int64_t until = std::min(end, std::max(file.next(Space::hole, from), from + 1));
    for (int64_t p = from; p < until;) {
      const int64_t round = (p - layout.data_start) / layout.skip;
      const int64_t shift = round * layout.skip;
      const auto next = std::ranges::upper_bound(layout.starts, p - shift);
      // If several tasks have the same start, only the last one has a chunk with bytes.
      const auto t = static_cast<size_t>(next - layout.starts.begin()) - 1;
      const int64_t begin = layout.starts[t] + shift;
      const int64_t piece = std::min(until, begin + sizes[t]);
      if (round >= rounds) require_likely(reader, status, rounds = round + 1);
      table.round(round)[t] = piece - begin;
      table.counts[t] = round + 1;
      p = piece;
    }
    at = until;
  }
  find_guessed_ends(file, chunks, table);
  if (layout.skip > 0 && end > layout.data_start && file.next(Space::hole, layout.data_start) >= end &&
      table.blocks() > 1)
    table.unknown.emplace_back(
        "whether chunks are full: the file has no holes, or its file system does not tell them");
  table.unknown.emplace_back(
      "zeros in whole blocks at the end of a task's data, which look like what was never written");
  return table;
}

void add_records(MetadataReader& reader, const format::Pointer& p, HoleTable& table) {
  for_each_size(reader, p, [&](int64_t round, size_t t, int64_t count, int64_t size) {
    if (round >= count) return;
    const int64_t found = table.bytes(round, t);
    const int64_t used = round + 1 < count ? size : std::max(found, size);
    if (used != found) table.round(round)[t] = used;
    table.counts[t] = std::max(table.counts[t], round + 1);
  });
}

// Returns the bytes of a chunk up to its last nonzero byte.
static int64_t without_zeros(File& file, int64_t chunk, int64_t used, std::span<std::byte> buffer) {
  while (used > 0) {
    const auto piece = buffer.first(static_cast<size_t>(std::min(used, std::ssize(buffer))));
    const auto found = piece.first(file.read_at(piece, chunk + used - std::ssize(piece)));
    const auto last =
        std::ranges::find_if(found.rbegin(), found.rend(), [](std::byte b) { return b != std::byte{}; });
    used -= std::ssize(piece) - (found.rend() - last);
    if (last != found.rend()) break;
  }
  return used;
}

void leave_out_zeros(MetadataReader& reader, const Chunks& chunks, HoleTable& table) {
  const auto& [sizes, layout] = chunks;
  std::vector<std::byte> buffer(
      static_cast<size_t>(std::min(looked_at_once, std::max<int64_t>(1, layout.skip))));
  for (size_t t = 0; t < sizes.size(); ++t) {
    bool goes_on = true;
    int64_t next = 0;
    table.counts[t] = 1;
    for (auto& [number, round] : table.rounds) {
      goes_on = goes_on && number == next++;
      int64_t& used = round[t];
      used =
          goes_on ? without_zeros(reader.file(), layout.starts[t] + number * layout.skip, used, buffer) : 0;
      if (used > 0) table.counts[t] = number + 1;
      goes_on = goes_on && used == sizes[t];
    }
  }
  table.rounds.erase(table.rounds.lower_bound(table.blocks()), table.rounds.end());
}

HoleTable read_table(MetadataReader& reader, const format::Pointer& found) {
  HoleTable table;
  table.counts.resize(static_cast<size_t>(reader.header().ntasks));
  for_each_size(reader, found, [&](int64_t round, size_t t, int64_t count, int64_t size) {
    table.counts[t] = count;
    if (round < count && size != 0) table.round(round)[t] = size;
  });
  return table;
}

std::optional<format::Pointer> find_table(MetadataReader& reader, const Chunks& chunks, int64_t rounds) {
  if (chunks.sizes.empty()) return std::nullopt;
  for (int64_t blocks = rounds; blocks >= std::max<int64_t>(1, rounds - 2); --blocks) {
    const auto at = checked_mul_add(blocks, chunks.layout.skip, chunks.layout.data_start);
    const auto table_end = at ? checked_mul_add(8 * std::ssize(chunks.sizes), 1 + blocks, *at) : at;
    if (!table_end || *table_end > reader.file_size() || blocks > INT32_MAX) continue;
    const format::Pointer p{static_cast<int32_t>(blocks), *at};
    int64_t most = 0;
    const auto wrong = attempt([&] {
      for_each_size(reader, p, [&](int64_t round, size_t t, int64_t count, int64_t size) {
        most = std::max(most, count);
        if (round >= count ? size != 0 && size != -1 : size < 0 || size > chunks.sizes[t])
          reader.damaged("no table");
      });
    });
    if (!wrong && most == blocks) return p;
  }
  return std::nullopt;
}

}  // namespace sheaf::multifile
