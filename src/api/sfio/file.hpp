// api/sfio/file: what an MFILE is.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "api/sfio/exported.hpp"
#include "api/sfio/runtime.hpp"
#include "comm/agree.hpp"
#include "exchange/transfer/unwritten.hpp"
#include "stripedfile/striped_file.hpp"

struct sfio_file {
  int64_t session;  // its number
  std::shared_ptr<sheaf::sfio::StripedFile> file;
  std::set<sfio_request*> under_way{};          // under the link's lock
  sheaf::exchange::UnwrittenBytes unwritten{};  // of this task
};

struct sfio_request {
  int64_t session;
  sheaf::sfio::Direction direction;
  sfio_file* of;  // null once that is closed
  std::shared_ptr<sheaf::sfio::StripedFile> file;
  std::vector<sheaf::sfio::Block> blocks;
  std::unique_ptr<sheaf::sfio::Operation> operation{};
  std::optional<int64_t> transferred{};  // bytes, at the end

  // Waits for the end, once. Throws the first error, each time.
  int64_t finish();
};

namespace sheaf::sfio {

// The session of that number. Throws wrong_mode if it has ended.
inline Runtime& session_of(int64_t number, const std::string& what) {
  Runtime* const current = Runtime::current();
  if (!current || current->number() != number)
    throw Error(Code::wrong_mode, what + ": its session has ended");
  return *current;
}

// Registers open files, so that a closed handle is an error. Any thread.
MFILE* add_open_file(std::unique_ptr<sfio_file> file);  // releases ownership until the removal
std::unique_ptr<sfio_file> remove_open_file(MFILE* f);  // takes ownership; `f` must be open
bool is_open_file(const MFILE* f);

// The file behind a handle. Throws invalid_argument if there is none, wrong_mode if its session has ended.
inline StripedFile& file_of(MFILE* f) {
  if (!f) throw Error(Code::invalid_argument, "no file (MFILE is NULL)");
  if (!is_open_file(f)) throw Error(Code::invalid_argument, "the MFILE is closed or was never opened");
  session_of(f->session, "'" + f->file->name() + "'");
  return *f->file;
}

// Blocks that could not be written are missing until they have been.
inline void remember(sfio_file& f, const std::vector<Block>& blocks, const std::optional<Error>& failed) {
  for (const Block& block : blocks) {
    if (failed)
      f.unwritten.add(block.offset, block.length, *failed);
    else
      f.unwritten.remove(block.offset, block.length);
  }
}

// What transfer() returns, which writes `blocks`; remembered also if it throws.
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

// The list of blocks of a call; one with a single block has a list of one.
template <class Buffer>
std::vector<Block> blocks_of(unsigned count, const int64_t* offsets, Buffer* const* buffers,
                             const size_t* sizes) {
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

}  // namespace sheaf::sfio
