#include "exchange/pieces/piece_code.hpp"

#include "base/checked.hpp"
#include "exchange/pieces/short_numbers.hpp"

namespace sheaf::exchange {

namespace {

using layout::Blocks;
using layout::EqualBlocks;
using layout::Run;
using layout::TypeMap;

// Pieces may go back in the file: small distances either way are short.
uint64_t zigzag(int64_t distance) {
  return static_cast<uint64_t>(distance) << 1 ^ static_cast<uint64_t>(distance >> 63);
}
int64_t unzigzag(uint64_t code) { return static_cast<int64_t>(code >> 1) ^ -static_cast<int64_t>(code & 1); }

int64_t take(std::span<const std::byte>& code) {
  const auto value = static_cast<int64_t>(take_number(code));
  if (value < 0) throw_senseless();
  return value;
}

class Encoder final : public layout::PieceVisitor {
 public:
  void run(const Run& run) override { add(run); }
  void equal(const EqualBlocks& blocks) override {
    for (const int64_t offset : blocks.offsets) add({blocks.base + offset, blocks.length, 0, 1});
  }
  void blocks(const Blocks& blocks) override {
    for (size_t i = 0; i < blocks.offsets.size(); ++i)
      add({blocks.base + blocks.offsets[i], blocks.starts[i + 1] - blocks.starts[i], 0, 1});
  }
  std::vector<std::byte> finish() {
    write();
    return std::move(code_);
  }

 private:
  // The run goes on if the next piece is like its last ones.
  void add(const Run& next) {
    if (next.count == 1 && run_.count > 0 && next.length == run_.length) {
      const int64_t step = next.offset - (run_.offset + (run_.count - 1) * run_.stride);
      if (run_.count == 1 || step == run_.stride) {
        run_.stride = step;
        ++run_.count;
        return;
      }
    }
    write();
    run_ = next;
  }
  void write() {
    if (run_.count == 0) return;
    append_number(code_, zigzag(run_.offset - end_));
    append_number(code_, static_cast<uint64_t>(run_.length));
    append_number(code_, static_cast<uint64_t>(run_.count));
    if (run_.count > 1) append_number(code_, zigzag(run_.stride));
    end_ = run_.offset + (run_.count - 1) * run_.stride + run_.length;
    run_.count = 0;
  }

  std::vector<std::byte> code_;
  Run run_{0, 0, 0, 0};
  int64_t end_ = 0;
};

}  // namespace

std::vector<std::byte> encode_pieces(const Access& access, int64_t from, int64_t to) {
  Encoder encoder;
  access.filetype->visit(access.displacement, from, to, encoder);
  return encoder.finish();
}

TypeMap decode_pieces(std::span<const std::byte> code) {
  std::vector<Run> runs;
  int64_t pieces = 0;
  int64_t end = 0;
  while (!code.empty()) {
    Run run;
    run.offset = must_fit(checked_add(end, unzigzag(take_number(code))), "a piece");
    run.length = take(code);
    run.count = take(code);
    run.stride = run.count > 1 ? unzigzag(take_number(code)) : 0;
    if (run.offset < 0 || run.length <= 0 || run.count <= 0) throw_senseless();
    const int64_t last = must_fit(
        checked_add(run.offset, must_fit(checked_mul(run.count - 1, run.stride), "a piece")), "a piece");
    if (last < 0) throw_senseless();
    end = must_fit(checked_add(last, run.length), "a piece");
    pieces = must_fit(checked_add(pieces, run.count), "the number of pieces");
    runs.push_back(run);
  }
  std::vector<int64_t> lengths, places;
  if (std::ssize(runs) > pieces / 4) {
    for (const Run& run : runs)
      for (int64_t i = 0; i < run.count; ++i) {
        lengths.push_back(run.length);
        places.push_back(run.offset + i * run.stride);
      }
    return TypeMap::indexed(lengths, places, TypeMap::bytes(1));
  }
  std::vector<TypeMap> types;
  for (const Run& run : runs) {
    lengths.push_back(1);
    places.push_back(run.offset);
    types.push_back(TypeMap::vector(run.count, run.length, run.stride, TypeMap::bytes(1)));
  }
  return TypeMap::structure(lengths, places, types);
}

}  // namespace sheaf::exchange
