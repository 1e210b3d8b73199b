#include "fuzz/mutate.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "base/checked.hpp"
#include "format/header.hpp"
#include "fuzz/packed_files.hpp"
#include "fuzz/reseal.hpp"
#include "layout/chunk_layout.hpp"

namespace sheaf::fuzz {

namespace {

class Mutation {
 public:
  Mutation(PackedFiles& files, uint64_t seed) : files_(files), random_(static_cast<uint32_t>(seed)) {}

  void run() {
    file_ = &files_.files[below(std::ssize(files_.files))];
    for (auto left = 1 + below(4); left > 0; --left) change_one();
    if (below(2) == 0) mend();
    if (below(16) == 0) return strip(*file_);
    if (below(4) > 0) reseal(*file_);
  }

 private:
  size_t below(int64_t bound) { return random_() % static_cast<size_t>(bound); }

  template <class T>
  void change(int64_t offset) {
    std::byte* const at = file_->find(offset, sizeof(T));
    if (!at) return;  // in the hole or beyond the end
    const ByteOrder order = order_of_file();
    const T old = load<T>(at, order);
    store<T>(at, static_cast<T>(new_value(static_cast<uint64_t>(old))), order);
  }

  uint64_t new_value(uint64_t old) {
    const auto size = static_cast<uint64_t>(file_->size());
    switch (below(12)) {
      case 0:
        return old + 1;
      case 1:
        return old - 1;
      case 2:
        return old * 2;
      case 3:
        return old / 2;
      case 4:
        return old ^ uint64_t { 1 } << below(64);
      case 5:
        return size;
      case 6:
        return size - old;
      case 7:
        return uint64_t{1} << below(64);
      case 8:
        return uint64_t{0} - (uint64_t{1} << below(64));
      case 9:
        return (uint64_t{1} << below(63)) - 1;
      default:
        return below(9);
    }
  }

  ByteOrder order_of_file() const {
    return file_->head.size() > 4 && file_->head[4] == std::byte{1} ? ByteOrder::big : ByteOrder::little;
  }

  bool read_header() {
    try {
      header_ = format::decode_header(
          std::span(file_->head).first(std::min<size_t>(file_->head.size(), format::fixed_size)), "m");
    } catch (const Error&) {
      return false;
    }
    const std::byte* at = file_->find(header_.pointer_offset(), format::pointer_size);
    if (!at) return false;
    pointer_ = format::decode_pointer(
        std::span<const std::byte, format::pointer_size>(at, format::pointer_size), header_.metadata_order);
    return true;
  }

  void change_one() {
    if (!read_header() || below(4) == 0) return change_header();
    const int64_t n = std::max(header_.ntasks, 1);
    const auto task = static_cast<int64_t>(below(n));
    const int64_t rows = 1 + std::max<int64_t>(pointer_.maxblocks, 0);
    if (pointer_.varheader < 0 || pointer_.varheader > file_->size()) pointer_.varheader = 0;
    const int64_t behind = pointer_.varheader + layout::meta2_size(header_.ntasks, rows - 1);
    switch (below(7)) {
      case 0:
        return change<int64_t>(header_.globalranks_offset() + 8 * task);
      case 1:
        return change<int64_t>(header_.chunksizes_offset() + 8 * task);
      case 2:
        return change<int32_t>(header_.pointer_offset());
      case 3:
        return change<int64_t>(header_.pointer_offset() + 4);
      case 4:
        return change<int64_t>(pointer_.varheader + 8 * (n * static_cast<int64_t>(below(rows)) + task));
      case 5:
        return change<int32_t>(behind);
      default:
        return change<int32_t>(behind + 4 + 4 * static_cast<int64_t>(below(4 * n)));
    }
  }

  void change_header() {
    switch (below(10)) {
      case 9:
        if (file_->head.size() > 4) std::memcpy(file_->head.data(), below(2) ? "sion" : "\x89SHF", 4);
        return;
      case 0:
        files_.options = static_cast<uint8_t>(random_());
        return;
      case 1:
        if (file_->head.size() > 8) file_->head[4 + below(4)] = static_cast<std::byte>(below(3));
        return;
      case 2:
        file_->tail_at = std::max(static_cast<int64_t>(new_value(static_cast<uint64_t>(file_->tail_at)) >> 2),
                                  std::ssize(file_->head));
        return;
      case 3:
        return change<int32_t>(36 + 4 * static_cast<int64_t>(below(2)));  // flag1
      default:
        return change<int32_t>(16 + 4 * static_cast<int64_t>(below(5)));
    }
  }

  // Sets the pointer to the value that follows from the chunk sizes, and moves the tail there.
  void mend() {
    if (!read_header() || header_.ntasks > 1 << 12) return;
    std::optional<int64_t> skip = 0;
    for (int64_t t = 0; skip && t < header_.ntasks; ++t) {
      const std::byte* at = file_->find(header_.chunksizes_offset() + 8 * t, 8);
      if (!at) return;
      const auto size = load<int64_t>(at, header_.metadata_order);
      const auto aligned = size < 0               ? std::nullopt
                           : header_.version <= 3 ? align_up(size, header_.fsblksize)
                                                  : std::optional(size);
      skip = aligned ? checked_add(*skip, *aligned) : std::nullopt;
    }
    const auto rounds = skip ? checked_mul(*skip, pointer_.maxblocks) : std::nullopt;
    const auto end =
        rounds ? checked_add(*rounds, layout::data_start(header_.ntasks, header_.fsblksize)) : std::nullopt;
    if (!end || *end < 0 || *end >= int64_t{1} << 61) return;
    const bool in_tail = pointer_.varheader >= file_->tail_at && pointer_.varheader < file_->size();
    if (in_tail)
      file_->tail_at = std::max(file_->tail_at + *end - pointer_.varheader, std::ssize(file_->head));
    pointer_.varheader = *end;
    // The pointer is not written if it moved with the tail.
    std::byte* const at = file_->find(header_.pointer_offset(), format::pointer_size);
    if (at) std::ranges::copy(format::encode(pointer_, header_.metadata_order), at);
  }

  PackedFiles& files_;
  std::minstd_rand random_;
  PackedInputFile* file_ = nullptr;
  format::Header header_;
  format::Pointer pointer_;
};

}  // namespace

size_t mutate_packed(std::span<std::byte> room, size_t size, uint64_t seed) {
  PackedFiles files = unpack(room.first(size));
  if (files.files.empty()) return size;
  Mutation(files, seed).run();
  const Bytes bytes = pack(files);
  if (bytes.size() > room.size()) return size;
  std::ranges::copy(bytes, room.begin());
  return bytes.size();
}

}  // namespace sheaf::fuzz
