#include "mpiio/file/interleaved.hpp"

#include <algorithm>
#include <vector>

#include "base/checked.hpp"
#include "layout/each_piece.hpp"

namespace sheaf::mpiio {

using layout::TypeMap;

namespace {

struct TransferSegment {
  int64_t offset;    // in the file
  int64_t position;  // in the data of the transfer
  int64_t bytes;
};

std::vector<TransferSegment> sorted_pieces(const exchange::FileAccess& access, Overlap overlap,
                                           const std::string& path) {
  std::vector<TransferSegment> pieces;
  int64_t position = 0;
  layout::for_each_piece(*access.filetype, access.displacement, access.from, access.to,
                         [&](int64_t offset, int64_t bytes) {
                           pieces.push_back({offset, position, bytes});
                           position += bytes;
                         });
  std::ranges::stable_sort(pieces, {}, &TransferSegment::offset);
  const auto refuse = [&](int64_t offset, const std::string& why) {
    throw Error(Code::invalid_argument,
                "'" + path + "': the file type of a view spans more than its extent of " +
                    std::to_string(access.filetype->extent()) + " bytes, and at offset " +
                    std::to_string(offset) + " a transfer of several instances " + why);
  };
  if (pieces.front().offset < 0) refuse(pieces.front().offset, "lies before the file");
  for (size_t i = 1; overlap == Overlap::refused && i < pieces.size(); ++i)
    if (pieces[i].offset < pieces[i - 1].offset + pieces[i - 1].bytes)
      refuse(pieces[i].offset, "would write bytes twice");
  return pieces;
}

struct Types {
  TypeMap file, memory;
};

exchange::FileAccess sorted(const exchange::FileAccess& access, Overlap overlap, const std::string& path) {
  const std::vector<TransferSegment> pieces = sorted_pieces(access, overlap, path);
  const int64_t begin = pieces.front().offset;
  std::vector<int64_t> lengths, offsets, memory_lengths, memory_offsets;
  for (const TransferSegment& p : pieces) {
    lengths.push_back(p.bytes);
    offsets.push_back(p.offset - begin);
    layout::for_each_piece(*access.memory, 0, p.position, p.position + p.bytes,
                           [&](int64_t offset, int64_t bytes) {
                             memory_lengths.push_back(bytes);
                             memory_offsets.push_back(offset);
                           });
  }
  const TypeMap byte = TypeMap::bytes(1);
  const auto types =
      std::make_shared<const Types>(Types{TypeMap::indexed(lengths, offsets, byte).set_apart(),
                                          TypeMap::indexed(memory_lengths, memory_offsets, byte)});
  return {.displacement = begin,
          .filetype = &types->file,
          .from = 0,
          .to = access.bytes(),
          .address = access.address,
          .memory = &types->memory,
          .types = types};
}

}  // namespace

exchange::FileAccess in_order(exchange::FileAccess access, Overlap overlap, const std::string& path) {
  const TypeMap& type = *access.filetype;
  if (access.bytes() <= 0 || type.is_ordered(overlap == Overlap::allowed)) return access;
  const int64_t instance = access.from / type.size();
  if (instance != (access.to - 1) / type.size()) return sorted(access, overlap, path);
  access.displacement =
      must_fit(checked_mul_add(instance, type.extent(), access.displacement), "the begin of a transfer");
  if (access.displacement + type.true_lower_bound() < 0)
    throw Error(Code::invalid_argument, "'" + path + "': instance " + std::to_string(instance) +
                                            " of a file type lies before the file");
  const auto one = std::make_shared<const TypeMap>(type.set_apart());
  access.from -= instance * type.size();
  access.to -= instance * type.size();
  access.filetype = one.get();
  access.types = one;
  return access;
}

}  // namespace sheaf::mpiio
