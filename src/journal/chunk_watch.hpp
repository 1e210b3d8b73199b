// journal/chunk_watch: who has to know of a chunk before anything is written there.
#pragma once

#include <cstdint>

namespace sheaf {

class ChunkWatch {
 public:
  // Bytes of the physical file from `offset` on are about to be written, maybe not through the library.
  // Throws if they must not be.
  virtual void before_writing(int64_t offset) = 0;

 protected:
  ~ChunkWatch() = default;
};

}  // namespace sheaf
