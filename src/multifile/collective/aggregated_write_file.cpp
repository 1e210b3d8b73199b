#include "multifile/collective/aggregated_write_file.hpp"

#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "exchange/pieces/access_list.hpp"
#include "storage/retries.hpp"

namespace sheaf::multifile {

AggregatedWriteFile::AggregatedWriteFile(Store& store, std::string path, std::shared_ptr<File> opened,
                                         std::shared_ptr<WriteSlots> slots,
                                         std::shared_ptr<BoundaryBlocks> boundary_blocks, uint64_t number)
    : LazyFile(store, std::move(path), std::move(opened)),
      slots_(std::move(slots)),
      boundary_blocks_(std::move(boundary_blocks)),
      number_(number) {
  if (file_) file_ = throttled(boundary_file(std::move(file_), boundary_blocks_), slots_);
}

namespace {

void write(File& file, const PendingExtents& held) {
  if (held.empty()) return;
  std::vector<Piece<const std::byte>> pieces;
  exchange::add_pieces(pieces, held.placed());
  exchange::write_pieces(file, std::move(pieces));
}

}  // namespace

void AggregatedWriteFile::write_held() {
  if (held_.empty()) return;
  if (only_collector_writes_)
    throw file_error(Code::wrong_mode, path_,
                     "is written by collectors for tasks of several hosts: " + std::to_string(held_.bytes()) +
                         " bytes are in the memory of this task until the next collective call; flush after "
                         "that, or close");
  write(real(), held_);
  held_.clear();
  if (before_) before_ = 0;
}

void AggregatedWriteFile::write_unconfirmed() {
  // Shipped bytes are kept: they are sent again if the collector could not write them.
  if (!shipped_.empty()) write(real(), shipped_);
  write_held();
}

std::shared_ptr<File> AggregatedWriteFile::open() {
  auto opened = open_with_retries(store_, path_, Access::write);
  require_number(*opened, number_);
  return throttled(boundary_file(std::move(opened), boundary_blocks_), slots_);
}

void AggregatedWriteFile::write_at(std::span<const std::byte> data, int64_t offset) {
  const int64_t bytes = std::ssize(data);
  if (capacity_ == 0) return real().write_at(data, offset);
  const bool fits = bytes <= capacity_ - held_.weight() - int64_t{sizeof(Extent)};
  if (everything_ || (!alone_ && bytes < direct_ && (before_ || fits))) return held_.append(data, offset);
  try {
    write_held();
    real().write_at(data, offset);
  } catch (...) {
    alone_ = true;
    throw;
  }
}

void AggregatedWriteFile::write_pieces(std::span<const Piece<const std::byte>> pieces) {
  if (capacity_ == 0) return real().write_pieces(pieces);
  for (const auto& [offset, bytes] : pieces)
    if (!bytes.empty()) write_at(bytes, offset);
}

void AggregatedWriteFile::sync() {
  write_unconfirmed();
  // Bytes that a collector of this host has written for this task are in the same file; this sync covers
  // them.
  if (file_ || capacity_ > 0) real().sync();
}

void AggregatedWriteFile::close() {
  capacity_ = 0;
  everything_ = only_collector_writes_ = false;
  held_.clear();
  shipped_.clear();
  LazyFile::close();
}

}  // namespace sheaf::multifile
