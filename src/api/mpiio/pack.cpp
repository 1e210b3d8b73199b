// Between memory as a datatype describes it and consecutive bytes.
#include <cstring>

#include "api/mpiio/datarep.hpp"

namespace sheaf::mpiio {
namespace {

// Calls piece(offset, length) for all pieces of a visit, in order.
template <class Piece>
class Pieces final : public layout::PieceVisitor {
 public:
  explicit Pieces(Piece piece) : piece_(piece) {}
  void run(const layout::Run& run) override {
    for (int64_t i = 0; i < run.count; ++i) piece_(run.offset + i * run.stride, run.length);
  }
  void equal(const layout::EqualBlocks& blocks) override {
    for (const int64_t offset : blocks.offsets) piece_(blocks.base + offset, blocks.length);
  }
  void blocks(const layout::Blocks& blocks) override {
    for (size_t i = 0; i < blocks.offsets.size(); ++i)
      piece_(blocks.base + blocks.offsets[i], blocks.starts[i + 1] - blocks.starts[i]);
  }

 private:
  Piece piece_;
};

template <class Piece>
void for_pieces(const layout::TypeMap& type, int64_t bytes, Piece piece) {
  Pieces<Piece> visitor(piece);
  type.visit(0, 0, bytes, visitor);
}

}  // namespace

void pack(const void* user, const layout::TypeMap& type, std::span<std::byte> bytes) {
  const auto* const from = static_cast<const std::byte*>(user);
  std::byte* to = bytes.data();
  for_pieces(type, std::ssize(bytes), [&](int64_t offset, int64_t length) {
    std::memcpy(to, from + offset, static_cast<size_t>(length));
    to += length;
  });
}

void unpack(std::span<const std::byte> bytes, void* user, const layout::TypeMap& type) {
  auto* const to = static_cast<std::byte*>(user);
  const std::byte* from = bytes.data();
  for_pieces(type, std::ssize(bytes), [&](int64_t offset, int64_t length) {
    std::memcpy(to + offset, from, static_cast<size_t>(length));
    from += length;
  });
}

}  // namespace sheaf::mpiio
