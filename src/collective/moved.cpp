#include "collective/moved.hpp"

#include <utility>
#include <vector>

#include "comm/agree.hpp"

namespace sheaf {

using exchange::Placed;

namespace {

// transfer(pieces) carries out the collector's own pieces, move(piece) one of each member.
template <class Byte, class Transfer, class Move>
std::optional<Error> in_steps(const Placed<Byte>& mine, const Mover::Members& members, bool is_collector,
                              int64_t steps, Transfer transfer, Move move) {
  std::vector<Piece<Byte>> pieces;
  std::optional<Error> problem = attempt([&] { exchange::add_pieces(pieces, mine); });
  if (is_collector) {
    if (!problem) problem = attempt([&] { transfer(std::move(pieces)); });
    pieces.clear();
  }
  if (members.first == members.last) return problem;
  for (int64_t step = 0; step < steps; ++step) {
    const auto piece = step < std::ssize(pieces) ? pieces[static_cast<size_t>(step)] : Piece<Byte>{};
    attempt(problem, [&] { move(piece); });
  }
  return problem;
}

}  // namespace

std::optional<Error> write_moved(File& file, const Placed<const std::byte>& mine, Mover& mover,
                                 const Mover::Members& members, bool is_collector, int64_t steps) {
  using Written = Piece<const std::byte>;
  const auto write = [&](std::span<const std::byte> data, int64_t offset) { file.write_at(data, offset); };
  return in_steps<const std::byte>(
      mine, members, is_collector, steps,
      [&](std::vector<Written> own) { exchange::write_pieces(file, std::move(own)); },
      [&](const Written& piece) { mover.gather(piece.memory, piece.offset, members, write); });
}

std::optional<Error> read_moved(File& file, const Placed<std::byte>& mine, Mover& mover,
                                const Mover::Members& members, bool is_collector, int64_t steps) {
  using Wanted = Piece<std::byte>;
  const auto read = [&](std::span<std::byte> data, int64_t offset) {
    exchange::read_pieces(file, {{offset, data}}, 0);
  };
  return in_steps<std::byte>(
      mine, members, is_collector, steps,
      [&](std::vector<Wanted> own) {
        exchange::read_pieces(file, std::move(own), exchange::gap_worth_reading);
      },
      [&](const Wanted& piece) { mover.scatter(piece.memory, piece.offset, members, read); });
}

}  // namespace sheaf
