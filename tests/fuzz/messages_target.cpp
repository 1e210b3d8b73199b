// Decodes messages between tasks: requests to I/O listeners, and extents of a window. Bit 0 of the first byte
// selects the kind. If bit 1 is set, a recipe creates the head of a request. Otherwise the bytes are the
// message.
#include <cstring>

#include "base/error.hpp"
#include "exchange/run_code.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/recipe.hpp"
#include "fuzz/targets.hpp"
#include "sfio/service/protocol.hpp"

namespace sheaf::fuzz {

namespace {

constexpr int64_t window = 4 << 20;    // bytes
constexpr int64_t max_visited = 1000;  // extents, in bytes

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
      section.extents.push_back({recipe.number(), recipe.number()});
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
  const auto head = sfio::encode(decoded->request);
  require(head.size() + decoded->data.size() == message.size(), "what follows the head are the data");
  require(std::equal(head.begin(), head.end(), message.begin()), "a request is encoded as it was decoded");
}

void decode_runs(std::span<const std::byte> code) {
  const exchange::Runs runs = exchange::check_runs(code, window);
  require((runs.bytes > 0) == !code.empty() && runs.bytes <= runs.end - runs.begin, "bytes of the runs");
  require(runs.begin >= 0 && runs.end <= window, "runs lie in the window");
  if (runs.bytes > max_visited) return;
  int64_t bytes = 0, behind = runs.begin;
  exchange::for_each_run(code, [&](int64_t begin, int64_t length) {
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
  const MemoryBound bound(MemoryBound::for_structure(8 * std::ssize(input)));
  try {
    if (kind & 1) return decode_runs(recipe.rest());
    decode_request(kind & 2 ? make_request(recipe) : std::vector(recipe.rest().begin(), recipe.rest().end()));
  } catch (const Error& e) {
    require(e.what()[0] != '\0', "an error has a message");
  }
}

}  // namespace sheaf::fuzz
