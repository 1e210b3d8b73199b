// multifile/journal/chunk_watch: an interface that is called before a chunk is written for the first time.
#pragma once

#include <cstdint>

namespace sheaf::multifile {

class ChunkWatch {
 public:
  // Called before bytes at or after `offset` of the physical file are written, by the library or by the
  // program itself. Throws if these bytes must not be written.
  virtual void before_writing(int64_t offset) = 0;

 protected:
  ~ChunkWatch() = default;
};

}  // namespace sheaf::multifile
