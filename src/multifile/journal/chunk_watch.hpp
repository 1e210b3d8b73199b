// multifile/journal/chunk_watch: a callback before a chunk is written for the first time.
#pragma once

#include <cstdint>

namespace sheaf {

class ChunkWatch {
 public:
  // Called before bytes of the physical file from `offset` on are written, possibly not through the library.
  // Throws if they must not be written.
  virtual void before_writing(int64_t offset) = 0;

 protected:
  ~ChunkWatch() = default;
};

}  // namespace sheaf
