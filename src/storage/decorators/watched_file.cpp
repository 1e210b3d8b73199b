#include "storage/decorators/watched_file.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace sheaf {

size_t WatchedFile::read_at(std::span<std::byte> data, int64_t offset) {
  const size_t n = inner().read_at(data, offset);
  require(always_);
  return n;
}

void WatchedFile::read_pieces(std::span<const Piece<std::byte>> pieces) {
  inner().read_pieces(pieces);
  require(always_);
}

void WatchedFile::require_unchanged() {
  require(always_);
  require(on_damage_);
}

void WatchedFile::require(const WatchedBytes& bytes) {
  if (bytes.count == 0) return;
  std::array<std::byte, 16> found{};
  const auto there = std::span(found).first(bytes.count);
  if (inner().read_at(there, bytes.offset) == bytes.count &&
      std::ranges::equal(there, std::span(bytes.expected).first(bytes.count)))
    return;
  throw file_error(Code::foreign, path(),
                   "was changed by another program since it was opened here, so what is read now would not "
                   "belong to what was read before; open it again");
}

}  // namespace sheaf
