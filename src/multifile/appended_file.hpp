// multifile/appended_file: a complete physical file to which somebody appends.
//
// The block table lies where the next round of chunks would begin. As long as nobody needs that round the file stays
// complete, with the table it has; the first task that does marks it as unclosed before its first byte goes there.
// Every task marks for itself, so tasks need not talk to each other.
#pragma once

#include <array>
#include <memory>

#include "format/header.hpp"
#include "storage/store.hpp"

namespace sheaf {

class AppendedFile final : public File {
 public:
  // `header` and `pointer` are those of the file. durable: the mark is on disk before anything is overwritten.
  AppendedFile(std::shared_ptr<File> inner, const format::Header& header, const format::Pointer& pointer, bool durable)
      : inner_(std::move(inner)), mark_(header.pointer_offset()), table_(pointer.varheader), durable_(durable) {}

  void announce(int64_t offset) override {
    if (marked_ || offset < table_) return;
    inner_->write_at(std::array<std::byte, format::pointer_size>{}, mark_);
    if (durable_) inner_->sync();
    marked_ = true;
  }

  void write_at(std::span<const std::byte> data, int64_t offset) override { inner_->write_at(data, offset); }
  size_t read_at(std::span<std::byte> data, int64_t offset) override { return inner_->read_at(data, offset); }
  FileStatus status() override { return inner_->status(); }
  void resize(int64_t size) override { inner_->resize(size); }
  void sync() override { inner_->sync(); }
  int64_t next_data(int64_t offset) override { return inner_->next_data(offset); }
  int64_t next_hole(int64_t offset) override { return inner_->next_hole(offset); }
  void expect_company(SharedWord* words) override { inner_->expect_company(words); }
  int32_t border() override { return inner_->border(); }
  int descriptor() const override { return inner_->descriptor(); }
  const std::string& path() const override { return inner_->path(); }
  void close() override { inner_->close(); }

 private:
  std::shared_ptr<File> inner_;
  int64_t mark_;
  int64_t table_;
  bool durable_;
  bool marked_ = false;
};

}  // namespace sheaf
