#include "exchange/pieces/access_list.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.hpp"

namespace sheaf::exchange {

namespace {

void read_fully(File& file, std::span<std::byte> memory, int64_t offset) {
  if (file.read_at(memory, offset) < memory.size())
    throw Error(Code::damaged, "'" + file.path() + "' ends before offset " +
                                   std::to_string(offset + std::ssize(memory)) + ", inside a task's block");
}

}  // namespace

void write_pieces(File& file, std::vector<Piece<const std::byte>> pieces) {
  std::vector<Piece<const std::byte>> sorted = pieces;
  std::ranges::stable_sort(sorted, {}, &Piece<const std::byte>::offset);
  const auto overlaps = [](const auto& piece, const auto& next) { return next.offset < piece.end(); };
  if (std::ranges::adjacent_find(sorted, overlaps) == sorted.end()) return file.write_pieces(sorted);
  for (const auto& piece : pieces) file.write_at(piece.memory, piece.offset);  // in list order
}

void read_pieces(File& file, std::vector<Piece<std::byte>> pieces, int64_t gap) {
  std::ranges::sort(pieces, {}, &Piece<std::byte>::offset);
  std::vector<std::byte> joined;
  for (size_t i = 0; i < pieces.size();) {
    const size_t first = i;
    int64_t end = pieces[i].end();
    for (++i; i < pieces.size(); ++i) {
      const int64_t longer = std::max(end, pieces[i].end());
      if (pieces[i].offset - end > gap || longer - pieces[first].offset > max_read_length) break;
      end = longer;
    }
    if (i == first + 1) {
      read_fully(file, pieces[first].memory, pieces[first].offset);
      continue;
    }
    joined.resize(static_cast<size_t>(end - pieces[first].offset));
    read_fully(file, joined, pieces[first].offset);
    for (size_t p = first; p < i; ++p)
      std::memcpy(pieces[p].memory.data(), joined.data() + (pieces[p].offset - pieces[first].offset),
                  pieces[p].memory.size());
  }
}

}  // namespace sheaf::exchange
