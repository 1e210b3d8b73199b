#include "multifile/metadata/parallel_open.hpp"

#include <array>
#include <cstring>
#include <vector>

#include "base/assert.hpp"
#include "comm/constants.hpp"
#include "multifile/options/environment.hpp"

namespace sheaf::multifile {

namespace {

// Bits of the number that broadcasts members of the first task's AnyTask.
constexpr int64_t took_over = 1;
constexpr int64_t is_local = 2;

}  // namespace

OpenMode agree_on_call(Comm& comm, const std::string& path, const std::string& mode,
                       std::span<const int64_t> same_everywhere, const std::optional<Error>& mine,
                       AnyTask* any) {
  std::string flags = comm.rank() == 0 ? words_of_environment() : "";
  OpenMode parsed;
  std::optional<Error> problem = mine;
  if (!problem)
    problem = attempt([&] {
      parsed = parse_open_mode(mode);
      if (parsed.direction == OpenDirection::none)
        throw Error(Code::invalid_argument, "unknown file mode '" + mode + "' for '" + path +
                                                "': it must contain a word to read (rb) or to write (wb)");
    });
  // A number is the same on all tasks if its maximum equals its minimum. The minimum is computed as ~max(~x).
  constexpr size_t first_pair = 6, max_pairs = 5;
  std::array<int64_t, first_pair + 2 * max_pairs> pairs{
      static_cast<int64_t>(flags.size()), any && any->has_extras, 0, INT64_MIN, INT64_MIN, INT64_MIN};
  static_assert(pairs.size() <= comm_constants::max_agreed_values);
  static_assert(sizeof(format::Identity) == 2 * sizeof(int64_t));
  format::Identity identity;
  if (comm.rank() == 0) {
    identity = new_identity();
    if (any) pairs[2] = (any->took_over ? took_over : 0) | (any->is_local ? is_local : 0);
    pairs[3] = static_cast<int64_t>(any ? any->lease : 0);
    std::memcpy(&pairs[4], identity.data(), sizeof identity);
  }
  size_t used = first_pair;
  const auto add = [&](int64_t value) {
    pairs[used++] = value;
    pairs[used++] = ~value;
  };
  for (const std::string& text : {path, mode})
    add(static_cast<int64_t>(format::hash_of(std::as_bytes(std::span(text)))));
  for (const int64_t value : same_everywhere) add(value);
  agree(comm, problem, std::span(pairs).first(used));
  for (size_t i = first_pair; i < used; i += 2) {
    if (pairs[i] == ~pairs[i + 1]) continue;
    static constexpr const char* names[] = {
        "file name", "open mode", "number of files", "block size", "kind of local communicator", "argument"};
    const char* what = names[(i - first_pair) / 2];
    throw Error(Code::mismatch, "'" + path + "': the tasks of the collective open gave a different " + what +
                                    "; it must be the same on every task");
  }
  if (any)
    *any = {pairs[1] != 0, (pairs[2] & took_over) != 0, (pairs[2] & is_local) != 0,
            static_cast<uint64_t>(pairs[3])};
  std::memcpy(identity.data(), &pairs[4], sizeof identity);
  if (pairs[0] > 0) {
    flags.resize(static_cast<size_t>(pairs[0]));
    comm.broadcast(std::as_writable_bytes(std::span(flags)), 0);
    parsed = parse_open_mode(mode, flags);
  }
  parsed.identity = identity;
  parsed.is_local = (pairs[2] & is_local) != 0;
  parsed.lease = static_cast<uint64_t>(pairs[3]);
  parsed.replaces = (pairs[2] & took_over) != 0 && parsed.creates() && !parsed.atomic;
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
  int64_t range[2] = {nodes.mine, -nodes.mine};
  local.all_max(range);
  if (range[0] == -range[1]) return {};
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
