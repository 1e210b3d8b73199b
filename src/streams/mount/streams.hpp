// streams/mount/streams: the interface of a multifile for mounts: streams with names, sizes and random read
// access.
//
// The module `mount` maps names to streams: names and numbers of files and folders (streams/mount/tree), the
// streams themselves (streams/mount/multifile_streams), and their extended attributes. It calls multifile/
// and lower modules, and does not depend on FUSE; cli/mount/ builds the file system. Sizes and offsets are in
// bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/decorators/nearby_reads.hpp"

namespace sheaf::mount {

// An open stream. Thread-safe.
class ReadableStream {
 public:
  virtual ~ReadableStream() = default;
  virtual int64_t size() const = 0;
  // Fills `out` from `offset`. Returns the number of bytes read, fewer than requested only at the end. Throws
  // the errors of reading, `damaged` if bytes do not match their checksum.
  virtual size_t read_at(std::span<std::byte> out, int64_t offset) = 0;
};

struct StreamFacts {
  int64_t size = 0;      // bytes
  int64_t modified = 0;  // nanoseconds since 1970; 0: the time of the multifile
  uint32_t mode = 0;     // permissions; 0: those of the multifile
};

// Extended attributes: names without the prefix "user.sheaf.", and values as text.
using Attributes = std::vector<std::pair<std::string, std::string>>;

// The streams of one multifile, numbered from 0. Thread-safe. All functions throw the errors of reading the
// metadata.
class Streams {
 public:
  virtual ~Streams() = default;

  virtual int64_t count() const = 0;
  virtual int64_t bytes() const = 0;  // stored size of all streams
  // Returns the path of the file: folders and file name, separated by slashes.
  virtual std::string name(int64_t stream) const = 0;
  // Returns whether names are computed from stream numbers and contain no slash. If so, find() returns the
  // stream of a name, or nullopt if no stream has the name.
  virtual bool computes_names() const { return false; }
  virtual std::optional<int64_t> find(std::string_view /*name*/) const { return {}; }

  virtual StreamFacts facts(int64_t stream) = 0;
  // Returns whether all sizes are known without reading the streams. If not, listings omit the sizes.
  virtual bool knows_sizes() const = 0;
  virtual std::unique_ptr<ReadableStream> open(int64_t stream) = 0;

  // Makes reads of consecutive small streams read ahead in their files. Must be called before the first
  // open(). No effect by default.
  virtual void read_ahead(NearbyReads& /*reads*/) {}

  virtual Attributes attributes(int64_t stream) = 0;
  virtual Attributes attributes() = 0;  // of the multifile
};

}  // namespace sheaf::mount
