// container/named_streams: the streams of a set under their names, for whoever only reads: tools, mounts.
//
// They come from the containers of the set, from the multifile NAME that names its tasks, or from both, what
// is in containers being newer. What is seen is what was there at the opening: a later opening sees more.
// Nothing is made and nothing is written; no memory is shared with anybody. Memory: about 200 bytes and its
// name for a stream, 32 bytes for each of its pieces. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.hpp"
#include "mode/checking.hpp"
#include "storage/file.hpp"

namespace sheaf {

struct NamedStream {
  std::string name;
  int64_t size = 0;      // bytes
  int64_t modified = 0;  // nanoseconds since 1970; 0: not known
  uint32_t mode = 0644;  // permissions
};

class SHEAF_EXPORT NamedStreams {
 public:
  // `path`: the name of the set, or one container, which then is seen alone. Throws not_found if there is
  // neither a multifile nor a container, damaged for what cannot be read, unsupported for a multifile without
  // names and no container beside it. checked: origins() tell also what only a look at all bytes behind the
  // records of containers finds.
  static std::shared_ptr<const NamedStreams> open(Store& store, const std::string& path, bool checked = false,
                                                  Checking checking = Checking::on);

  virtual ~NamedStreams() = default;

  virtual const std::vector<NamedStream>& streams() const = 0;  // sorted by name
  virtual std::optional<size_t> find(std::string_view name) const = 0;

  // As ContainerStream::read. Checksums are checked where there are any; throws damaged where bytes are
  // behind the end of their container.
  virtual size_t read(size_t stream, std::span<std::byte> data, int64_t offset) const = 0;

  // Offsets as in ContainerStream.
  virtual std::optional<int64_t> next_data(size_t stream, int64_t offset) const = 0;

  // What the set is made of, for people.
  struct Origin {
    std::string path;
    bool is_container = false;
    int64_t streams = 0;     // whose newest bytes, or none, are there
    int64_t file_bytes = 0;  // size of the file
    std::string damage;      // what of it cannot be read; empty: nothing
    std::string torn;        // the same, if a program may have left it so that was killed
  };
  virtual const std::vector<Origin>& origins() const = 0;
};

}  // namespace sheaf
