// api/sfio/file: what an MFILE is.
#pragma once

#include <memory>
#include <vector>

#include "api/sfio/exported.hpp"
#include "api/sfio/runtime.hpp"
#include "stripedfile/striped_file.hpp"

struct sfio_file {
  sheaf::sfio::Runtime* session;
  std::unique_ptr<sheaf::sfio::StripedFile> file;
};

namespace sheaf::sfio {

// The file behind a handle. Throws invalid_argument if there is none, or its session has ended.
inline StripedFile& file_of(MFILE* f) {
  if (!f) throw Error(Code::invalid_argument, "no file (MFILE is NULL)");
  if (f->session != Runtime::current())
    throw Error(Code::wrong_mode, "'" + f->file->name() + "': its session has ended");
  return *f->file;
}

inline Block block_of(int64_t offset, const void* buffer, size_t size) {
  if (!buffer && size > 0) throw Error(Code::invalid_argument, "no buffer (NULL)");
  return {offset, static_cast<std::byte*>(const_cast<void*>(buffer)), static_cast<int64_t>(size)};
}

// The list of a call with several blocks.
template <class Buffer>
std::vector<Block> blocks_of(unsigned count, const int64_t* offsets, Buffer* const* buffers,
                             const size_t* sizes) {
  if (count > 0 && (!offsets || !buffers || !sizes))
    throw Error(Code::invalid_argument, "no list of blocks (NULL)");
  std::vector<Block> blocks;
  for (unsigned i = 0; i < count; ++i) blocks.push_back(block_of(offsets[i], buffers[i], sizes[i]));
  return blocks;
}

}  // namespace sheaf::sfio
