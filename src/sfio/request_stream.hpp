// sfio/request_stream: groups the requests of one call by I/O listener and subfile and cuts them into
// messages that fit the listener's buffer (SFIO paper, section 2: mrw, the two-dimensional request cache,
// mkbset).
//
// A stream holds offsets and addresses only, no data. It merges requests that are consecutive in a subfile.
// The cost of a block does not depend on its number of stripe units.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/messages.hpp"
#include "layout/stripes.hpp"
#include "sfio/blocks.hpp"
#include "sfio/link.hpp"
#include "sfio/service/protocol.hpp"

namespace sheaf::sfio {

// Location of a subfile of an open striped file.
struct SubfileHandle {
  int listener = 0;
  int64_t handle = 0;
  std::string path;  // for messages
};

// Returns a question of kind `kind` about an open subfile, without data.
inline Question about(const SubfileHandle& subfile, RequestKind kind, std::array<int64_t, 2> values = {}) {
  return {subfile.listener,
          {.kind = kind, .handle = subfile.handle, .values = values, .about = subfile.path}};
}

// One message to one listener.
struct Batch {
  std::vector<SubfileExtents> sections;
  std::vector<MemoryRun> runs;  // memory of all extents, in their order
  int64_t bytes = 0;
  std::string about;  // path of the first section's subfile
};

class RequestStreams {
 public:
  // `blocks` must be sorted and disjoint (sfio/blocks.hpp).
  RequestStreams(const layout::Stripes& stripes, std::span<const SubfileHandle> subfiles,
                 std::vector<Block> blocks);

  // Returns the numbers of the listeners that receive requests.
  const std::vector<int>& listeners() const { return listeners_; }

  // Returns the next message to listeners()[i], with at most `room` bytes of data. Returns a message of 0
  // bytes after the last one.
  Batch next(size_t i, int64_t room);

 private:
  struct SubfileRequests {  // requests to one subfile: the blocks that touch it
    int subfile = 0;
    std::vector<size_t> blocks;
  };
  struct ListenerRequests {  // requests to one listener
    std::vector<SubfileRequests> rows;
    size_t row = 0;
    size_t block = 0;  // index in the row
    int64_t done = 0;  // bytes of that block's share already returned
  };

  layout::Stripes stripes_;
  std::span<const SubfileHandle> subfiles_;
  std::vector<Block> blocks_;
  std::vector<int> listeners_;
  std::vector<ListenerRequests> streams_;
};

}  // namespace sheaf::sfio
