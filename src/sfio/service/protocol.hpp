// sfio/service/protocol: the messages between compute tasks and I/O listeners.
//
// A request is one message: a head and, for writes, the concatenated bytes of all its extents. The answer is
// one message: a head of fixed size, of which only the used part is sent, and for reads the bytes. If the
// task's memory can be lent (base/os/lent_memory.hpp), the message carries no data: the request lists the
// places in that memory that the listener reads or writes. Lists of extents and places are in the code of
// layout/extent_code. Other numbers are in the host's byte order, since both sides are tasks of one MPI
// program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/extent.hpp"
#include "base/os/lent_memory.hpp"
#include "layout/run.hpp"

namespace sheaf::sfio {

// Kinds of requests. The notes have the form: arguments -> results in the answer.
enum class RequestKind : int32_t {
  // path -> values {exists, has identity, size, block size, allocated, is directory}; identity
  status,
  open,    // path, identity wanted, values {mode, is the file id a suggestion} -> values {handle}; identity
  commit,  // handle, values {all subfiles have been made}
  size,    // handle -> values {bytes of the subfile, block size, allocated}
  resize,  // handle, values {bytes}
  sync,    // handle
  // handle, values {logical size, -1: unknown; 1: the open has failed, remove the created files} -> values
  // {a created file could not be removed}
  close,
  write,        // sections, data
  read,         // sections -> values {bytes missing}, data
  remove,       // path -> values {existed}
  rename,       // path, more: new path
  lock,         // handle, values {offset, length}: exclusive -> values {acquired}
  lock_shared,  // likewise, shared with other shared locks
  unlock,       // handle, values {offset, length} as locked
  errors,       // -> values: error counts since the last query
  disconnect,   // end of the session
};

enum class SubfileOpenMode : int64_t {
  read,    // must exist
  write,   // must exist
  create,  // created if missing
  fresh,   // must not exist
};
constexpr bool may_create(SubfileOpenMode mode) {
  return mode == SubfileOpenMode::create || mode == SubfileOpenMode::fresh;
}

// Extents of one subfile.
struct SubfileExtents {
  int64_t handle = 0;
  std::vector<Extent> extents;
};

// Runs of lent memory.
using LentRun = layout::Run;

struct Request {
  RequestKind kind = RequestKind::status;
  int32_t answer_tag = 0;
  int64_t handle = 0;
  std::array<int64_t, 2> values{};
  std::string path{};
  std::string more{};
  std::vector<SubfileExtents> sections{};
  LoanFacts loan{};               // memory that contains the places, if there are any
  std::vector<LentRun> places{};  // places of the bytes of all extents, in their order
  std::string about{};            // path of the subfile, for messages of this task; not sent
};

std::vector<std::byte> encode(const Request& request);

struct Decoded {
  Request request;
  std::span<const std::byte> data;  // bytes that follow the head
};
// Parses a request. Returns nothing if the message is shorter than its lengths or counts say, has an invalid
// list of extents or more than max_extents extents, or has an unknown kind.
std::optional<Decoded> decode(std::span<const std::byte> message);

// System calls with counted errors, in the order of merror (SFIO paper, section 3).
enum class Counted : uint8_t { open, close, creat, unlink, ftruncate, lseek, write, read };
inline constexpr size_t counted_kinds = 8;
using ErrorCounts = std::array<int64_t, counted_kinds>;

struct Answer {
  // A sheaf::Code. If it is ok, `values` and `text` are the results of the request. Otherwise `text` is the
  // error message, and `values` are {a created file could not be removed, 1, 1 if the listener counts the
  // error}, or {0, 0} if no answer arrived.
  int32_t code = 0;
  int32_t errno_value = 0;
  std::array<int64_t, counted_kinds> values{};
  int32_t text_length = 0;
  int32_t out_of_reach = 0;  // 1: the listener cannot reach the lent memory and has done nothing; the task
                             // must resend with the data
  std::array<char, 432> text{};

  void set_text(std::string_view words);  // truncated to the size of `text`
  std::string_view words() const { return {text.data(), static_cast<size_t>(text_length)}; }

  // Returns the bytes to send if no data follow.
  int64_t used() const { return static_cast<int64_t>(sizeof(Answer) - text.size()) + text_length; }
};
static_assert(sizeof(Answer) == 512);

Answer answer_of(const Error& error);

}  // namespace sheaf::sfio
