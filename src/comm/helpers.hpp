// comm/helpers: argument checks and topology parsing shared by all kinds of Comm.
//
// The functions are pure unless marked as collective; any thread may call them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "comm/comm.hpp"

namespace sheaf {

// Returns K of the word "node=K" in a comma-separated topology, 0 if the word is absent. Throws Error
// invalid_argument if K is not an integer > 0.
SHEAF_EXPORT int tasks_per_node(std::string_view topology);
// Returns tasks_per_node() of SHEAF_TOPOLOGY in the environment of this task.
SHEAF_EXPORT int topology_by_hand();

// Combines rows of values.size() numbers, one row per task, column by column. `how` is max or sum.
SHEAF_EXPORT void combine_rows(Reduction how, std::span<const int64_t> rows, std::span<int64_t> values);

// Throws Error invalid_argument unless 0 <= root < size.
SHEAF_EXPORT void check_root(int root, int size);

// Returns true if `pieces` has `size` entries in `sizes`, one per task. Every entry must be >= 0, and
// together they must equal the number of bytes in `pieces`.
SHEAF_EXPORT bool is_consistent(const Gathered& pieces, int size);

// Throws Error invalid_argument unless is_consistent(pieces, size).
SHEAF_EXPORT void check_pieces(const Gathered& pieces, int size);

// Checks a buffer that holds one piece of `piece` bytes for each of `size` tasks. Throws Error
// invalid_argument unless its length `have` is piece * size.
SHEAF_EXPORT void check_equal_pieces(size_t have, size_t piece, int size);

// One task's messages of an exchange among tasks of one process.
struct ExchangeLists {
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  std::vector<int64_t> received;  // bytes of each incoming message
};

// Throws Error invalid_argument unless all peers are tasks 0..size-1 and all messages are shorter than 2 GiB.
SHEAF_EXPORT void check_exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming,
                                 int size);

// Collective. Gathers `mine` at task 0, calls `answer` there, and returns piece r of the result on task r. If
// answer() throws, task 0 rethrows its error and all other tasks throw Error invalid_argument.
SHEAF_EXPORT std::vector<std::byte> answered_by_task_0(
    Comm& comm, std::span<const std::byte> mine, const std::function<Gathered(const Gathered&)>& answer);

enum class Neighbour : uint8_t { preceding, following };
// Collective. Sends `mine` to one neighbour and returns the number that the other neighbour, `of`, has sent.
// Returns `nobodys` if this task has no such neighbour.
SHEAF_EXPORT int64_t shift(Comm& comm, int64_t mine, Neighbour of, int64_t nobodys);

// Performs an exchange among tasks of one process: copies every outgoing message of a task to the matching
// incoming message of its receiver. `tasks` holds the lists of all tasks by rank. Throws Error mismatch if a
// message is missing or too long for the receiver.
SHEAF_EXPORT void deliver(std::span<ExchangeLists* const> tasks);

}  // namespace sheaf
