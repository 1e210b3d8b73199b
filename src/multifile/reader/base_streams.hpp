// multifile/reader/base_streams: reads the tasks of a multifile with names (docs/format.md, section 14.5) as
// streams.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "format/container.hpp"
#include "multifile/options/checking.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

class BaseStreams {
 public:
  // Opens the multifile `path`. Returns null if there is no such file, or if the multifile has no names and
  // was not made of containers. Throws what reading a multifile throws.
  static std::shared_ptr<const BaseStreams> open(Store& store, const std::string& path,
                                                 Checking checking = Checking::on);
  virtual ~BaseStreams() = default;

  virtual const std::vector<format::TaskName>& names() const = 0;  // names in task order
  virtual int64_t size(int64_t task) const = 0;                    // bytes
  // Returns the identities of the containers that were merged into this multifile. It has all of their
  // contents.
  virtual const std::vector<format::Identity>& taken() const = 0;
  virtual uint64_t origin() const = 0;  // short form of the multifile's identity
  // Reads from `offset` of the task's stream. Returns the number of bytes read, fewer only at the end of the
  // task.
  virtual size_t read(int64_t task, std::span<std::byte> data, int64_t offset) const = 0;
};

}  // namespace sheaf::multifile
