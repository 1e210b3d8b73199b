#include "comm/comm.hpp"

#include <algorithm>
#include <climits>
#include <numeric>
#include <string>
#include <thread>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/setting.hpp"
#include "comm/helpers.hpp"
#include "comm/packing.hpp"

namespace sheaf {

std::vector<int64_t> Gathered::offsets() const {
  std::vector<int64_t> result(sizes.size() + 1);
  std::partial_sum(sizes.begin(), sizes.end(), result.begin() + 1);
  return result;
}

namespace {
template <class Byte>
std::vector<std::span<Byte>> cut(std::span<Byte> bytes, std::span<const int64_t> sizes) {
  std::vector<std::span<Byte>> result;
  for (const int64_t size : sizes) {
    SHEAF_ASSERT(size >= 0 && size <= std::ssize(bytes));
    result.push_back(bytes.first(static_cast<size_t>(size)));
    bytes = bytes.subspan(static_cast<size_t>(size));
  }
  return result;
}
}  // namespace

std::vector<std::span<const std::byte>> Gathered::pieces() const {
  return cut(std::span<const std::byte>(bytes), sizes);
}

std::vector<std::span<std::byte>> Gathered::receive_buffers() { return cut(std::span(bytes), sizes); }

void Gathered::add(std::span<const std::byte> piece) {
  sizes.push_back(std::ssize(piece));
  bytes.insert(bytes.end(), piece.begin(), piece.end());
}

std::vector<std::byte> Gathered::packed() const { return joined({std::as_bytes(std::span(sizes)), bytes}); }

Gathered Gathered::unpacked(std::span<const std::byte> message, size_t count) {
  Gathered result;
  while (result.sizes.size() < count) result.sizes.push_back(take<int64_t>(message));
  result.bytes.assign(message.begin(), message.end());
  return result;
}

void Comm::prefix_sum_and_total(std::span<int64_t> values, std::span<int64_t> totals) {
  SHEAF_ASSERT(totals.size() == values.size());
  std::ranges::copy(values, totals.begin());
  prefix_sum(values);
  all_sum(totals);
}

void Comm::reduce_by(ReductionMethod method, Reduction how, std::span<int64_t> values) {
  SHEAF_ASSERT(how != Reduction::exclusive_scan);
  if (method != ReductionMethod::allgather) return reduce(how, values);
  const Gathered gathered = gather(std::as_bytes(values), 0);
  std::vector<int64_t> all = records_of<int64_t>(gathered);
  all.resize(values.size() * static_cast<size_t>(size()));
  broadcast(std::as_writable_bytes(std::span(all)), 0);
  combine_rows(how, all, values);
}

void Comm::scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root) {
  Gathered given;
  if (rank() == root) {
    given.bytes.assign(pieces.begin(), pieces.end());
    given.sizes.assign(static_cast<size_t>(size()), std::ssize(mine));
  }
  const std::vector<std::byte> found = scatter(given, root);
  if (found.size() != mine.size())
    throw Error(Code::mismatch, "the tasks of a group expect equal pieces of different lengths");
  std::ranges::copy(found, mine.begin());
}

int Comm::node_count() {
  const auto node = split_by_node();
  int64_t first = node->rank() == 0;
  all_sum(std::span(&first, 1));
  return static_cast<int>(first);
}

int Comm::processors() const { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

int topology_by_hand() {
  const char* const topology = setting("SHEAF_TOPOLOGY");
  return topology ? tasks_per_node(topology) : 0;
}

int tasks_per_node(std::string_view topology) {
  constexpr std::string_view key = "node=";
  while (!topology.empty()) {
    const std::string_view word = take_word(topology);
    if (!word.starts_with(key)) {
      // comm/topology validates these.
      const bool table = word.starts_with("file:") || word.starts_with("cmd:") || word.starts_with("ion=");
      if (!word.empty() && !table)
        tell_not_understood("SHEAF_TOPOLOGY", word,
                            "node=K for nodes of K tasks each, ion=M for I/O nodes of M tasks each, "
                            "file:PATH or cmd:PROGRAM for a table of I/O nodes");
      continue;
    }
    const auto value = parse_number(word.substr(key.size()));
    if (!value || *value <= 0 || *value > INT_MAX)
      throw Error(Code::invalid_argument,
                  "topology '" + std::string(word) + "': the tasks per node must be a number > 0");
    return static_cast<int>(*value);
  }
  return 0;
}

void combine_rows(Reduction how, std::span<const int64_t> rows, std::span<int64_t> values) {
  SHEAF_ASSERT(values.empty() || rows.size() % values.size() == 0);
  std::ranges::fill(values, how == Reduction::max ? INT64_MIN : 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    int64_t& value = values[i % values.size()];
    value = how == Reduction::max ? std::max(value, rows[i]) : value + rows[i];
  }
}

void check_root(int root, int size) {
  if (root < 0 || root >= size)
    throw Error(Code::invalid_argument,
                "root " + std::to_string(root) + " is not in a group of " + std::to_string(size));
}

bool is_consistent(const Gathered& pieces, int size) {
  if (std::ssize(pieces.sizes) != size) return false;
  int64_t left = std::ssize(pieces.bytes);
  for (const int64_t piece : pieces.sizes) {
    if (piece < 0 || piece > left) return false;
    left -= piece;
  }
  return left == 0;
}

void check_pieces(const Gathered& pieces, int size) {
  if (!is_consistent(pieces, size))
    throw Error(Code::invalid_argument,
                "the pieces to scatter to " + std::to_string(size) + " tasks do not match their sizes");
}

void check_equal_pieces(size_t have, size_t piece, int size) {
  if (have != piece * static_cast<size_t>(size))
    throw Error(Code::invalid_argument, std::to_string(have) + " bytes are not " + std::to_string(size) +
                                            " pieces of " + std::to_string(piece) + " bytes");
}

}  // namespace sheaf
