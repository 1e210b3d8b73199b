// api/sion/handles/plain_stream: a FILE* that passes its bytes through the library, not a stream of the
// physical file. The bytes cross chunk boundaries, are compressed and checksummed like those of the library's
// own calls, and are stored in program order with them. Programs get such a stream if they request it (open
// mode fileptr=stream), and for compressed multifiles, because their physical files hold frames.
//
// Output is unbuffered unless the program sets a buffer, so each fprintf reaches the library at once as one
// request. An output stream always appends; an input stream may seek anywhere in the stream of its task. With
// the word fileptr=stream, positions are offsets in the stream of the task. Without it, they are those of
// sion_get_position.
#pragma once

#include <cstdio>

#include "base/non_copyable.hpp"

namespace sheaf::api {

class SionHandle;

class PlainStream : private NonCopyable {
 public:
  // `handle` must outlive the object. Throws io if memory is exhausted.
  explicit PlainStream(SionHandle& handle);
  // Closes the stream unless the program has closed it.
  ~PlainStream();

  FILE* stream() const { return stream_; }
  bool open() const;  // false after the program has closed the stream

  // Synchronizes the library with the position of the program. Writes the bytes that stdio has buffered, or
  // moves the library back by the bytes that stdio has read ahead. If the library rejects buffered bytes,
  // discards them from the stdio buffer and throws. The close then fails unless the program repeats the bytes
  // (Writer::append).
  void settle();
  // Discards the cached state of the stream, including end of file. Must be called after the library has
  // moved its position. The error indicator of an output stream remains.
  void moved();

 private:
  FILE* stream_ = nullptr;
  struct StreamCookie;
  StreamCookie* link_;  // target of the stream's callbacks; lives until both are destroyed
};

}  // namespace sheaf::api
