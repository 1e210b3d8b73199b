// storage/decorators/watched_file: a file opened for reading that detects that a program has rewritten it.
// Some bytes of the file identify its contents; a program that rewrites the file in place changes these bytes
// before any others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "storage/decorators/forwarding_file.hpp"

namespace sheaf {

struct WatchedBytes {
  int64_t offset = 0;
  size_t count = 0;  // 0: none
  std::array<std::byte, 16> expected{};
};

class WatchedFile final : public ForwardingFile {
 public:
  // Every read but read_verified() compares `always` afterwards, which costs one short read of the same
  // place. require_unchanged(), called if the data read turns out to be wrong, compares `on_damage`.
  WatchedFile(std::shared_ptr<File> inner, const WatchedBytes& always, const WatchedBytes& on_damage)
      : ForwardingFile(std::move(inner)), always_(always), on_damage_(on_damage) {}

  // As File; also throws `foreign` if the file has been rewritten since it was opened.
  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  size_t read_verified(std::span<std::byte> data, int64_t offset) override {
    return inner().read_verified(data, offset);
  }
  void read_pieces(std::span<const Piece<std::byte>> pieces) override;
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override { inner().write_pieces(pieces); }
  FileTraits traits() override { return inner().traits(); }
  FileDescriptor descriptor(DescriptorKind kind) override { return inner().descriptor(kind); }

  void require_unchanged() override;

 private:
  void require(const WatchedBytes& bytes);

  const WatchedBytes always_;
  const WatchedBytes on_damage_;
};

}  // namespace sheaf
