// exchange/transfer/independent: a transfer that one task carries out alone.
//
// Pieces that are large, or far apart, are transferred one by one. Small ones that are close together are
// sieved: a range of the file passes through memory as a whole; for writing it is read first, changed and
// written back, while nobody else writes there (File::lock): who writes without reading first shares the
// range with others who do (exchange/transfer/shared_range). Where the program itself has locked a part of
// it, pieces are written one by one.
#pragma once

#include "comm/agree.hpp"
#include "exchange/pieces/access.hpp"
#include "exchange/transfer/shared_range.hpp"
#include "exchange/transfer/tally.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

enum class Sieving : uint8_t { automatic, always, never };

struct IndependentOptions {
  Sieving sieving = Sieving::automatic;
  int64_t buffer = 512 << 10;  // bytes
  bool locked = false;         // its range is, meanwhile: others see all of it or nothing (atomic mode)
};

// Local. Holds the range of the access meanwhile if `how` says that it is locked, for itself if it writes.
// Returns the bytes transferred from the beginning of the stream on; fewer than wanted only in reading at the
// end of the file. Throws what the file throws, and what File::lock() throws if the range does not come free;
// what is in the pieces of a write is then undefined, other bytes are untouched.
int64_t transfer_alone(File& file, const ViewAccess& access, const IndependentOptions& how, bool writes,
                       Tally& tally);

// Writes while nobody may read and write back these bytes; counted.
void put_shared(File& file, std::span<const std::byte> data, int64_t offset, Tally& tally);

// Requests that are counted; all pieces, which do not overlap, in as few as the file can.
void put_pieces(File& file, std::span<const Piece<const std::byte>> pieces, Tally& tally);
void put(File& file, std::span<const std::byte> data, int64_t offset, Tally& tally);
size_t get(File& file, std::span<std::byte> data, int64_t offset, Tally& tally);

}  // namespace sheaf::exchange
