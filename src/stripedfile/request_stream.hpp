// stripedfile/request_stream: the requests of one call, by I/O listener and subfile, cut into messages that
// fit the listener's buffer (SFIO paper, section 2: mrw, the two-dimensional request cache, mkbset).
//
// Only offsets and addresses are kept, never data. Requests that are consecutive in a subfile become one. A
// block costs the same however many stripe units it has.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/messages.hpp"
#include "layout/stripes.hpp"
#include "stripedfile/blocks.hpp"
#include "stripedfile/link.hpp"
#include "stripedfile/service/protocol.hpp"

namespace sheaf::sfio {

// Where the subfiles of an open striped file are.
struct SubfileHandle {
  int listener = 0;
  int64_t handle = 0;
  std::string path;  // for messages
};

// A question about an open one, without bytes.
inline Question about(const SubfileHandle& subfile, Kind kind, std::array<int64_t, 2> values = {}) {
  return {subfile.listener,
          {.kind = kind, .handle = subfile.handle, .values = values, .about = subfile.path}};
}

// One message to one listener.
struct Batch {
  std::vector<Section> sections;
  std::vector<MemoryRun> runs;  // the memory of all extents, in their order
  int64_t bytes = 0;
  std::string about;  // path of the first section's subfile
};

class RequestStreams {
 public:
  // blocks: sorted and disjoint (stripedfile/blocks.hpp).
  RequestStreams(const layout::Stripes& stripes, std::span<const SubfileHandle> subfiles,
                 std::vector<Block> blocks);

  // Numbers of the listeners that something goes to.
  const std::vector<int>& listeners() const { return listeners_; }

  // The next message to listeners()[i], of at most `room` bytes of data; without bytes when there is nothing
  // left.
  Batch next(size_t i, int64_t room);

 private:
  struct Row {  // requests to one subfile: blocks that touch it
    int subfile = 0;
    std::vector<size_t> blocks;
  };
  struct Stream {  // to one listener
    std::vector<Row> rows;
    size_t row = 0;
    size_t block = 0;  // in the row
    int64_t done = 0;  // bytes of that block's share
  };

  layout::Stripes stripes_;
  std::span<const SubfileHandle> subfiles_;
  std::vector<Block> blocks_;
  std::vector<int> listeners_;
  std::vector<Stream> streams_;
};

}  // namespace sheaf::sfio
