// multifile/writer/appended_file: writes to a complete physical file that is opened for appending.
//
// The block table is stored where the next round of chunks would begin. Until a task needs that round, the
// file stays complete with its old table. The first task that needs it marks the file as unclosed before it
// writes there; from then on only the journal describes the contents. Every task sets the mark independently,
// so no messages are needed. Another program may take over the multifile and write to the same file; every
// task therefore checks its right before it writes.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "format/header.hpp"
#include "format/journal.hpp"
#include "multifile/journal/chunk_watch.hpp"
#include "multifile/journal/writing_right.hpp"
#include "storage/decorators/forwarding_file.hpp"

namespace sheaf::multifile {

class AppendedFile final : public ForwardingFile, public ChunkWatch {
 public:
  struct Marks {
    int64_t at = 0;                // offset of the mark "unclosed" in the file
    std::optional<int64_t> table;  // offset of the block table; nullopt: the file is marked already
    bool durable = false;          // syncs the mark before anything is overwritten
  };
  // Wraps the physical file `inner`. `right` is null if the multifile is written without a lease.
  AppendedFile(std::shared_ptr<File> inner, const Marks& marks, std::shared_ptr<WritingRight> right)
      : ForwardingFile(std::move(inner)), marks_(marks), right_(std::move(right)) {}

  // Returns the pointer that marks a file as unclosed, so that only the journal describes its contents.
  static std::array<std::byte, format::pointer_size> unclosed() {
    std::array<std::byte, format::pointer_size> pointer{};
    std::ranges::copy(format::journal_mark, pointer.begin());
    return pointer;
  }

  // The following calls throw `foreign` if another program has taken over the multifile.
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

  FileDescriptor descriptor(DescriptorKind kind) override { return inner().descriptor(kind); }

 private:
  void require_right() {
    if (right_) right_->require(WritingRight::LeaseCheck::pre_write);
  }

  Marks marks_;
  const std::shared_ptr<WritingRight> right_;
};

}  // namespace sheaf::multifile
