// api/sion/handles/plain_stream: a FILE* that passes its bytes through the library. They cross chunk
// boundaries, are compressed and checksummed like those of the library's own calls, and are ordered with
// them. It is not a stream of the physical file. Programs get one if they request it (open mode
// fileptr=stream), and for compressed multifiles, because their physical files hold frames.
//
// Output is unbuffered unless the program sets a buffer: each fprintf reaches the library at once as one
// request. An output stream stays at the end; an input stream may seek anywhere in its task. Positions are
// those in the stream of the task; without the word fileptr=stream they are those of sion_get_position.
#pragma once

#include <cstdio>

#include "base/non_copyable.hpp"

namespace sheaf::api {

class Handle;

class PlainStream : private NonCopyable {
 public:
  // `handle` must outlive the object. Throws io if memory is exhausted.
  explicit PlainStream(Handle& handle);
  // Closes the stream unless the program has closed it.
  ~PlainStream();

  FILE* stream() const { return stream_; }
  bool open() const;  // whether the program has not closed it

  // Synchronizes the library with the position of the program: writes what stdio has buffered and returns
  // what it has read ahead. Throws if the library rejects the bytes, which stdio no longer holds then. The
  // close then fails unless the program can repeat them and does so (Writer::append).
  void settle();
  // Discards the cached state of the stream, including end of file, after the library has moved. The error
  // indicator of an output stream remains.
  void moved();

 private:
  FILE* stream_ = nullptr;
  struct Link;
  Link* link_;  // target of the stream's callbacks; lives until both are destroyed
};

}  // namespace sheaf::api
