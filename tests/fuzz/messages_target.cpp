// Decodes messages between tasks: requests to I/O listeners, and lists of extents. Bit 0 of the first byte
// selects the kind. If bit 1 is set, a recipe creates the head of a request. Otherwise the bytes are the
// message.
#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "exchange/run_code.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/recipe.hpp"
#include "fuzz/targets.hpp"
#include "layout/extent_code.hpp"
#include "sfio/service/constants.hpp"
#include "sfio/service/protocol.hpp"

namespace sheaf::fuzz {

namespace {

constexpr int64_t window = 4 << 20;    // bytes
constexpr int64_t max_visited = 1000;  // extents, in bytes

Extent make_extent(Recipe& recipe) {
  const int64_t offset = recipe.number() & INT64_MAX >> 1, length = recipe.number() & INT64_MAX >> 1;
  return {offset, std::max<int64_t>(length, 1)};
}

std::vector<std::byte> make_request(Recipe& recipe) {
  sfio::Request made;
  made.kind = static_cast<sfio::RequestKind>(recipe.byte() % 18);
  made.handle = recipe.number();
  for (int64_t& value : made.values) value = recipe.number();
  made.path.resize(recipe.byte() % 16, 'p');
  made.more.resize(recipe.byte() % 16, 'q');
  for (auto sections = recipe.byte() % 4; sections > 0; --sections) {
    sfio::SubfileExtents& section = made.sections.emplace_back();
    section.handle = recipe.number();
    for (auto extents = recipe.byte() % 4; extents > 0; --extents)
      section.extents.push_back(make_extent(recipe));
  }
  std::vector<std::byte> message = sfio::encode(made);
  // One number of the message may be wrong.
  const size_t at = 8 * recipe.byte();
  if (at + 8 <= message.size()) store<int64_t>(message.data() + at, recipe.number(), native_order);
  const auto data = recipe.rest();
  message.insert(message.end(), data.begin(), data.end());
  return message;
}

void decode_request(std::span<const std::byte> message) {
  const auto decoded = sfio::decode(message);
  if (!decoded) return;
  require(decoded->data.data() + decoded->data.size() == message.data() + message.size(),
          "the data end with the message");
  const auto head = sfio::encode(decoded->request);
  const auto again = sfio::decode(head);
  require(again && again->data.empty(), "a request that was decoded can be encoded");
  require(sfio::encode(again->request) == head, "a request is encoded as it was decoded");
}

void decode_runs(std::span<const std::byte> code) {
  const exchange::Runs runs = exchange::check_runs({code.begin(), code.end()}, window);
  require((runs.bytes > 0) == !code.empty() && runs.bytes <= runs.end - runs.begin, "bytes of the runs");
  require(runs.begin >= 0 && runs.end <= window, "runs lie in the window");
  if (runs.bytes > max_visited) return;
  int64_t bytes = 0, behind = runs.begin;
  layout::for_each_extent(code, [&](int64_t begin, int64_t length) {
    require(begin >= behind, "runs are in order");
    behind = begin + length;
    bytes += length;
  });
  require(bytes == runs.bytes && behind == (code.empty() ? 0 : runs.end), "runs add up");
}

}  // namespace

void fuzz_messages(std::span<const std::byte> input) {
  Recipe recipe(input);
  const uint8_t kind = recipe.byte();
  // A short list may have many extents, up to the limit of a request.
  const MemoryBound bound(MemoryBound::for_structure(8 * std::ssize(input)) +
                          sfio::max_extents * int64_t{sizeof(Extent)});
  try {
    if (kind & 1) return decode_runs(recipe.rest());
    decode_request(kind & 2 ? make_request(recipe) : std::vector(recipe.rest().begin(), recipe.rest().end()));
  } catch (const Error& e) {
    require(e.what()[0] != '\0', "an error has a message");
  }
}

}  // namespace sheaf::fuzz
