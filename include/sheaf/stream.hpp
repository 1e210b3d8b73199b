// sheaf/stream: bytes of one task in an open multifile, for C++20. What the open calls of sheaf/multifile.hpp
// and sheaf/multifile_mpi.hpp return. Header-only, over the C interface; a stream and its handle may be
// mixed.
//
// A failing call throws sheaf::Error with the message of the library, which also goes to stderr unless
// sheaf_print_errors(0) was called. Streams move and do not copy. One thread at a time may use a stream.
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

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  // What the library last said in this thread.
  static Error last() { return Error(sheaf_last_error()); }
};

// What can be written as it lies in memory.
template <class T>
concept Record = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_array_v<T>;

namespace detail {

inline void require(bool good) {
  if (!good) throw Error::last();
}

inline std::string mode(const char* direction, const std::string& words) {
  return words.empty() ? direction : std::string(direction) + "," + words;
}

// A handle and the call that closes it. A collective one is not closed while an exception unwinds the stack,
// because the other tasks may not be on their way to close: it is given up, and what was written stays an
// unclosed file.
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
  // The handle, for the C interface. -1 once closed.
  int handle() const { return handle_.sid(); }
  bool is_open() const { return handle() >= 0; }

  // Closes; a writer's file is complete afterwards. Collective if the open was. Closing twice does nothing.
  // The destructor closes as well, but cannot tell of a failure.
  void close() { handle_.close(); }

  int files() const { return sion_get_number_of_files(handle()); }  // physical files
  std::int64_t position() const {
    return sion_get_position(handle());
  }  // bytes from the start of the physical file
  bool swapped() const {
    return sion_endianness_swap_needed(handle()) == 1;
  }  // the data are of another byte order

 protected:
  explicit Stream(detail::Handle handle) : handle_(std::move(handle)) {}

 private:
  detail::Handle handle_;
};

class OutputStream : public Stream {
 public:
  // Appends; all of it or an Error.
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

  // Makes sure that the next `bytes` bytes lie in one chunk.
  void ensure_free_space(std::int64_t bytes) {
    detail::require(sion_ensure_free_space(handle(), bytes) == SION_SUCCESS);
  }

  void flush() { detail::require(sion_flush(handle()) == SION_SUCCESS); }
  std::int64_t bytes_written() const { return sion_get_bytes_written(handle()); }

 protected:
  using Stream::Stream;
};

class InputStream : public Stream {
 public:
  // Reads whole records; fewer than asked for only at the end of the task. Returns how many.
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

  // One record; an Error at the end.
  template <Record T>
  T get() {
    T record;
    if (read(std::span<T, 1>(&record, 1)) != 1) throw Error("the stream ends before the record");
    return record;
  }

  // All whole records that are left.
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

  // True at the end of the task; at the end of a block, moves on to the next.
  bool at_end() { return sion_feof(handle()) != 0; }

  // Goes to a byte of the task's stream.
  void seek(std::int64_t offset) {
    detail::require(sion_seek(handle(), SION_CURRENT_RANK, SION_ABSOLUTE_POS, offset) == SION_SUCCESS);
  }
  std::int64_t tell() const { return sion_get_bytes_read(handle()); }
  std::int64_t available_in_block() const { return sion_bytes_avail_in_block(handle()); }

 protected:
  using Stream::Stream;

 private:
  // At least one: a record may go over the end of the block.
  template <class T>
  std::size_t records_in_block() const {
    const std::int64_t bytes = available_in_block();
    const std::int64_t records = bytes / static_cast<std::int64_t>(sizeof(T));
    return records > 0 ? static_cast<std::size_t>(records) : 1;
  }
};

}  // namespace v1
}  // namespace sheaf
