// set/appended_file: a complete physical file to which somebody appends.
//
// The block table lies where the next round of chunks would begin. As long as nobody needs that round the
// file stays complete, with the table it has; the first task that does marks it as unclosed before its first
// byte goes there, as a file of which only its journal can tell. Every task marks for itself, so tasks need
// not talk to each other. Neither do they in finding out that another program has taken the multifile over,
// which writes to the same file: every task looks before it writes.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "format/header.hpp"
#include "format/journal.hpp"
#include "journal/chunk_watch.hpp"
#include "journal/writing_right.hpp"
#include "storage/decorators/forwarding_file.hpp"

namespace sheaf {

class AppendedFile final : public ForwardingFile, public ChunkWatch {
 public:
  struct Marks {
    int64_t at = 0;                // where the file says that it is unclosed
    std::optional<int64_t> table;  // offset of its block table; nullopt: the file is marked already
    bool durable = false;          // the mark is on disk before anything is overwritten
  };
  // right: null where the multifile is written without a lease.
  AppendedFile(std::shared_ptr<File> inner, const Marks& marks, std::shared_ptr<WritingRight> right)
      : ForwardingFile(std::move(inner)), marks_(marks), right_(std::move(right)) {}

  // The pointer of a file of which only its journal can tell.
  static std::array<std::byte, format::pointer_size> unclosed() {
    std::array<std::byte, format::pointer_size> pointer{};
    std::ranges::copy(format::journal_mark, pointer.begin());
    return pointer;
  }

  // These throw `foreign` if another program has taken the multifile over.
  void write_at(std::span<const std::byte> data, int64_t offset) override {
    require_right();
    inner().write_at(data, offset);
  }
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override {
    require_right();
    inner().write_pieces(pieces);
  }
  void resize(int64_t size) override {
    require_right();
    inner().resize(size);
  }
  void before_writing(int64_t offset) override {
    require_right();
    if (!marks_.table || offset < *marks_.table) return;
    inner().write_at(unclosed(), marks_.at);
    if (marks_.durable) inner().sync();
    marks_.table.reset();
  }

  FileDescriptor descriptor(Whose whose) override { return inner().descriptor(whose); }

 private:
  void require_right() {
    if (right_) right_->require(WritingRight::Look::before_write);
  }

  Marks marks_;
  const std::shared_ptr<WritingRight> right_;
};

}  // namespace sheaf
