// streams/container/stream_pieces: the places of the bytes of an open stream in the container of this host,
// and writes to them.
#pragma once

#include <cstdint>
#include <span>

#include "layout/piece_map.hpp"
#include "streams/container/host_container.hpp"

namespace sheaf::streams {

// Consecutive bytes of a stream to be read from one place.
struct StreamSegment {
  layout::StreamPiece piece;  // tag 0: zeros
  uint64_t origin = 0;        // as in SharedPiece
  BlockSums sums = {};        // for a piece of the container of this host
};

// The caller holds the lock of the stream, except for fetch().
class StreamPieces {
 public:
  // Both arguments must outlive the object.
  StreamPieces(HostContainer& container, SharedStream& stream)
      : container_(container), index_(container.index()), stream_(stream) {}

  // Copies what has changed since the last call. Must be called once under each lock before map(), plan() and
  // write().
  void look();
  const layout::PieceMap& map() const { return map_; }  // tag: the SharedPlace of the piece

  // Finds the places of `bytes` bytes at `offset`. Fills `segments` from the first on, and returns their
  // number. If there are too few, they cover the first of the bytes.
  size_t plan(int64_t offset, int64_t bytes, std::span<StreamSegment> segments);
  // Reads a segment; `data` has its length. Throws SumMismatch without the name of the stream.
  void fetch(const StreamSegment& segment, std::span<std::byte> data);

  // Writes all parts, `total` bytes, at `offset`. On return, and after an exception, `done` is the number of
  // bytes that are in the stream.
  void write(WriteParts parts, int64_t total, int64_t offset, int64_t& done);

  // Sets the modification time to the present. record_changes() then records it.
  void touch();
  // States that the modification time is in a record of the container.
  void note_stamped() { restamp_ = false; }
  // Writes the pending checksum, and records the pending growth and modification time.
  void record_changes();

 private:
  int64_t write_over(WriteParts parts, int64_t done, int64_t bytes, const layout::StreamPiece& piece);
  int64_t write_behind(WriteParts parts, int64_t done, int64_t bytes, int64_t offset);
  void write_new(WriteParts parts, int64_t done, int64_t bytes, int64_t offset, int64_t gap);
  void note_growth(SharedPlace piece);
  void has_written(int64_t end, int64_t time);

  HostContainer& container_;
  ContainerIndex& index_;
  SharedStream& stream_;
  layout::PieceMap map_;
  SharedPlace seen_ = 0;  // last piece in the map; 0: none
  uint64_t version_ = 0;  // SharedStream::version of the map
  uint64_t growth_ = 0;   // SharedStream::growth of the map
  bool restamp_ = false;  // the modification time is in no record yet
};

}  // namespace sheaf::streams
