// unverified: the number of bytes in the streams of a set that no checksum of a container covers.
#pragma once

#include <string>

#include "streams/container/container_names.hpp"
#include "streams/container/replay.hpp"

namespace sheaf::test {

inline int64_t unverified_bytes(Store& store, const std::string& path) {
  const streams::NamedStreams set = streams::read_set(store, streams::containers_of(store, path), {}, {});
  int64_t missing = 0;
  for (const auto& [name, stream] : set.names)
    for (const auto& [offset, piece] : stream->pieces.all()) {
      const streams::SetSource& source = set.sources[piece.source];
      for (int64_t at = piece.place, end = piece.place + piece.length; at < end;) {
        const streams::BlockSums sums = source.sums ? source.sums->find(at).sums : streams::BlockSums{};
        const int64_t block = sums.room == 0 ? 0 : sums.block_at(at);
        const int64_t next = sums.room == 0 ? end : std::min(end, sums.place_of(block + 1));
        const int64_t covered =
            sums.room == 0 ? at : sums.place_of(block) + streams::read_sum(*source.file, sums, block).bytes;
        missing += next - std::clamp(covered, at, next);
        at = next;
      }
    }
  return missing;
}

}  // namespace sheaf::test
