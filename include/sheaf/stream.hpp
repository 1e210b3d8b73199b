// sheaf/stream: the stream of one task in an open multifile, for C++20. The classes of sheaf/multifile.hpp
// and sheaf/multifile_mpi.hpp derive from the classes of this header. They call the C interface; a program
// may use both interfaces on one handle.
//
// A failing call throws sheaf::Error with the message of the library. The message also goes to stderr unless
// sheaf_print_errors(0) was called. Streams can be moved but not copied. Only one thread at a time may use a
// stream.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../sheaf.h"
#include "../sion_common.h"
#include "../sion_const.h"

namespace sheaf {
inline namespace v1 {

// Error of a failing call, with the message of the library.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  // Returns an Error with the message of the last failing call of this thread.
  static Error last() { return Error(sheaf_last_error()); }
};

// A type that can be written as its bytes in memory.
template <class T>
concept Record = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_array_v<T>;

namespace detail {

inline void require(bool good) {
  if (!good) throw Error::last();
}

inline std::string mode(const char* direction, const std::string& words) {
  return words.empty() ? direction : std::string(direction) + "," + words;
}

// Owns a handle and closes it with the matching call. While an exception unwinds the stack, the destructor
// does not close a collective handle, because the other tasks may never reach the close. The handle and the
// multifile then stay open.
class Handle {
 public:
  using Close = int (*)(int);
  Handle(int opened, Close closer, bool collective) : sid_(opened), close_(closer), collective_(collective) {
    require(sid_ >= 0);
  }
  Handle(Handle&& other) noexcept
      : sid_(std::exchange(other.sid_, -1)),
        close_(other.close_),
        collective_(other.collective_),
        exceptions_(other.exceptions_) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      leave();
      sid_ = std::exchange(other.sid_, -1);
      close_ = other.close_;
      collective_ = other.collective_;
      exceptions_ = other.exceptions_;
    }
    return *this;
  }
  ~Handle() { leave(); }

  int sid() const { return sid_; }
  int release() { return std::exchange(sid_, -1); }
  void close() {
    if (sid_ < 0) return;
    require(close_(std::exchange(sid_, -1)) == SION_SUCCESS);
  }

 private:
  void leave() noexcept {
    if (sid_ >= 0 && !(collective_ && std::uncaught_exceptions() > exceptions_))
      close_(std::exchange(sid_, -1));
  }

  int sid_;
  Close close_;
  bool collective_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace detail

// A multifile open in one direction.
class Stream {
 public:
  // Returns the handle for the C interface, or -1 after close().
  int handle() const { return handle_.sid(); }
  bool is_open() const { return handle() >= 0; }

  // Closes the multifile; the file of a writer is complete afterwards. The call is collective if the open was
  // collective. Repeated calls have no effect. The destructor closes as well, but ignores failures.
  void close() { handle_.close(); }

  // Returns the handle, which the caller must close, and behaves as after close() from now on.
  int release() { return handle_.release(); }

  // Returns the number of physical files.
  int files() const { return sion_get_number_of_files(handle()); }
  // Returns the offset in the physical file, in bytes.
  std::int64_t position() const { return sion_get_position(handle()); }
  // Returns true if the byte order of the data differs from that of this host.
  bool swapped() const { return sion_endianness_swap_needed(handle()) == 1; }

 protected:
  explicit Stream(detail::Handle handle) : handle_(std::move(handle)) {}

 private:
  detail::Handle handle_;
};

// The stream of one task of a multifile open for writing.
class OutputStream : public Stream {
 public:
  // Appends all records, or throws an Error and appends nothing.
  template <Record T, std::size_t N>
  void write(std::span<const T, N> records) {
    if (records.empty()) return;
    detail::require(sion_fwrite(records.data(), sizeof(T), records.size(), handle()) == records.size());
  }
  template <Record T, std::size_t N>
    requires(!std::is_const_v<T>)
  void write(std::span<T, N> records) {
    write(std::span<const T, N>(records));
  }
  template <Record T>
  void write(const std::vector<T>& records) {
    write(std::span<const T>(records));
  }
  template <Record T>
  void write(const T& record) {
    write(std::span<const T, 1>(&record, 1));
  }
  void write(std::string_view text) { write(std::span<const char>(text)); }

  // Ensures that the next `bytes` bytes are in one chunk; starts a new chunk if necessary.
  void ensure_free_space(std::int64_t bytes) {
    detail::require(sion_ensure_free_space(handle(), bytes) == SION_SUCCESS);
  }

  // Passes all data written so far to the operating system.
  void flush() { detail::require(sion_flush(handle()) == SION_SUCCESS); }
  // Returns the size of the task's stream in bytes.
  std::int64_t bytes_written() const { return sion_get_bytes_written(handle()); }

 protected:
  using Stream::Stream;
};

// The stream of one task of a multifile open for reading.
class InputStream : public Stream {
 public:
  // Reads whole records and returns their number, which is smaller than requested only at the end of the
  // task's stream. Throws an Error on failure.
  template <Record T, std::size_t N>
  std::size_t read(std::span<T, N> records) {
    const std::size_t found =
        records.empty() ? 0 : sion_fread(records.data(), sizeof(T), records.size(), handle());
    if (found < records.size() && !at_end())
      detail::require(sion_bytes_avail_in_block(handle()) < static_cast<long long>(sizeof(T)));
    return found;
  }
  template <Record T>
  std::size_t read(std::vector<T>& records) {
    return read(std::span<T>(records));
  }

  // Reads one record. Throws an Error at the end of the stream.
  template <Record T>
  T get() {
    T record;
    if (read(std::span<T, 1>(&record, 1)) != 1) throw Error("the stream ends before the record");
    return record;
  }

  // Reads all remaining whole records.
  template <Record T = std::byte>
  std::vector<T> rest() {
    std::vector<T> records;
    while (!at_end()) {
      const std::size_t before = records.size();
      records.resize(before + records_in_block<T>());
      const std::size_t found = read(std::span<T>(records).subspan(before));
      if (before + found < records.size()) {
        records.resize(before + found);
        break;
      }
    }
    return records;
  }

  // Returns true at the end of the task's stream. At the end of a block, advances to the next block.
  bool at_end() { return sion_feof(handle()) != 0; }

  // Moves to byte `offset` of the stream of the task.
  void seek(std::int64_t offset) {
    detail::require(sion_seek(handle(), SION_CURRENT_RANK, SION_ABSOLUTE_POS, offset) == SION_SUCCESS);
  }
  // Returns the offset in the stream of the task, in bytes.
  std::int64_t tell() const { return sion_get_bytes_read(handle()); }
  // Returns the number of unread bytes in the current block.
  std::int64_t available_in_block() const { return sion_bytes_avail_in_block(handle()); }

 protected:
  using Stream::Stream;

 private:
  // Returns the number of whole records left in the block, but at least 1, because a record may cross the end
  // of the block.
  template <class T>
  std::size_t records_in_block() const {
    const std::int64_t bytes = available_in_block();
    const std::int64_t records = bytes / static_cast<std::int64_t>(sizeof(T));
    return records > 0 ? static_cast<std::size_t>(records) : 1;
  }
};

}  // namespace v1
}  // namespace sheaf
