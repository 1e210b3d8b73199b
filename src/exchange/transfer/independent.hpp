// exchange/transfer/independent: a transfer that one task carries out without the other tasks.
//
// Extents that are large or far apart are transferred one by one. Small extents that are close together are
// sieved: requests of up to IndependentOptions::buffer bytes transfer the enclosing range, holes included. A
// write with holes reads the range, changes it and writes it back under an exclusive lock (File::lock). It
// leaves out whole blocks without bytes of the access. Tasks that write without sieving hold a shared lock,
// unless they write whole blocks (exchange/transfer/shared_range). If the program itself has locked a part of
// the range, the task cannot acquire the exclusive lock and writes the extents one by one.
#pragma once

#include "comm/agree.hpp"
#include "exchange/pieces/access.hpp"
#include "exchange/transfer/io_counters.hpp"
#include "exchange/transfer/shared_range.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

enum class Sieving : uint8_t { automatic, enabled, disabled };

struct IndependentOptions {
  Sieving sieving = Sieving::automatic;
  int64_t buffer = 512 << 10;  // bytes of memory for sieving
  bool locked = false;     // lock the range, so that tasks see all of the transfer or nothing (atomic mode)
  bool publishes = false;  // a write ends with File::publish(); for hosts with caches of their own
};

// Write or read the access. If `how.locked` is set, lock the range of the access during the transfer,
// exclusively for a write. Local. A read returns the bytes read from the start of the stream, fewer than
// requested only at the end of the file. Throw the errors of the file, and of File::lock() if the range stays
// locked. After a failed write, the contents of its extents are undefined; other bytes are unchanged.
void independent_write(File& file, const FileAccess& access, const IndependentOptions& how,
                       IoCounters& counters);
int64_t independent_read(File& file, const FileAccess& access, const IndependentOptions& how,
                         IoCounters& counters);

// Writes while no other task can read the bytes and write them back; updates `counters`. Holds a shared lock
// unless `data` are whole blocks of sieve_block bytes.
void put_shared(File& file, std::span<const std::byte> data, int64_t offset, IoCounters& counters);

// Transfer data between memory and the file, and update `counters`. put() writes all of `data`. get() fills
// `data` and returns the bytes read, fewer than requested only at the end of the file. write_segments()
// writes disjoint segments in as few requests as the file supports. Offsets are in bytes. Throw the errors of
// the file.
void write_segments(File& file, std::span<const Piece<const std::byte>> pieces, IoCounters& counters);
void put(File& file, std::span<const std::byte> data, int64_t offset, IoCounters& counters);
size_t get(File& file, std::span<std::byte> data, int64_t offset, IoCounters& counters);

}  // namespace sheaf::exchange
