// set/base_streams: the tasks of a multifile that have names (docs/format.md, section 14.5), as
// streams.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "format/container.hpp"
#include "mode/checking.hpp"
#include "storage/file.hpp"

namespace sheaf {

class BaseStreams {
 public:
  // null: there is no such file, or a multifile that neither has names nor was made of containers. Throws
  // what reading a multifile throws.
  static std::shared_ptr<const BaseStreams> open(Store& store, const std::string& path,
                                                 Checking checking = Checking::on);
  virtual ~BaseStreams() = default;

  virtual const std::vector<format::TaskName>& names() const = 0;  // of the tasks, in their order
  virtual int64_t size(int64_t task) const = 0;                    // bytes
  // Containers that were taken in: they say nothing that is not here.
  virtual const std::vector<format::Identity>& taken() const = 0;
  virtual uint64_t origin() const = 0;  // its identity in short
  // Returns the bytes read: fewer at the end of the task.
  virtual size_t read(int64_t task, std::span<std::byte> data, int64_t offset) const = 0;
};

}  // namespace sheaf
