// storage/stdio_handle: the real FILE* and descriptor that the API hands to a program for one physical file.
// The program may fwrite and fread on the stream, write and read on the descriptor, and call the library in
// between: each library call first finds out where the program really is, and leaves both routes at the same
// place.
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

// One descriptor of its own, with or without a stream on it (to write a stream, two). All positions are bytes
// from the start of the file. A program that changes from the stream to the descriptor without a library call
// in between has to fflush, as ever. One thread at a time. Failures throw sheaf::Error with path and errno.
class SHEAF_EXPORT StdioHandle : private NonCopyable {
 public:
  // Opens `file` again (File::open_again), for reading and writing if `writable`; never truncates. Needs it
  // no longer.
  StdioHandle(File& file, bool writable, bool with_stream);
  ~StdioHandle() { release(); }  // closes silently what close() or forget() did not release

  FILE* stream() const { return own_; }  // nullptr if there is none; owned by this object
  FILE* stream_in_use() const { return second_ != nullptr ? second_ : own_; }
  int descriptor() const { return fd_; }  // -1 after close() and forget()

  // Where the program's next byte goes or comes from. Pending output of the stream is written, read-ahead is
  // given back, so the descriptor is there too.
  int64_t position();

  // Moves stream and descriptor to `position`, and clears the stream's end-of-file and error marks. The error
  // mark of an own stream to write stays: it tells the program that bytes are lost.
  void move_to(int64_t position);

  // Transfers at the position, through the stream in use, or the descriptor if there is none; moves the
  // position. Fewer bytes than asked for are returned only at the end of the file (read) or after a failure
  // (see failed()).
  size_t write(std::span<const std::byte> data);
  size_t read(std::span<std::byte> data);

  // Gives the own stream a buffer of `bytes`; 0 makes it unbuffered. Nothing happens without a stream.
  void set_buffer(size_t bytes);

  void flush();  // hands pending output to the operating system, and gives back what was read ahead
  void sync();   // flush, and wait until it would survive a loss of power

  // Whether the stream in use carries the error mark; without one, whether the last write() or read() failed.
  bool failed() const;

  // Releases stream and descriptor; throws if pending output is lost. A second stream is left to the program.
  void close();

  // The program has closed the stream in use itself. Where that stood then, if it was our own one to write; a
  // second stream takes its position with it.
  std::optional<int64_t> forget();

  // Lets position, move_to, write, read and flush go through a stream of the program, which may lack a
  // descriptor (a filter made with fopencookie). It stays the program's and must stay open until
  // use_own_stream() or close().
  void use_stream(FILE* second);

  // Ends that; the own stream and descriptor are where they were before. Flushes the second stream.
  void use_own_stream();
  FILE* second_stream() const { return second_; }

 private:
  void flush_own();
  int release();  // 0, or the errno
  size_t noted(const Moved& moved) {
    transfer_failed_ = moved.error != 0;
    return moved.bytes;
  }

  std::string path_;
  int fd_;
  // Of a stream to write: shares its position, and is still there when the program has closed it.
  Descriptor witness_;
  FILE* own_ = nullptr;
  FILE* second_ = nullptr;
  std::unique_ptr<char[]> buffer_;  // lives until the stream on it is closed
  bool transfer_failed_ = false;
};

}  // namespace sheaf
