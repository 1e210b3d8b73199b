// set/appended_file: a complete physical file to which somebody appends.
//
// The block table lies where the next round of chunks would begin. As long as nobody needs that round the
// file stays complete, with the table it has; the first task that does marks it as unclosed before its first
// byte goes there, as a file of which only its journal can tell. Every task marks for itself, so tasks need
// not talk to each other.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include "format/header.hpp"
#include "format/journal.hpp"
#include "journal/chunk_watch.hpp"
#include "storage/decorators/forwarding_file.hpp"

namespace sheaf {

class AppendedFile final : public ForwardingFile, public ChunkWatch {
 public:
  // `header` and `pointer` are those of the file. durable: the mark is on disk before anything is
  // overwritten.
  AppendedFile(std::shared_ptr<File> inner, const format::Header& header, const format::Pointer& pointer,
               bool durable)
      : ForwardingFile(std::move(inner)),
        mark_(header.pointer_offset()),
        table_(pointer.varheader),
        durable_(durable) {}

  // The pointer of a file of which only its journal can tell.
  static std::array<std::byte, format::pointer_size> unclosed() {
    std::array<std::byte, format::pointer_size> pointer{};
    std::ranges::copy(format::journal_mark, pointer.begin());
    return pointer;
  }

  void before_writing(int64_t offset) override {
    if (marked_ || offset < table_) return;
    inner().write_at(unclosed(), mark_);
    if (durable_) inner().sync();
    marked_ = true;
  }

  FileDescriptor descriptor(Whose whose) override { return inner().descriptor(whose); }

 private:
  int64_t mark_;
  int64_t table_;
  bool durable_;
  bool marked_ = false;
};

}  // namespace sheaf
