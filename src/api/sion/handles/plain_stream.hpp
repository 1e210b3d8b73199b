// api/sion/handles/plain_stream: a FILE* whose bytes go through the library: over chunk borders, compressed
// and checked as those of its own calls, and in one order with these. It is no stream of the physical file.
// Programs get one that ask for it (open mode fileptr=stream), and of compressed multifiles, whose physical
// files hold frames.
//
// Written, it is not buffered unless the program asks for it: what fprintf has made is with the library at
// once, as one request. One that writes stays at the end; one that reads may go to any place of its task.
// Positions are those in the stream of the task; without the word fileptr=stream those of sion_get_position.
#pragma once

#include <cstdio>

#include "base/non_copyable.hpp"

namespace sheaf::api {

class Handle;

class PlainStream : private NonCopyable {
 public:
  // `handle` outlives the object. Throws io if there is no memory.
  explicit PlainStream(Handle& handle);
  // Closes the stream unless the program has done so.
  ~PlainStream();

  FILE* stream() const { return stream_; }
  bool open() const;  // the program has not closed it

  // Brings the library where the program stands: what stdio has buffered is written, what it has read ahead
  // is given back. Throws if the library refuses these bytes, which stdio no longer has then: the close fails
  // unless the program repeats them, if that is possible (Writer::append).
  void settle();
  // The library has moved: what the stream remembers, the end of the file too, no longer holds. The error
  // mark of a stream to write stays.
  void moved();

 private:
  FILE* stream_ = nullptr;
  struct Link;
  Link* link_;  // what the stream calls; lives until both are gone
};

}  // namespace sheaf::api
