// collective/mover: a program's own way to bring bytes between the members of a group and its collector
// (generic interface, spec sion-api.md section 21: gather_and_execute, execute_and_scatter).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace sheaf {

class Mover {
 public:
  virtual ~Mover() = default;

  // Tasks first..last of a physical file; `first` collects.
  struct Members {
    int first = 0;
    int last = 0;
  };

  // Collective over the members. `data`, bytes of the file from `offset` on and maybe none, go from every
  // member but the collector to it, where `write` is called for each piece. Throws where the program's part
  // says that it has failed, and what `write` throws at the collector.
  using Write = std::function<void(std::span<const std::byte> data, int64_t offset)>;
  virtual void gather(std::span<const std::byte> data, int64_t offset, const Members& members,
                      const Write& write) = 0;

  // The reverse: `read` is called at the collector for each piece. An empty `data` wants nothing.
  using Read = std::function<void(std::span<std::byte> data, int64_t offset)>;
  virtual void scatter(std::span<std::byte> data, int64_t offset, const Members& members,
                       const Read& read) = 0;
};

}  // namespace sheaf
