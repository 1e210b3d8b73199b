// storage/store: what a File can do for every store, in terms of its positional transfers.
#include "storage/store.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "storage/range.hpp"
#include "storage/write_slots.hpp"

namespace sheaf {

namespace {
constexpr int64_t copy_buffer_bytes = 4 << 20;
}  // namespace

void File::copy_to(File& target, int64_t offset, int64_t target_offset, int64_t length) {
  copy_through_memory(*this, target, offset, target_offset, length);
}

void File::write_vector_at(std::span<const std::span<const std::byte>> parts, int64_t offset) {
  for (const auto& part : parts) {
    require_range(path(), offset, part.size());
    write_at(part, offset);
    offset += static_cast<int64_t>(part.size());
  }
}

int64_t File::next_hole(int64_t offset) { return std::max(offset, status().size); }

FileSystemTraits Store::traits(const std::string&) {
  return traits_of_kind(FileSystem::memory, std::nullopt, 0);
}

void Store::sync_name(const std::string& path) {
  const auto file = open(path, Access::read);
  file->sync();
  file->close();
}

std::shared_ptr<WriteSlots> Store::make_slots(int count) { return make_memory_slots(count); }

std::shared_ptr<WriteSlots> Store::join_slots(const std::string& name, int) {
  return join_memory_slots(name);
}

int File::open_again(bool) {
  throw file_error(Code::unsupported, path(), "has no descriptor of the operating system");
}

void File::allocate(int64_t size) {
  if (status().size < size) resize(size);
}

void copy_through_memory(File& source, File& target, int64_t offset, int64_t target_offset, int64_t length) {
  if (length < 0) throw Error(Code::invalid_argument, "cannot copy a negative number of bytes");
  require_range(source.path(), offset, static_cast<uint64_t>(length));
  require_range(target.path(), target_offset, static_cast<uint64_t>(length));
  if (&source == &target && offset < target_offset + length && target_offset < offset + length)
    throw Error(Code::invalid_argument, "cannot copy between overlapping ranges of '" + source.path() + "'");
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(length, copy_buffer_bytes)));
  while (length > 0) {
    const auto part = std::span(buffer).first(static_cast<size_t>(std::min(length, copy_buffer_bytes)));
    const auto got = static_cast<int64_t>(source.read_at(part, offset));
    target.write_at(part.first(static_cast<size_t>(got)), target_offset);
    offset += got;
    target_offset += got;
    length -= got;
    if (got < static_cast<int64_t>(part.size()))
      throw file_error(Code::damaged, source.path(),
                       "ends at byte " + std::to_string(offset) + ", " + std::to_string(length) +
                           " bytes before the range to be copied");
  }
}

}  // namespace sheaf
