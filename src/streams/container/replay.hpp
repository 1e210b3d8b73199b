// streams/container/replay: computes the contents of a set from the records of all its containers and from
// its multifile (rules in docs/format.md, section 19).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "layout/piece_map.hpp"
#include "multifile/options/checking.hpp"
#include "multifile/reader/base_streams.hpp"
#include "streams/container/container_contents.hpp"
#include "streams/container/sums/room_index.hpp"

namespace sheaf::streams {

// A file of a set: a container or the multifile.
struct SetSource {
  std::string path;
  std::shared_ptr<File> file = {};                          // of a container
  std::shared_ptr<const multifile::BaseStreams> base = {};  // of the multifile
  format::Identity identity{};                              // of a container
  uint64_t origin = 0;                                      // the file's identifier in keys
  uint64_t changes = 0;
  int64_t file_bytes = 0;
  bool failed = false;  // a write failed, and no record reports it
  std::string damage = {};
  std::string torn = {};                        // as in ContainerFindings
  std::shared_ptr<const RoomIndex> sums = {};   // null: no checksums
  std::shared_ptr<CheckedBlocks> checked = {};  // null: checksums are not verified
};

struct ReplayedStream {
  std::string name;       // empty: removed
  format::StreamKey key;  // container that created the stream, and the number in that container
  layout::PieceMap pieces;
  int64_t size = 0;
  int64_t written = 0;  // time of the last write, or of setting the size
  int64_t stamped = 0;  // time at which the modification time was set
  int64_t stamp = 0;    // the modification time that was set
  int64_t changed = 0;  // time of the newest record
  int64_t named = 0;    // time of the last naming
  uint32_t mode = 0;
  bool here = false;      // the container of `own` has records of this stream
  bool cut_off = false;   // some bytes lie beyond the end of their container
  int64_t elsewhere = 0;  // changes with each record in another container, and with a new multifile

  struct RecordedFailure {
    uint64_t container = 0;
    int64_t time = 0;
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  std::vector<RecordedFailure> failures = {};  // the first failed write per program that was not repeated

  int64_t modified() const { return written > stamped ? written : stamp; }
};

struct SetContents {
  std::vector<SetSource> sources;
  std::deque<ReplayedStream> streams;  // includes removed streams
  std::unordered_map<std::string_view, ReplayedStream*> names;
  struct KeyHash {
    size_t operator()(const format::StreamKey& key) const {
      return key.number * 0x9e3779b97f4a7c15u ^ key.origin;
    }
  };
  std::unordered_map<format::StreamKey, ReplayedStream*, KeyHash> keys;
  int64_t read_at = 0;       // time at which reading began
  int64_t looked = 0;        // time at which reading began by the host's monotonic clock, nanoseconds
  int64_t newest = 0;        // largest time of a record
  uint64_t next_number = 1;  // first stream number that the container of `own` has not used

  ReplayedStream* find(std::string_view name) const {
    const auto found = names.find(name);
    return found == names.end() ? nullptr : found->second;
  }
  ReplayedStream* find(const format::StreamKey& key) const {
    const auto found = keys.find(key);
    return found == keys.end() ? nullptr : found->second;
  }
};

// Parameters for the verification of blocks of containers.
struct ReadsOfBlocks {
  multifile::Checking checking = multifile::Checking::on;
  bool served = false;  // bytes of other hosts arrive late from a server
};

// Options of read_set(), for readers outside of the hosts that write to the set.
struct SetReading {
  bool lenient = false;  // an unreadable container is reported as damage of its source instead of an error
  bool checked = false;  // also scan all bytes after the records
  multifile::Checking checking = multifile::Checking::on;
};

// Reads all containers and the multifile of a set. Ignores containers that are being created or that are
// removed during the call.
SetContents read_set(Store& store, const std::vector<std::string>& containers, const std::string& multifile,
                     const SetReading& reading);

// Reads a set repeatedly without reading known records again.
//
// Not thread-safe. After a failed call, the next call reads what is missing.
class SetReader {
 public:
  // `own`: path of the calling host's container.
  SetReader(Store& store, std::string path, std::string own, multifile::Checking checking);

  // Reads the new records of other hosts' containers, and a new multifile. Returns false if nothing has
  // changed since the last call of contents().
  bool look();
  bool has_containers() const { return !others_.empty(); }  // of other hosts
  bool has_others() const { return has_containers() || base_; }

  // Returns the contents as of the last look(). Unless `own` is 0, also reads the host's own container, with
  // records that its writers have not announced yet.
  SetContents contents(uint64_t own);

 private:
  struct KnownContainer {
    std::string path;
    std::optional<ContainerContents> contents = {};  // nullopt: being created
  };
  bool revalidate(KnownContainer& known, bool unsaid);
  bool look_for_containers(const std::vector<std::string>& paths);
  void look_for_base();

  Store& store_;
  const std::string path_;
  const ReadsOfBlocks reads_;
  KnownContainer own_;
  std::vector<KnownContainer> others_;  // sorted by path
  std::shared_ptr<const multifile::BaseStreams> base_;
  uint64_t base_seen_ = 0;              // size and number of the multifile; 0: none
  int64_t looked_at_ = 0, looked_ = 0;  // start of the last check, as in SetContents
  bool changed_ = true;
};

// Fills `data` from the start of a piece; `data` must not exceed the piece. Bytes beyond the end of the file
// are zero. Throws SumMismatch if bytes of a container do not match their checksum, unless `checking` is off.
void read_piece(const SetSource& source, const layout::StreamPiece& piece, std::span<std::byte> data,
                multifile::Checking checking = multifile::Checking::on);

// Fills `data` with the bytes of a stream at `offset`. Returns the number of bytes read. Throws `damaged` if
// bytes do not match their checksums, unless `checking` is off.
size_t read_pieces(const std::vector<SetSource>& sources, const ReplayedStream& stream,
                   std::span<std::byte> data, int64_t offset,
                   multifile::Checking checking = multifile::Checking::on);

}  // namespace sheaf::streams
