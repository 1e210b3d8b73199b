#include "multifile/keyval/keyval_writer.hpp"

namespace sheaf::multifile {

RecordHead record_head(ByteOrder metadata_order, uint64_t key, uint64_t value_bytes) {
  RecordHead head;
  store<uint64_t>(head.data(), key, metadata_order);
  store<uint64_t>(head.data() + 8, value_bytes, metadata_order);
  return head;
}

void write_record(WriteStream& stream, ByteOrder metadata_order, uint64_t key,
                  std::span<const std::byte> value) {
  stream.write_filling(record_head(metadata_order, key, value.size()), value);
}

}  // namespace sheaf::multifile
