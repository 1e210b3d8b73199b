#include "exchange/groups/moved.hpp"

#include <utility>
#include <vector>

#include "comm/agree.hpp"
#include "exchange/pieces/access_list.hpp"

namespace sheaf::exchange {

namespace {

// transfer(pieces) carries out the aggregator's own pieces, move(piece) one of each member.
template <class Byte, class Transfer, class Move>
std::optional<Error> in_steps(const Access& access, const Mover::Members& members, bool is_aggregator,
                              int64_t steps, Transfer transfer, Move move) {
  std::vector<Piece<Byte>> pieces;
  std::optional<Error> problem = attempt([&] {
    if (access.bytes() > 0) add_pieces(pieces, access);
  });
  if (is_aggregator) {
    if (!problem) problem = attempt([&] { transfer(std::move(pieces)); });
    pieces.clear();
  }
  if (members.first == members.last) return problem;
  for (int64_t step = 0; step < steps; ++step) {
    const auto piece = step < std::ssize(pieces) ? pieces[static_cast<size_t>(step)] : Piece<Byte>{};
    const auto failed = attempt([&] { move(piece); });
    if (!problem) problem = failed;
  }
  return problem;
}

}  // namespace

std::optional<Error> write_moved(File& file, const Access& access, Mover& mover,
                                 const Mover::Members& members, bool is_aggregator, int64_t pieces) {
  using Written = Piece<const std::byte>;
  const auto write = [&](std::span<const std::byte> data, int64_t offset) { file.write_at(data, offset); };
  return in_steps<const std::byte>(
      access, members, is_aggregator, pieces,
      [&](std::vector<Written> own) { write_pieces(file, std::move(own)); },
      [&](const Written& piece) { mover.gather(piece.memory, piece.offset, members, write); });
}

std::optional<Error> read_moved(File& file, const Access& access, Mover& mover, const Mover::Members& members,
                                bool is_aggregator, int64_t pieces) {
  using Wanted = Piece<std::byte>;
  const auto read = [&](std::span<std::byte> data, int64_t offset) {
    read_pieces(file, {{offset, data}}, 0);
  };
  return in_steps<std::byte>(
      access, members, is_aggregator, pieces,
      [&](std::vector<Wanted> own) { read_pieces(file, std::move(own), gap_worth_reading); },
      [&](const Wanted& piece) { mover.scatter(piece.memory, piece.offset, members, read); });
}

}  // namespace sheaf::exchange
