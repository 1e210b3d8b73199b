// storage/stdio_handle: the real FILE* and descriptor that the API gives to a program for one physical file.
// The program may use fwrite and fread on the stream, write and read on the descriptor, and library calls in
// between. Each library call first determines the program's actual position, and leaves stream and descriptor
// at the same position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/export.hpp"
#include "base/non_copyable.hpp"
#include "storage/file.hpp"
#include "storage/system/posix_descriptor.hpp"

namespace sheaf {

// Owns a descriptor, with or without a stream on it; for a stream that writes, it owns a second descriptor.
// All positions are bytes from the start of the file. A program that changes from the stream to the
// descriptor without a library call in between must fflush, as usual. One thread at a time. Failures throw
// sheaf::Error with path and errno.
class SHEAF_EXPORT StdioHandle : private NonCopyable {
 public:
  // Opens a separate descriptor of `file` (File::descriptor), for reading and writing if `writable`, else for
  // reading. Never truncates. `file` may be closed afterwards.
  StdioHandle(File& file, bool writable, bool with_stream);
  ~StdioHandle() { release(); }  // silently closes what close() or forget() did not release

  FILE* stream() const { return own_; }  // nullptr if there is no stream; owned by this object
  FILE* stream_in_use() const { return second_ != nullptr ? second_ : own_; }
  int descriptor() const { return fd_; }  // -1 after close() and forget()

  // Returns the offset of the program's next transfer. Writes the stream's pending output and discards the
  // stream's read-ahead, so that the descriptor has the same offset.
  int64_t position();

  // Moves stream and descriptor to `position` and clears the stream's end-of-file and error flags. Keeps the
  // error flag of the own stream if it writes, because the flag reports lost bytes to the program.
  void move_to(int64_t position);

  // Transfer bytes at the current position and advance the position. Use the stream in use or, without a
  // stream, the descriptor. Return fewer bytes than requested only at the end of the file (read) or after a
  // failure (see failed()).
  size_t write(std::span<const std::byte> data);
  size_t read(std::span<std::byte> data);

  // Gives the own stream a buffer of `bytes` bytes; 0 makes it unbuffered. No effect without a stream.
  void set_buffer(size_t bytes);

  void flush();  // passes pending output to the operating system and discards read-ahead
  void sync();   // flushes and waits until the bytes would survive a power failure

  // Returns the error flag of the stream in use. Without a stream, returns true if the last write() or read()
  // failed.
  bool failed() const;

  // Releases stream and descriptor. Throws if pending output is lost. Leaves a second stream to the program.
  void close();

  // Must be called if the program itself has closed the stream in use. Releases everything else that this
  // object owns. Returns the position of the stream if it was the own stream and writes. Otherwise returns
  // nothing, because the position is lost.
  std::optional<int64_t> forget();

  // Makes position, move_to, write, read and flush use a stream of the program, which need not have a
  // descriptor (e.g. a filter made with fopencookie). The program keeps the ownership; the stream must stay
  // open until use_own_stream() or close().
  void use_stream(FILE* second);

  // Returns to the own stream and descriptor, at the positions that they had before. Flushes the second
  // stream.
  void use_own_stream();
  FILE* second_stream() const { return second_; }

 private:
  void flush_own();
  int release();  // returns 0 or the errno
  size_t noted(const Moved& moved) {
    transfer_failed_ = moved.error != 0;
    return moved.bytes;
  }

  std::string path_;
  int fd_;
  // Duplicate of the descriptor of a stream that writes. It shares the position of the descriptor and stays
  // open when the program closes the stream.
  PosixDescriptor witness_;
  FILE* own_ = nullptr;
  FILE* second_ = nullptr;
  std::unique_ptr<char[]> buffer_;  // lives until the stream that uses it is closed
  bool transfer_failed_ = false;
};

}  // namespace sheaf
