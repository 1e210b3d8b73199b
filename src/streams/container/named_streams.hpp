// streams/container/named_streams: read-only access to the streams of a set by name, for tools and mounts.
//
// The streams are those of the containers of the set, and those of the multifile NAME if it names its tasks.
// If both have a stream of the same name, the one in a container takes precedence. An object shows the state
// at open(); it does not see later changes. No file is created or written, and no memory is shared with other
// processes. Memory: about 200 bytes plus the name per stream, and 32 bytes per piece. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.hpp"
#include "multifile/options/checking.hpp"
#include "storage/file.hpp"

namespace sheaf::streams {

struct NamedStream {
  std::string name;
  int64_t size = 0;      // bytes
  int64_t modified = 0;  // nanoseconds since 1970; 0: unknown
  uint32_t mode = 0644;  // permissions
};

class SHEAF_EXPORT NamedStreams {
 public:
  // Opens the set at `path`, or one container alone if `path` names a container. With `checked`, origins()
  // also reports findings that need a scan of all bytes after the records of the containers. Throws
  // `not_found` if there is neither a multifile nor a container, `damaged` for unreadable content, and
  // `unsupported` for a multifile without names and without containers.
  static std::shared_ptr<const NamedStreams> open(Store& store, const std::string& path, bool checked = false,
                                                  multifile::Checking checking = multifile::Checking::on);

  virtual ~NamedStreams() = default;

  virtual const std::vector<NamedStream>& streams() const = 0;  // sorted by name
  virtual std::optional<size_t> find(std::string_view name) const = 0;

  // Reads as ContainerStream::read() does, and verifies the available checksums. Throws `damaged` on a
  // mismatch, and if bytes lie beyond the end of their container.
  virtual size_t read(size_t stream, std::span<std::byte> data, int64_t offset) const = 0;

  // Return the same as ContainerStream::next_data() and next_hole().
  virtual std::optional<int64_t> next_data(size_t stream, int64_t offset) const = 0;

  // A file of the set, described for users.
  struct Origin {
    std::string path;
    bool is_container = false;
    int64_t streams = 0;     // streams that are empty or have their newest bytes in this file
    int64_t file_bytes = 0;  // size of the file
    std::string damage;      // description of what cannot be read; empty if nothing
    std::string torn;        // description of what a killed program may have left; empty if nothing
  };
  virtual const std::vector<Origin>& origins() const = 0;
};

}  // namespace sheaf::streams
