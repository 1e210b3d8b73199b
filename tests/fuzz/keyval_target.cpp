// Scans key-value records in a stream of arbitrary bytes, and reads them by key. Byte 0 of the input is the
// chunk size - 1, byte 1 has the size of the buffer and the byte order, and bytes 2 and 3 are the query. All
// further bytes are the stream.
#include <algorithm>

#include "comm/agree.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/packed_files.hpp"
#include "fuzz/span_file.hpp"
#include "fuzz/targets.hpp"
#include "support/keyval_model.hpp"

namespace sheaf::fuzz {

using namespace multifile;

namespace {

constexpr size_t record_head = 16;

// Parses `stream` without the library. Returns the complete records at its beginning.
test::Records parse(std::span<const std::byte> stream, ByteOrder order, bool& whole) {
  test::Records records;
  while (stream.size() >= record_head) {
    const auto length = load<uint64_t>(stream.data() + 8, order);
    if (length > stream.size() - record_head) break;
    const auto value = stream.subspan(record_head, length);
    records.push_back({load<uint64_t>(stream.data(), order), Bytes(value.begin(), value.end())});
    stream = stream.subspan(record_head + length);
  }
  whole = stream.empty();
  return records;
}

struct WrittenStream {
  std::shared_ptr<SpanFile> file = std::make_shared<SpanFile>("m");
  std::vector<int64_t> sizes;
  int64_t chunk = 1;
  int64_t buffer = 0;
  ByteOrder order = native_order;

  void open(ReadStream& stream) {
    stream.buffer().set_max(buffer);
    stream.load(file, {0, chunk, chunk}, {sizes.data(), static_cast<int32_t>(sizes.size())}, {});
  }
};

void scan(WrittenStream& s, const test::Records& records, bool whole) {
  ReadStream stream;
  s.open(stream);
  KeyvalScanner scanner(stream, s.order, "m", 0);
  for (size_t i = 0; i < records.size(); ++i) {
    const auto found = scanner.next();
    require(found && found->key == records[i].key && found->length == std::ssize(records[i].value),
            "a scanned record");
    Bytes value(i % 3 == 0 ? 0
                           // No bytes, all, or more than the value has.
                           : records[i].value.size() + i % 3 - 1);
    const size_t got = scanner.read(value);
    require(got == std::min(value.size(), records[i].value.size()) &&
                std::equal(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(got),
                           records[i].value.begin()),
            "a scanned value");
  }
  std::optional<KeyvalRecord> more;
  const auto problem = attempt([&] { more = scanner.next(); });
  require(!more && problem.has_value() == !whole, "end of the scan");
}

void read_by_key(WrittenStream& s, const test::Records& records, bool whole, uint64_t seed) {
  ReadStream stream;
  s.open(stream);
  int64_t kept = 0;
  KeyvalIndex index(stream, s.order, 0, kept);
  if (whole) {
    test::KeyModel model(records);
    test::Random random(seed);
    for (int i = 0; i < 40; ++i) model.step(index, random);
    model.check_keys(index);
    return;
  }
  // Data before the damage must be readable. Every query that reaches the damage must fail.
  for (const test::Record& r : records) {
    const auto found = index.next_record();
    require(found && found->key == r.key, "a record before the damage");
  }
  require(attempt([&] { index.scan_all(); }).has_value(), "damage is found");
  require(attempt([&] { index.next_record(); }).has_value(), "damage is found again");
  if (records.empty()) return;
  const test::Record& first = records[seed % records.size()];
  Bytes value(first.value.size());
  const auto known = index.statistics(first.key);
  require(known && known->records > 0, "statistics of a record before the damage");
  (void)attempt([&] { index.read(first.key, value.data(), 1, value.size()); });
  (void)attempt([&] { index.seek_joined(first.key, static_cast<int64_t>(seed >> 3)); });
  (void)attempt([&] { index.read(first.key, value.data(), 1, value.size()); });
}

}  // namespace

void fuzz_keyval(std::span<const std::byte> input) {
  if (input.size() < 4) return;
  const MemoryBound bound(MemoryBound::for_files(std::ssize(input)));
  WrittenStream s;
  s.chunk = 1 + static_cast<int64_t>(input[0]);
  const auto settings = static_cast<uint8_t>(input[1]);
  constexpr int64_t buffers[] = {64 << 10, 0, 5, 16, 17, 40, 300, 5000};
  s.buffer = buffers[settings % 8];
  s.order = settings & 8 ? ByteOrder::big : ByteOrder::little;
  const uint64_t seed = static_cast<uint64_t>(input[2]) << 8 | static_cast<uint64_t>(input[3]);
  const auto bytes = input.subspan(4);
  s.file->set(bytes);
  for (int64_t at = 0; at < std::ssize(bytes); at += s.chunk)
    s.sizes.push_back(std::min(s.chunk, std::ssize(bytes) - at));
  if (s.sizes.empty()) s.sizes.push_back(0);
  bool whole = false;
  const test::Records records = parse(bytes, s.order, whole);
  scan(s, records, whole);
  read_by_key(s, records, whole, seed);
}

}  // namespace sheaf::fuzz
