// api/sion/plain_stream: the FILE* of a handle whose streams are compressed. What the program reads and writes there goes
// through the handle, in its order with the library's calls; it is no stream of the physical file, whose bytes are frames.
//
// Not buffered unless the program asks for it. Positions are those of the uncompressed multifile (sion_get_position); a
// program that reads may go to any of its task, one that writes stays at the end.
#pragma once

#include <cstdio>

namespace sheaf::api {

class Handle;

class PlainStream {
 public:
  // `handle` outlives the object. Throws io if there is no memory.
  explicit PlainStream(Handle& handle);
  // Closes the stream unless the program has done so.
  ~PlainStream();
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

  FILE* stream() const { return stream_; }
  void flush();  // what the program has made it buffer

 private:
  FILE* stream_ = nullptr;
  struct Link;
  Link* link_;  // what the stream calls; lives until both are gone
};

}  // namespace sheaf::api
