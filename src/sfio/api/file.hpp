// sfio/api/file: the types behind MFILE and sfio_request, and the table of open files.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <type_traits>
#include <vector>

#include "comm/agree.hpp"
#include "exchange/transfer/unwritten.hpp"
#include "sfio/api/exported.hpp"
#include "sfio/api/runtime.hpp"
#include "sfio/striped_file.hpp"

struct sfio_file {
  int64_t session;  // number of the session in which it was opened
  std::shared_ptr<sheaf::sfio::StripedFile> file;
  std::set<sfio_request*> under_way{};          // requests in flight; guarded by the lock of the link
  sheaf::exchange::UnwrittenBytes unwritten{};  // failed writes of this task
};

struct sfio_request {
  int64_t session;
  sheaf::sfio::Direction direction;
  sfio_file* of;  // null after the file is closed
  std::shared_ptr<sheaf::sfio::StripedFile> file;
  std::vector<sheaf::sfio::Block> blocks;
  std::unique_ptr<sheaf::sfio::Operation> operation{};
  std::optional<int64_t> transferred{};  // bytes, after completion

  // Waits until the transfer is complete. Returns the bytes transferred. Throws the first error of the
  // transfer, on every call.
  int64_t finish();
};

namespace sheaf::sfio {

// Returns session `number`. Throws wrong_mode if it has ended.
inline Runtime& session_of(int64_t number, const std::string& what) {
  Runtime* const current = Runtime::current();
  if (!current || current->number() != number)
    throw Error(Code::wrong_mode, what + ": its session has ended");
  return *current;
}

// The table of open files, by which a call detects a closed handle. Any thread may call the functions.
MFILE* add_open_file(std::unique_ptr<sfio_file> file);  // the table owns the file until its removal
std::unique_ptr<sfio_file> remove_open_file(MFILE* f);  // the caller owns the result; `f` must be open
bool is_open_file(const MFILE* f);

// Returns the file of the handle `f`. Throws invalid_argument if the handle is null or closed, and wrong_mode
// if its session has ended.
inline StripedFile& file_of(MFILE* f) {
  if (!f) throw Error(Code::invalid_argument, "no file (MFILE is NULL)");
  if (!is_open_file(f)) throw Error(Code::invalid_argument, "the MFILE is closed or was never opened");
  session_of(f->session, "'" + f->file->name() + "'");
  return *f->file;
}

// Records the blocks of a write: as missing if it failed with `failed`, otherwise as written and no longer
// missing.
inline void remember(sfio_file& f, const std::vector<Block>& blocks, const std::optional<Error>& failed) {
  for (const Block& block : blocks) {
    if (failed)
      f.unwritten.add(block.offset, block.length, *failed);
    else
      f.unwritten.remove(block.offset, block.length);
  }
}

// Runs part() of a write to `f`. If it runs out of memory before the blocks are recorded, the file records
// that it is incomplete.
template <class Part>
auto with_record(MFILE* f, Part&& part) {
  try {
    return part();
  } catch (const std::bad_alloc&) {
    if (is_open_file(f)) f->unwritten.add_unknown();
    throw;
  }
}

// Runs transfer(), which writes `blocks`, and returns its result. Records the blocks, also if transfer()
// throws.
template <class Transfer>
int64_t write_remembered(sfio_file& f, const std::vector<Block>& blocks, Transfer transfer) {
  f.file->check(blocks);
  int64_t written = 0;
  const auto failed = attempt([&] { written = transfer(); });
  remember(f, blocks, failed);
  if (failed) throw *failed;
  return written;
}

// Kind of operation under which merror() counts a failed transfer.
inline Counted kind_of(Direction direction) {
  return direction == Direction::write ? Counted::write : Counted::read;
}

// The blocks of a call, in its arrays. A call with a single block passes arrays of one element. `Buffer` is
// const in a write.
template <class Buffer>
struct BlockArrays {
  static constexpr Direction direction = std::is_const_v<Buffer> ? Direction::write : Direction::read;

  unsigned count;
  const int64_t* offsets;
  Buffer* const* buffers;
  const size_t* sizes;

  // Throws invalid_argument for missing arrays and buffers.
  std::vector<Block> blocks() const {
    if (count > 0 && (!offsets || !buffers || !sizes))
      throw Error(Code::invalid_argument, "no list of blocks (NULL)");
    std::vector<Block> blocks;
    blocks.reserve(count);
    for (unsigned i = 0; i < count; ++i) {
      if (!buffers[i] && sizes[i] > 0) throw Error(Code::invalid_argument, "no buffer (NULL)");
      auto* const memory = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(buffers[i])));
      blocks.push_back({offsets[i], memory, static_cast<int64_t>(sizes[i])});
    }
    return blocks;
  }
};
template <class Buffer>
BlockArrays(unsigned, const int64_t*, Buffer* const*, const size_t*) -> BlockArrays<Buffer>;

}  // namespace sheaf::sfio
