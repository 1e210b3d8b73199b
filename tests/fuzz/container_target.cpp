// Reads containers. Their bytes are arbitrary, or have correct checksums in header, table and records, so
// that readers use arbitrary contents.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "format/container.hpp"
#include "fuzz/targets.hpp"
#include "streams/container/gather.hpp"
#include "streams/container/named_streams.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::fuzz {

using namespace streams;

namespace {

using namespace format;
using Bytes = std::vector<std::byte>;

constexpr int64_t area_at = 2 * container_page;
constexpr Identity container_identity{std::byte{1}, std::byte{2}, std::byte{3}};

class Input {
 public:
  explicit Input(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  uint64_t number() {
    uint64_t value = 0;
    const size_t count = std::min<size_t>(8, bytes_.size());
    std::memcpy(&value, bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
    return value;
  }
  // Returns a size that is small in most cases, and otherwise any number.
  int64_t size() {
    const uint64_t value = number();
    return static_cast<int64_t>((value & 7) != 0 ? value % 9000 : value >> 1);
  }

 private:
  std::span<const std::byte> bytes_;
};

// Adds reserved space, slots and words of any kind.
void add_sums(ContainerRecord& record, uint64_t what) {
  if ((what >> 33) % 4 == 0) record.kind = RecordKind::sums;
  record.room = record.kind == RecordKind::piece && (what >> 29) % 2 != 0;
  const bool has_slots = record.kind == RecordKind::sums || record.room;
  record.slots = has_slots ? static_cast<int64_t>(what >> 30 & 7) : 0;
  record.first_block = static_cast<int64_t>(what >> 35 & 3);
  record.end_word = sum_word({static_cast<uint32_t>(what), static_cast<int64_t>(what >> 37 & 0x1ffff)}, 0);
}

Bytes sealed(Input input, uint32_t version) {
  static const std::array<std::string, 4> names{"a", "b", "out/c", std::string(4000, 'd')};
  const auto head = encode(ContainerHeader{container_identity, 1, "host", version});
  Bytes bytes(head.begin(), head.end());
  bytes.resize(area_at);
  Bytes records;
  while (!input.empty() && records.size() < (1 << 16)) {
    const uint64_t what = input.number();
    ContainerRecord record;
    record.kind = static_cast<RecordKind>(1 + what % 6);
    record.time = static_cast<int64_t>(what >> 8 & 0xff);
    record.stream = {1 + (what >> 16) % 5, (what >> 20) % 16 == 0 ? what : 0};
    record.empties = (what >> 24) % 2 != 0;
    record.name = names[(what >> 25) % names.size()];
    record.which = static_cast<uint32_t>(what >> 27 & 3);
    record.size = input.size();
    record.offset = record.size;
    // The place may be negative.
    record.place = static_cast<int64_t>(static_cast<uint64_t>(input.size()) + container_page);
    record.length = input.size() & max_piece_length;
    if (version == container_summed) add_sums(record, what);
    encode(record, container_identity, area_at + std::ssize(records), records);
  }
  const int64_t area = (std::ssize(records) + container_page) / container_page * container_page;
  std::ranges::copy(encode(Area{area_at, area}, container_identity, container_page),
                    bytes.begin() + container_page);
  bytes.insert(bytes.end(), records.begin(), records.end());
  bytes.resize(static_cast<size_t>(area_at + area));
  return bytes;
}

// Reads a container in every way and compares the results. `may_mismatch` states that checksums may be wrong.
void look_at(const Bytes& file, bool may_mismatch) {
  MemoryStore store;
  store.set_contents("set.container.host", file);
  std::shared_ptr<const NamedStreams> streams;
  attempt([&] { streams = NamedStreams::open(store, "set", true); });
  if (!streams) return;
  const bool has_damage =
      std::ranges::any_of(streams->sources, [](const SetSource& source) { return !source.damage.empty(); });
  std::string before;
  for (const NamedStream& one : streams->streams()) {
    require(before < one.name && streams->find(one.name) == &one, "streams are in order, and found");
    before = one.name;
    std::array<std::byte, 512> data;
    for (const int64_t at : {int64_t{0}, one.size / 2, one.size - 1})
      if (at >= 0) {
        std::optional<size_t> got;
        attempt([&] { got = streams->read(one, data, at); });
        require(got ? *got == static_cast<size_t>(std::min<int64_t>(512, one.size - std::min(at, one.size)))
                    : has_damage || may_mismatch,
                "bytes are read up to the end, unless the file ends before");
      }
    if (const auto next = next_in(one.pieces, one.size, Space::data, 0))
      require(*next < one.size, "data are within the stream");
  }
  multifile::WorkProgress quiet;
  int64_t all = 0;
  for (const NamedStream& one : streams->streams())
    all = one.size > (1 << 20) || all < 0 ? -1 : all + one.size;
  if (all < 0) return;
  attempt([&] { gather(store, {.set = "set", .output = "other"}, quiet); });
  attempt([&] {
    gather(store, {.set = "set"}, quiet);
    require(!has_damage, "what cannot be read is not removed");
    const auto gathered = NamedStreams::open(store, "set");
    require(streams->streams().empty() || gathered->streams().size() == streams->streams().size(),
            "gathering keeps all streams");
  });
}

}  // namespace

void fuzz_container(std::span<const std::byte> input) {
  look_at(Bytes(input.begin(), input.end()), true);
  for (const uint32_t version : {container_plain, container_summed})
    look_at(sealed(Input(input), version), version == container_summed);
}

}  // namespace sheaf::fuzz
