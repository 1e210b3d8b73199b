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
#include "storage/store.hpp"

namespace sheaf::exchange {

enum class Sieving : uint8_t { automatic, always, never };

struct IndependentOptions {
  Sieving sieving = Sieving::automatic;
  int64_t buffer = 512 << 10;  // bytes
  bool locked = false;         // the caller holds the range
};

// Holds the range of an access, if `locks`, while `part` runs. Throws what File::lock() throws if it does not
// come free.
template <class Part>
void under_lock(File& file, const ViewAccess& access, bool locks, bool exclusive, Part part) {
  if (!locks || access.bytes() <= 0) return part();
  const RangeLock lock = file.lock(access.low(), access.high() - access.low(), exclusive);
  part();
}

// Local. Throws what the file throws; what is in the pieces is then undefined, other bytes are untouched.
void write_independent(File& file, const ViewAccess& access, const IndependentOptions& how, Tally& tally);

// Local. Returns the bytes read from the beginning of the stream on; fewer than wanted only at the end of the
// file.
int64_t read_independent(File& file, const ViewAccess& access, const IndependentOptions& how, Tally& tally);

// Writes while nobody may read and write back these bytes; counted.
void put_shared(File& file, std::span<const std::byte> data, int64_t offset, Tally& tally);

// Requests that are counted; all pieces, which do not overlap, in as few as the file can.
void put_pieces(File& file, std::span<const Piece<const std::byte>> pieces, Tally& tally);
void put(File& file, std::span<const std::byte> data, int64_t offset, Tally& tally);
size_t get(File& file, std::span<std::byte> data, int64_t offset, Tally& tally);

}  // namespace sheaf::exchange
