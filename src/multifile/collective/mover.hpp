// multifile/collective/mover: an interface that a program implements to transfer bytes itself between the
// members of a group and the collector (generic interface, spec sion-api.md section 21: gather_and_execute,
// execute_and_scatter).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace sheaf::multifile {

class Mover {
 public:
  virtual ~Mover() = default;

  // The members of a group: tasks first..last of a physical file. `first` is the collector.
  struct Members {
    int first = 0;
    int last = 0;
  };

  // Sends `data` of every other member to the collector, which calls `write` for each part. Collective over
  // the members. `data` belongs at `offset` of the file and may be empty. Throws if the program's code
  // reports a failure. At the collector, also throws what `write` throws.
  using Write = std::function<void(std::span<const std::byte> data, int64_t offset)>;
  virtual void gather(std::span<const std::byte> data, int64_t offset, const Members& members,
                      const Write& write) = 0;

  // Fills `data` of every other member with the bytes at `offset` of the file. The collector calls `read` for
  // each part and sends the result. An empty `data` requests nothing. Collective; throws like gather().
  using Read = std::function<void(std::span<std::byte> data, int64_t offset)>;
  virtual void scatter(std::span<std::byte> data, int64_t offset, const Members& members,
                       const Read& read) = 0;
};

}  // namespace sheaf::multifile
