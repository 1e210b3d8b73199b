// span_file: read-only files whose bytes are in memory of the caller. They avoid copies for targets that read
// hundreds of thousands of files per second.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/range.hpp"
#include "storage/store.hpp"

namespace sheaf::fuzz {

class SpanFile final : public File {
 public:
  explicit SpanFile(std::string path) : path_(std::move(path)) {}

  // Sets the contents to `head`, then zeros up to offset `tail_at` >= head.size(), then `tail`. Does not copy
  // the bytes of `head` and `tail`, which must stay valid while the file is in use.
  void set(std::span<const std::byte> head, std::span<const std::byte> tail = {}, int64_t tail_at = 0) {
    head_ = head;
    tail_ = tail;
    tail_at_ = tail.empty() ? std::ssize(head) : tail_at;
  }

  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    require_range(path_, offset, data.size());
    const int64_t end = std::min(size(), offset + std::ssize(data));
    if (end <= offset) return 0;
    const auto got = data.first(static_cast<size_t>(end - offset));
    const int64_t in_head = std::clamp<int64_t>(std::ssize(head_) - offset, 0, std::ssize(got));
    const int64_t before_tail = std::clamp<int64_t>(tail_at_ - offset, in_head, std::ssize(got));
    if (in_head > 0) std::memcpy(got.data(), head_.data() + offset, static_cast<size_t>(in_head));
    std::ranges::fill(got.subspan(static_cast<size_t>(in_head), static_cast<size_t>(before_tail - in_head)),
                      std::byte{});
    const auto rest = got.subspan(static_cast<size_t>(before_tail));
    if (!rest.empty())
      std::memcpy(rest.data(), tail_.data() + (offset + before_tail - tail_at_), rest.size());
    return got.size();
  }

  void write_at(std::span<const std::byte>, int64_t) override { require_writable(path_, false); }
  void resize(int64_t) override { require_writable(path_, false); }
  void sync() override {}
  FileStatus status() override { return {.exists = true, .size = size(), .block_size = 4096}; }
  int64_t next(Space space, int64_t offset) override {
    if (space == Space::data)
      return offset >= std::ssize(head_) && offset < tail_at_ ? tail_at_ : std::min(offset, size());
    return offset < std::ssize(head_) && tail_at_ > std::ssize(head_) ? std::ssize(head_) : size();
  }
  const std::string& path() const override { return path_; }
  void close() override {}

 private:
  int64_t size() const { return tail_at_ + std::ssize(tail_); }

  std::string path_;
  std::span<const std::byte> head_, tail_;
  int64_t tail_at_ = 0;
};

class SpanStore final : public Store {
 public:
  explicit SpanStore(std::vector<std::shared_ptr<SpanFile>> files) : files_(std::move(files)) {}

  std::shared_ptr<File> open(const std::string& path, Access) override {
    for (const auto& file : files_)
      if (file->path() == path) return file;
    throw Error(Code::not_found, "cannot open '" + path + "'");
  }
  FileStatus status(const std::string& path) override {
    for (const auto& file : files_)
      if (file->path() == path) return file->status();
    return {};
  }
  void remove(const std::string& path) override { require_writable(path, false); }
  void rename(const std::string& from, const std::string&) override { require_writable(from, false); }

 private:
  std::vector<std::shared_ptr<SpanFile>> files_;
};

}  // namespace sheaf::fuzz
