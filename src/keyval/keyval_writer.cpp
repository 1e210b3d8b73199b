#include "keyval/keyval_writer.hpp"

#include <array>

namespace sheaf {

void write_record(WriteStream& stream, ByteOrder metadata_order, uint64_t key,
                  std::span<const std::byte> value) {
  std::array<std::byte, record_header_bytes> head;
  store<uint64_t>(head.data(), key, metadata_order);
  store<uint64_t>(head.data() + 8, value.size(), metadata_order);
  stream.write_filling(head, value);
}

}  // namespace sheaf
