#include "streams/container/named_streams.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "storage/store.hpp"
#include "streams/container/container_names.hpp"
#include "streams/container/replay.hpp"

namespace sheaf::streams {

using multifile::Checking;

std::shared_ptr<NamedStreams> NamedStreams::open(Store& store, const std::string& path, bool checked,
                                                 Checking checking) {
  const bool alone = set_of_container(path) && store.status(path).exists;
  const std::vector<std::string> containers = alone ? std::vector{path} : containers_of(store, path);
  auto set =
      std::make_shared<NamedStreams>(read_set(store, containers, alone ? std::string() : path,
                                              {.lenient = true, .checked = checked, .checking = checking}));
  if (set->sources.empty() && containers.empty()) {
    if (!store.status(path).exists)
      throw file_error(Code::not_found, path, "there is neither a multifile nor a container of this name");
    throw file_error(Code::unsupported, path,
                     "is a multifile whose tasks have no names, and there is no container beside it");
  }
  return set;
}

std::optional<int64_t> next_in(const layout::PieceMap& pieces, int64_t size, Space what, int64_t offset) {
  if (offset < 0 || offset >= size) return std::nullopt;
  while (offset < size) {
    const layout::PieceMap::PieceOrGap at = pieces.at(offset);
    if (at.found == (what == Space::data)) return offset;
    offset = at.piece.length > size - offset ? size : offset + at.piece.length;
  }
  return what == Space::data ? std::nullopt : std::optional(size);
}

void read_piece(const SetSource& source, const layout::StreamPiece& piece, std::span<std::byte> data,
                Checking checking) {
  if (source.sums && source.checked && checking == Checking::on) {
    for (int64_t at = piece.place; !data.empty();) {
      const RoomIndex::RoomSums found = source.sums->find(at);
      const auto part = data.first(static_cast<size_t>(std::min(std::ssize(data), found.end - at)));
      read_checked(*source.file, found.sums, part, at, *source.checked);
      at += std::ssize(part);
      data = data.subspan(part.size());
    }
    return;
  }
  const size_t got = source.base ? source.base->read(piece.task, data, piece.place)
                                 : source.file->read_at(data, piece.place);
  std::memset(data.data() + got, 0, data.size() - got);
}

size_t NamedStreams::read_pieces(const NamedStream& stream, std::span<std::byte> data, int64_t offset,
                                 Checking checking) const {
  if (offset >= stream.size) return 0;
  const auto wanted = std::min(std::ssize(data), stream.size - offset);
  for (int64_t done = 0; done < wanted;) {
    const layout::PieceMap::PieceOrGap at = stream.pieces.at(offset + done);
    const auto count = static_cast<size_t>(std::min(wanted - done, at.piece.length));
    const auto part = data.subspan(static_cast<size_t>(done), count);
    if (!at.found) {
      std::memset(part.data(), 0, part.size());
    } else {
      try {
        read_piece(sources[at.piece.source], at.piece, part, checking);
      } catch (const SumMismatch& mismatch) {
        mismatch.refuse(stream.name, offset + done + mismatch.place - at.piece.place);
      }
    }
    done += static_cast<int64_t>(count);
  }
  return static_cast<size_t>(wanted);
}

size_t NamedStreams::read(const NamedStream& stream, std::span<std::byte> data, int64_t offset) const {
  if (offset < 0) throw Error(Code::invalid_argument, "there is no offset below 0 in '" + stream.name + "'");
  if (!stream.cut_off) return read_pieces(stream, data, offset);
  const int64_t stop = offset + std::min(std::ssize(data), stream.size - offset);
  for (const auto& [begin, piece] : stream.pieces.all()) {
    const SetSource& source = sources[piece.source];
    const int64_t end = std::min(stop, begin + piece.length);
    if (!source.base && std::max(begin, offset) < end && piece.place + (end - begin) > source.file_bytes)
      throw file_error(Code::damaged, source.path, "it ends before bytes of '" + stream.name + "'");
  }
  return read_pieces(stream, data, offset);
}

}  // namespace sheaf::streams
