// exchange/transfer/independent: a transfer that one task carries out without the other tasks.
//
// Extents that are large or far apart are transferred one by one. Small extents that are close together are
// sieved: a whole range of the file passes through memory. For a write, the range is read, changed and
// written back under an exclusive lock (File::lock). Tasks that write without sieving hold the range shared
// (exchange/transfer/shared_range). Where the program itself holds a lock in the range, extents are written
// one by one.
#pragma once

#include "comm/agree.hpp"
#include "exchange/pieces/access.hpp"
#include "exchange/transfer/io_counters.hpp"
#include "exchange/transfer/shared_range.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

enum class Sieving : uint8_t { automatic, always, never };

struct IndependentOptions {
  Sieving sieving = Sieving::automatic;
  int64_t buffer = 512 << 10;  // bytes of memory for sieving
  bool locked = false;  // lock the range, so that tasks see all of the transfer or nothing (atomic mode)
};

// Writes or reads the access. If `how.locked` is set, locks the range of the access during the transfer,
// exclusively for a write. Local. Returns the bytes transferred from the start of the stream; a read may
// return fewer at the end of the file. Throws the errors of the file, and of File::lock() if the range stays
// locked. After a failed write, the contents of its extents are undefined; other bytes are unchanged.
int64_t independent_io(File& file, const FileAccess& access, const IndependentOptions& how, bool writes,
                       IoCounters& tally);

// Writes under a shared lock that excludes read-modify-write by other tasks; updates `tally`.
void put_shared(File& file, std::span<const std::byte> data, int64_t offset, IoCounters& tally);

// Make requests and update `tally`. put_pieces() writes disjoint segments in as few requests as the file
// supports.
void put_pieces(File& file, std::span<const Piece<const std::byte>> pieces, IoCounters& tally);
void put(File& file, std::span<const std::byte> data, int64_t offset, IoCounters& tally);
size_t get(File& file, std::span<std::byte> data, int64_t offset, IoCounters& tally);

}  // namespace sheaf::exchange
