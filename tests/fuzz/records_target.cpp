// Creates a stream of key-value records in blocks from a recipe. Scans the stream and queries it by key in
// the order of the recipe. The expected results follow from the recipe.
#include <algorithm>

#include "comm/agree.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/packed_files.hpp"
#include "fuzz/recipe.hpp"
#include "fuzz/span_file.hpp"
#include "fuzz/targets.hpp"
#include "multifile/keyval/keyval_index.hpp"

namespace sheaf::fuzz {

using namespace multifile;

namespace {

constexpr size_t head_bytes = 16;
constexpr size_t max_stream = 2 << 10;

struct FoundRecord {
  uint64_t key;
  int64_t length;
  int64_t position;
};

struct RecordStream {
  Bytes bytes;
  std::vector<FoundRecord> records;  // complete records
  bool damaged = false;              // there is damage after the records
  ByteOrder order = native_order;
  std::vector<int64_t> sizes;
  int64_t chunk = 1;
};

// Writes records with keys of one byte. The stream is damaged if a length exceeds the data, or if the stream
// does not end with a complete record.
void write_records(Recipe& recipe, RecordStream& s) {
  s.bytes.clear();
  const uint8_t options = recipe.byte();
  s.order = options & 1 ? ByteOrder::big : ByteOrder::little;
  s.chunk = 1 + recipe.byte();
  for (auto records = options >> 1 & 15; records > 0 && !recipe.empty(); --records) {
    const auto key = static_cast<uint64_t>(recipe.byte());
    const int64_t length = recipe.number();
    const auto value = recipe.bytes(length < 0 || length > 300 ? 5 : static_cast<size_t>(length));
    const size_t at = s.bytes.size();
    s.bytes.resize(at + head_bytes);
    store<uint64_t>(&s.bytes[at], key, s.order);
    store<uint64_t>(&s.bytes[at + 8], static_cast<uint64_t>(length), s.order);
    s.bytes.insert(s.bytes.end(), value.begin(), value.end());
  }
  if (options & 32) s.bytes.resize(s.bytes.size() - std::min<size_t>(s.bytes.size(), recipe.byte() % 20));
}

// Computes the expected results of readers and the sizes of the blocks.
void parse(RecordStream& s) {
  const auto end = std::ssize(s.bytes);
  int64_t at = 0;
  s.records.clear();
  while (at + int64_t{head_bytes} <= end) {
    const std::byte* const head = &s.bytes[static_cast<size_t>(at)];
    const auto length = load<uint64_t>(head + 8, s.order);
    if (length > static_cast<uint64_t>(end - at) - head_bytes) break;
    s.records.push_back(
        {load<uint64_t>(head, s.order), static_cast<int64_t>(length), at + int64_t{head_bytes}});
    at += static_cast<int64_t>(head_bytes + length);
  }
  s.damaged = at < end;
  s.sizes.clear();
  for (int64_t from = 0; from < end; from += s.chunk) s.sizes.push_back(std::min(s.chunk, end - from));
  if (s.sizes.empty()) s.sizes.push_back(0);
}

std::span<const std::byte> value_of(const RecordStream& s, const FoundRecord& r) {
  return std::span(s.bytes).subspan(static_cast<size_t>(r.position), static_cast<size_t>(r.length));
}

void scan(const RecordStream& s, ReadStream& stream) {
  KeyvalScanner scanner(stream, s.order, "m", 0);
  Bytes value;
  for (size_t i = 0; i < s.records.size(); ++i) {
    const auto found = scanner.next();
    require(found && found->key == s.records[i].key && found->length == s.records[i].length &&
                found->position == s.records[i].position,
            "a scanned record");
    if (i % 2 == 0) continue;
    value.resize(static_cast<size_t>(found->length));
    require(scanner.read(value) == value.size() && std::ranges::equal(value, value_of(s, s.records[i])),
            "a scanned value");
  }
  std::optional<KeyvalRecord> more;
  const auto problem = attempt([&] { more = scanner.next(); });
  require(!more && problem.has_value() == s.damaged, "end of the scan");
}

void ask(const RecordStream& s, ReadStream& stream, Recipe& recipe) {
  int64_t kept = 0;
  KeyvalIndex index(stream, s.order, 0, kept);
  Bytes value;
  for (int questions = recipe.byte() % 8; questions > 0 && !s.records.empty(); --questions) {
    const uint8_t which = recipe.byte();
    const FoundRecord& r = s.records[which % s.records.size()];
    const auto before = std::ranges::count(
        s.records.begin(), s.records.begin() + which % std::ssize(s.records), r.key, &FoundRecord::key);
    const int64_t offset = recipe.byte();
    const bool there = index.seek_record(r.key, before, offset);
    require(there == (offset < r.length), "seek to a byte of a record");
    if (!there) continue;
    const auto rest = value_of(s, r).subspan(static_cast<size_t>(offset));
    value.resize(rest.size());
    require(
        index.read(r.key, value.data(), 1, value.size()) == value.size() && std::ranges::equal(value, rest),
        "a value by its key");
  }
  const auto problem = attempt([&] { index.scan_all(); });
  require(problem.has_value() == s.damaged, "all records are known, or the damage is");
  for (const FoundRecord& r : s.records) {
    const auto known = index.statistics(r.key);
    require(known && known->records > 0 && known->bytes >= r.length, "statistics");
  }
  require(!index.statistics(1000), "a key that is not there");
}

}  // namespace

void fuzz_records(std::span<const std::byte> input) {
  static RecordStream s;
  static const auto file = std::make_shared<SpanFile>("m");
  constexpr int64_t buffers[] = {4 << 10, 0, 5, 40};
  static ReadStream streams[std::size(buffers)];
  static const bool once = [&] {
    for (size_t i = 0; i < std::size(buffers); ++i) streams[i].buffer().set_max(buffers[i]);
    return true;
  }();
  Recipe recipe(input);
  const MemoryBound bound(MemoryBound::for_structure(std::ssize(input)) + (once ? 16 << 10 : 0));
  ReadStream& stream = streams[recipe.byte() % std::size(buffers)];
  write_records(recipe, s);
  if (s.bytes.size() > max_stream) return;
  parse(s);
  file->set(s.bytes);
  const BlockSizes sizes{s.sizes.data(), static_cast<int32_t>(s.sizes.size())};
  stream.load(file, {0, s.chunk, s.chunk}, sizes, {});
  scan(s, stream);
  stream.load(file, {0, s.chunk, s.chunk}, sizes, {});
  ask(s, stream, recipe);
}

}  // namespace sheaf::fuzz
