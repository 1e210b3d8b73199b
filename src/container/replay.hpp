// container/replay: what is in a set, from the records of all its containers and the multifile below them
// (docs/format.md, section 19, "What is there").
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "container/container_contents.hpp"
#include "container/sums/room_index.hpp"
#include "layout/piece_map.hpp"
#include "mode/checking.hpp"
#include "set/base_streams.hpp"

namespace sheaf {

// A container or the multifile of a set.
struct SetSource {
  std::string path;
  std::shared_ptr<File> file = {};               // of a container
  std::shared_ptr<const BaseStreams> base = {};  // else
  format::Identity identity{};                   // of a container
  uint64_t origin = 0;                           // what stands for it in keys
  uint64_t changes = 0;
  int64_t file_bytes = 0;
  bool failed = false;  // bytes that no record tells of could not be written
  std::string damage = {};
  std::string torn = {};                        // as in ContainerFindings
  std::shared_ptr<const RoomIndex> sums = {};   // null: it has no checksums
  std::shared_ptr<CheckedBlocks> checked = {};  // null: checksums are not compared
};

struct ReplayedStream {
  std::string name;       // empty: it was removed
  format::StreamKey key;  // where it was made, and its number there
  layout::PieceMap pieces;
  int64_t size = 0;
  int64_t written = 0;  // when, or when its size was set
  int64_t stamped = 0;  // when its time was set
  int64_t stamp = 0;    // to what
  int64_t changed = 0;  // newest record
  int64_t named = 0;    // when it got its name
  uint32_t mode = 0;
  bool here = false;      // the container of `own` has records of it
  bool cut_off = false;   // bytes of it are behind the end of their container
  int64_t elsewhere = 0;  // another number when others have another record of it, or another multifile has it

  struct Failure {
    uint64_t container = 0;
    int64_t time = 0;
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  std::vector<Failure> failures = {};  // writes that were not repeated, of each program the first

  int64_t modified() const { return written > stamped ? written : stamp; }
};

struct SetContents {
  std::vector<SetSource> sources;
  std::deque<ReplayedStream> streams;  // also those that were removed
  std::unordered_map<std::string_view, ReplayedStream*> names;
  struct KeyHash {
    size_t operator()(const format::StreamKey& key) const {
      return key.number * 0x9e3779b97f4a7c15u ^ key.origin;
    }
  };
  std::unordered_map<format::StreamKey, ReplayedStream*, KeyHash> keys;
  int64_t read_at = 0;       // when reading began
  int64_t looked = 0;        // the same by the steady clock of the host, in nanoseconds
  int64_t newest = 0;        // time of a record
  uint64_t next_number = 1;  // that the container of `own` has not used for a stream

  ReplayedStream* find(std::string_view name) const {
    const auto found = names.find(name);
    return found == names.end() ? nullptr : found->second;
  }
  ReplayedStream* find(const format::StreamKey& key) const {
    const auto found = keys.find(key);
    return found == keys.end() ? nullptr : found->second;
  }
};

// How blocks of containers are compared with their checksums.
struct ReadsOfBlocks {
  Checking checking = Checking::on;
  bool served = false;  // bytes of other hosts come late from a server
};

// For who takes no part in the set.
struct SetReading {
  bool lenient = false;  // a container that cannot be read is the damage of its source, else an error
  bool checked = false;  // also what only a look at all bytes behind the records finds
  Checking checking = Checking::on;
};

// Containers that are being made, or are removed meanwhile, are as if they were not there.
SetContents read_set(Store& store, const std::vector<std::string>& containers, const std::string& multifile,
                     const SetReading& reading);

// The same for who asks again and again: what is known of containers is not read again.
//
// Not thread-safe. What a failed call has not read the next one does.
class SetReader {
 public:
  // `own`: path of the container of the host that asks.
  SetReader(Store& store, std::string path, std::string own, Checking checking);

  // Reads what has come in the containers of others, and the multifile. False: nothing has since contents()
  // was called last.
  bool look();
  bool has_containers() const { return !others_.empty(); }  // of others
  bool has_others() const { return has_containers() || base_; }

  // With the container of `own`, unless that is 0, as it is now: also what nobody has closed.
  SetContents contents(uint64_t own);

 private:
  struct Known {
    std::string path;
    std::optional<ContainerContents> contents = {};  // nothing: it is being made
  };
  bool bring_up_to_date(Known& known, bool unsaid);
  bool look_for_containers(const std::vector<std::string>& paths);
  void look_for_base();

  Store& store_;
  const std::string path_;
  const ReadsOfBlocks reads_;
  Known own_;
  std::vector<Known> others_;  // by their paths
  std::shared_ptr<const BaseStreams> base_;
  uint64_t base_seen_ = 0;              // its size and number; 0: there is none
  int64_t looked_at_ = 0, looked_ = 0;  // when the last look began, as in SetContents
  bool changed_ = true;
};

// Reads the begin of a piece, at most what it has; zeros where its file ends before. Throws SumMismatch where
// bytes of a container do not match their checksum, unless `checking` is off.
void read_piece(const SetSource& source, const layout::StreamPiece& piece, std::span<std::byte> data,
                Checking checking = Checking::on);

// Fills `data` with the bytes of a stream at `offset`; returns how many there are. Throws damaged where they
// do not match their checksums, unless `checking` is off.
size_t read_pieces(const std::vector<SetSource>& sources, const ReplayedStream& stream,
                   std::span<std::byte> data, int64_t offset, Checking checking = Checking::on);

}  // namespace sheaf
