#include "multifile/metadata/parallel_open.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/assert.hpp"
#include "comm/reduce.hpp"
#include "multifile/options/environment.hpp"

namespace sheaf::multifile {

namespace {

// Bits of OpenFacts::ownership.
constexpr int64_t took_over = 1;
constexpr int64_t is_local = 2;

// Input of one task to the agreement of an open. `has_extras` and `same` combine all tasks. Only task 0 sets
// the other fields.
struct OpenFacts {
  int64_t flags = 0;  // bytes of the words of the environment
  bool has_extras = false;
  int64_t ownership = 0, lease = INT64_MIN;
  std::array<int64_t, 2> identity{INT64_MIN, INT64_MIN};
  std::array<MinMax, 5> same{};  // hashes of the file name and the open mode, then the numbers of the caller
  constexpr void combine(auto& by) {
    by.max(flags).any(has_extras).max(ownership).max(lease).max(identity).range(same);
  }
};

OpenMode parse_mode(const std::string& path, const std::string& mode) {
  OpenMode parsed = parse_open_mode(mode);
  if (parsed.direction == OpenDirection::none)
    throw Error(Code::invalid_argument, "unknown file mode '" + mode + "' for '" + path +
                                            "': it must contain a word to read (rb) or to write (wb)");
  return parsed;
}

// Throws mismatch unless all tasks have passed the same values.
void require_same(const std::string& path, const decltype(OpenFacts::same)& values) {
  static constexpr std::array names{"file name", "open mode", "number of files", "block size",
                                    "kind of local communicator"};
  static_assert(names.size() == std::tuple_size_v<decltype(OpenFacts::same)>);
  const auto differing = std::ranges::find_if_not(values, &MinMax::is_same);
  if (differing != values.end())
    throw Error(Code::mismatch, "'" + path + "': the tasks of the collective open gave a different " +
                                    names[static_cast<size_t>(differing - values.begin())] +
                                    "; it must be the same on every task");
}

}  // namespace

OpenMode agree_on_call(Comm& comm, const std::string& path, const std::string& mode,
                       std::span<const int64_t> same_everywhere, const std::optional<Error>& mine,
                       AnyTask* any) {
  std::string flags = comm.rank() == 0 ? words_of_environment() : "";
  OpenMode parsed;
  std::optional<Error> problem = mine;
  if (!problem) problem = attempt([&] { parsed = parse_mode(path, mode); });
  OpenFacts facts{.flags = std::ssize(flags), .has_extras = any && any->has_extras};
  if (comm.rank() == 0) {
    if (any) facts.ownership = (any->took_over ? took_over : 0) | (any->is_local ? is_local : 0);
    facts.lease = static_cast<int64_t>(any ? any->lease : 0);
    facts.identity = std::bit_cast<decltype(facts.identity)>(new_identity());
  }
  auto next = facts.same.begin();
  for (const std::string& text : {path, mode})
    *next++ = MinMax(static_cast<int64_t>(format::hash_of(std::as_bytes(std::span(text)))));
  SHEAF_ASSERT(std::ssize(same_everywhere) <= facts.same.end() - next);
  std::ranges::transform(same_everywhere, next, [](int64_t number) { return MinMax(number); });
  agree(comm, problem, facts);
  require_same(path, facts.same);
  const bool took = (facts.ownership & took_over) != 0, local = (facts.ownership & is_local) != 0;
  const auto lease = static_cast<uint64_t>(facts.lease);
  if (any) *any = {facts.has_extras, took, local, lease};
  if (facts.flags > 0) {
    flags.resize(static_cast<size_t>(facts.flags));
    comm.broadcast(std::as_writable_bytes(std::span(flags)), 0);
    parsed = parse_open_mode(mode, flags);
  }
  parsed.identity = std::bit_cast<format::Identity>(facts.identity);
  parsed.is_local = local;
  parsed.lease = lease;
  parsed.replaces = took && parsed.creates() && !parsed.atomic;
  return parsed;
}

int metadata_writer_group(int ntasks) {
  constexpr int max_metadata_writers = 64;
  constexpr int fewest_tasks = format::group_tasks;
  const int metadata_writers =
      std::clamp((ntasks + fewest_tasks - 1) / fewest_tasks, 1, max_metadata_writers);
  const int share = (ntasks + metadata_writers - 1) / metadata_writers;
  return metadata_writers == 1 ? share : (share + fewest_tasks - 1) / fewest_tasks * fewest_tasks;
}

JournalHosts find_hosts(Comm& all, Comm& local, const Nodes* known) {
  const Nodes nodes = known ? *known : find_nodes(all);
  if (nodes.count <= 1) return {};
  MinMax range(nodes.mine);
  reduce(local, range);
  if (range.is_same()) return {};
  return {static_cast<int32_t>(nodes.mine), static_cast<int32_t>(nodes.count)};
}

PrefixedSum prefixed_sum(Comm& comm, int64_t mine) {
  SHEAF_ASSERT(mine >= 0);
  // Sums of 32-bit halves cannot overflow over fewer than 2^31 tasks.
  const std::array<int64_t, 2> halves{mine >> 32, mine & 0xffffffff};
  std::array<int64_t, 2> before = halves;
  std::array<int64_t, 2> total;
  comm.prefix_sum_and_total(before, total);
  const auto join = [](const std::array<int64_t, 2>& h) {
    return must_fit(checked_mul_add(h[0], int64_t{1} << 32, h[1]), "the sum of the chunk sizes");
  };
  return {join(before), join(total)};
}

}  // namespace sheaf::multifile
