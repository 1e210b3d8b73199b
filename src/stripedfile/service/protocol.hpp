// stripedfile/service/protocol: what compute tasks and I/O listeners say to each other.
//
// A request is one message: a head and, for writes, the bytes of all its extents one behind the other. The
// answer is one message: a head of fixed size, of which only the used part travels, and for reads the bytes.
// Where the task's memory can be lent (process/lent_memory.hpp), a request says instead where in it the bytes
// are, or go to, and no bytes travel. Numbers are in the byte order of the machine, since both sides are
// tasks of one MPI program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "exchange/pieces/extent.hpp"
#include "layout/run.hpp"
#include "process/lent_memory.hpp"

namespace sheaf::sfio {

using exchange::Extent;

enum class Kind : int32_t {
  look,    // path: what is there? -> values exists, has identity, size, block size, allocated, is directory;
           // identity
  open,    // path, identity wanted, values {mode, is the file id a suggestion} -> values {handle}; identity
  commit,  // handle, values {all subfiles have been made}
  size,    // handle -> values {bytes of the subfile, block size, allocated}
  resize,  // handle, values {bytes}
  sync,    // handle
  close,  // handle, values {logical size, -1: not known; 1: the open has failed, what it made goes} -> values
          // {it did not}
  write,  // sections, data
  read,   // sections -> values {bytes missing}, data
  remove,       // path -> values {was there}
  rename,       // path, more: new path
  lock,         // handle, values {offset, length}: exclusive -> values {got it}
  lock_shared,  // the same, shared with others who share
  unlock,       // handle, values {offset, length} as locked
  errors,       // -> values: error counts since the last time
  bye,          // the session ends
};

enum class OpenMode : int64_t {
  read,   // must exist
  write,  // must exist
  make,   // made if missing
  fresh,  // must not exist
};

// Extents of one subfile.
struct Section {
  int64_t handle = 0;
  std::vector<Extent> extents;
};

// Pieces of lent memory.
using Place = layout::Run;

struct Request {
  Kind kind = Kind::look;
  int32_t answer_tag = 0;
  int64_t handle = 0;
  std::array<int64_t, 2> values{};
  std::string path{};
  std::string more{};
  std::vector<Section> sections{};
  LoanFacts loan{};             // if there are places: the memory that they are in
  std::vector<Place> places{};  // there, of the bytes of all extents, in their order
  std::string about{};          // the subfile's path, for messages of this task; does not travel
};

std::vector<std::byte> encode(const Request& request);

struct Decoded {
  Request request;
  std::span<const std::byte> data;  // what follows the head
};
// Nothing if the bytes are no request: a length or count that they do not hold, or an unknown kind.
std::optional<Decoded> decode(std::span<const std::byte> message);

// Kinds of operating-system calls whose errors are counted, in the order of merror (SFIO paper, section 3).
enum class Counted : uint8_t { open, close, creat, unlink, ftruncate, lseek, write, read };
inline constexpr size_t counted_kinds = 8;
using ErrorCounts = std::array<int64_t, counted_kinds>;

struct Answer {
  // sheaf::Code; ok: values and text are what the request asked for. Else text is the message, and values
  // {something is left of what was made and could not be removed, 1, 1 if the listener counts the error};
  // without an answer, {0, 0}.
  int32_t code = 0;
  int32_t errno_value = 0;
  std::array<int64_t, counted_kinds> values{};
  int32_t text_length = 0;
  int32_t out_of_reach = 0;  // 1: the lent memory cannot be had, nothing was done: the bytes have to travel
  std::array<char, 432> text{};

  void set_text(std::string_view words);  // cut to what there is room for
  std::string_view words() const { return {text.data(), static_cast<size_t>(text_length)}; }

  // Bytes that travel if nothing follows.
  int64_t used() const { return static_cast<int64_t>(sizeof(Answer) - text.size()) + text_length; }
};
static_assert(sizeof(Answer) == 512);

Answer answer_of(const Error& error);

}  // namespace sheaf::sfio
