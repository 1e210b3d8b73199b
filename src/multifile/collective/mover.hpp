// multifile/collective/mover: transfer, implemented by the program, of bytes between the members of a group
// and its collector (generic interface, spec sion-api.md section 21: gather_and_execute,
// execute_and_scatter).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace sheaf {

class Mover {
 public:
  virtual ~Mover() = default;

  // Tasks first..last of a physical file; `first` is the collector.
  struct Members {
    int first = 0;
    int last = 0;
  };

  // Collective over the members. Sends `data` of every member but the collector to the collector, which calls
  // `write` for each part. `data` belong at `offset` of the file and may be empty. Throws if the program's
  // code reports a failure, and what `write` throws at the collector.
  using Write = std::function<void(std::span<const std::byte> data, int64_t offset)>;
  virtual void gather(std::span<const std::byte> data, int64_t offset, const Members& members,
                      const Write& write) = 0;

  // Fills `data` of every member but the collector, which calls `read` for each part. An empty `data`
  // requests nothing.
  using Read = std::function<void(std::span<std::byte> data, int64_t offset)>;
  virtual void scatter(std::span<std::byte> data, int64_t offset, const Members& members,
                       const Read& read) = 0;
};

}  // namespace sheaf
