// streams/container/named_streams: the contents of a set at one time, computed from the records of its
// containers and from its multifile.
//
// The streams are those of the containers of the set, and those of the multifile NAME if it names its tasks.
// If both have a stream of the same name, the one in a container takes precedence. An object does not see
// later changes. No file is created or written, and no memory is shared with other processes. Memory: about
// 200 bytes plus the name per stream, and 32 bytes per piece. Threads: any.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/export.hpp"
#include "format/container.hpp"
#include "layout/piece_map.hpp"
#include "multifile/options/checking.hpp"
#include "multifile/reader/base_streams.hpp"
#include "storage/file.hpp"
#include "streams/container/sums/room_index.hpp"

namespace sheaf::streams {

// A file of a set: a container or the multifile.
struct SetSource {
  std::string path;
  std::shared_ptr<File> file = {};                          // of a container
  std::shared_ptr<const multifile::BaseStreams> base = {};  // of the multifile; null: a container
  format::Identity identity{};                              // of a container
  uint64_t origin = 0;                                      // the file's identifier in keys
  int64_t file_bytes = 0;                                   // size of the file
  int64_t streams = 0;  // number of streams that are empty or have their newest bytes here; from read_set()
  bool failed = false;  // a write failed, and no record reports it
  std::string damage = {};  // description of what cannot be read; empty if nothing
  std::string torn = {};    // description of what a killed program may have left; empty if nothing
  std::shared_ptr<const RoomIndex> sums = {};   // null: no checksums
  std::shared_ptr<CheckedBlocks> checked = {};  // null: checksums are not verified
};

// A stream of a set. Times are nanoseconds since 1970.
struct NamedStream {
  std::string name;       // empty: removed
  format::StreamKey key;  // container that created the stream, and the number in that container
  layout::PieceMap pieces = {};
  int64_t size = 0;       // bytes
  int64_t written = 0;    // time of the last write, or of setting the size
  int64_t stamped = 0;    // time at which the modification time was set
  int64_t stamp = 0;      // the modification time that was set
  int64_t changed = 0;    // time of the newest record
  int64_t named = 0;      // time of the last naming
  uint32_t mode = 0644;   // permissions
  bool here = false;      // the container of this host has records of this stream
  bool cut_off = false;   // some bytes lie beyond the end of their container
  int64_t elsewhere = 0;  // changes with each record in another container, and with a new multifile

  struct RecordedFailure {
    uint64_t container = 0;
    int64_t time = 0;
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  std::vector<RecordedFailure> failures = {};  // the first failed write per program that was not repeated

  // Returns the modification time; 0 if unknown.
  int64_t modified() const { return written > stamped ? written : stamp; }
};

// A check for changes of a set.
struct SetCheck {
  uint64_t number = 0;    // counts the checks of a SetReader from 1
  int64_t began = 0;      // nanoseconds since 1970
  int64_t monotonic = 0;  // the same by the monotonic clock of the host
};

// Returns the same as ContainerStream::next_data() or next_hole() for a stream of `size` bytes.
SHEAF_EXPORT std::optional<int64_t> next_in(const layout::PieceMap& pieces, int64_t size, Space what,
                                            int64_t offset);

struct SHEAF_EXPORT NamedStreams {
  std::vector<SetSource> sources;
  std::deque<NamedStream> all;  // includes removed streams
  std::unordered_map<std::string_view, NamedStream*> names;
  struct KeyHash {
    size_t operator()(const format::StreamKey& key) const {
      return key.number * 0x9e3779b97f4a7c15u ^ key.origin;
    }
  };
  std::unordered_map<format::StreamKey, NamedStream*, KeyHash> keys;
  std::vector<const NamedStream*> sorted;  // streams with names, sorted by name; filled by read_set()
  uint64_t own = 0;                        // origin of this host's container for which the set was read; or 0
  SetCheck check;                          // when reading began
  int64_t newest = 0;                      // largest time of a record
  uint64_t next_number = 1;                // first stream number that the container of this host has not used

  // Opens the set at `path`, or one container alone if `path` names a container. With `checked`, sources
  // also report findings that need a scan of all bytes after the records of the containers. Throws
  // `not_found` if there is neither a multifile nor a container, `damaged` for unreadable content, and
  // `unsupported` for a multifile without names and without containers.
  static std::shared_ptr<NamedStreams> open(Store& store, const std::string& path, bool checked = false,
                                            multifile::Checking checking = multifile::Checking::on);

  // Returns the streams with names, sorted by name.
  auto streams() const {
    return std::views::transform(sorted,
                                 [](const NamedStream* stream) -> const NamedStream& { return *stream; });
  }

  NamedStream* find(std::string_view name) const {  // null if there is none
    const auto found = names.find(name);
    return found == names.end() ? nullptr : found->second;
  }
  NamedStream* find(const format::StreamKey& key) const {
    const auto found = keys.find(key);
    return found == keys.end() ? nullptr : found->second;
  }

  // Reads as ContainerStream::read() does, and verifies the available checksums. Throws `damaged` on a
  // mismatch, and if bytes lie beyond the end of their container.
  size_t read(const NamedStream& stream, std::span<std::byte> data, int64_t offset) const;
  // Does the same as read(), but bytes beyond the end of their container are zero. Verifies no checksums if
  // `checking` is off.
  size_t read_pieces(const NamedStream& stream, std::span<std::byte> data, int64_t offset,
                     multifile::Checking checking = multifile::Checking::on) const;
};

// Fills `data` from the start of a piece; `data` must not exceed the piece. Bytes beyond the end of the file
// are zero. Throws SumMismatch if bytes of a container do not match their checksum, unless `checking` is off.
void read_piece(const SetSource& source, const layout::StreamPiece& piece, std::span<std::byte> data,
                multifile::Checking checking = multifile::Checking::on);

}  // namespace sheaf::streams
