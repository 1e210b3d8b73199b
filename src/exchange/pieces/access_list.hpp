// exchange/pieces/access_list: the pieces of a file that one task touches for many, sorted and merged so that
// the file sees few, large requests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exchange/pieces/access.hpp"
#include "storage/store.hpp"

namespace sheaf::exchange {

// Writes pieces, of which later ones win where they overlap. Where they do not, the file gets
// them together, in its order. Throws what the file throws; which of the pieces are in the file is then
// open.
void write_pieces(File& file, std::vector<Piece<const std::byte>> pieces);

// Reading over so many bytes costs less than another request.
inline constexpr int64_t gap_worth_reading = 16 << 10;

// Fills pieces; runs of neighbours (overlap allowed) that are at least as long as `gap` apart are read on
// their own, others together. Throws damaged if the file ends before.
void read_pieces(File& file, std::vector<Piece<std::byte>> pieces, int64_t gap);

// Adds the pieces of an access whose memory is contiguous, in the order of its stream; the memory must
// outlive their use.
void add_pieces(std::vector<Piece<const std::byte>>& to, const Access& access);
void add_pieces(std::vector<Piece<std::byte>>& to, const Access& access);

}  // namespace sheaf::exchange
