// storage/store: the default implementations of calls of File and Store.
#include "storage/store.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/os/host_name.hpp"
#include "storage/write_slots.hpp"

namespace sheaf {

void File::write_pieces(std::span<const Piece<const std::byte>> pieces) {
  for (const auto& piece : pieces) write_at(piece.memory, piece.offset);
}

void File::read_pieces(std::span<const Piece<std::byte>> pieces) {
  for (const auto& piece : pieces) {
    const size_t got = read_at(piece.memory, piece.offset);
    std::ranges::fill(piece.memory.subspan(got), std::byte{});
  }
}

FileDescriptor File::descriptor(DescriptorKind kind) {
  if (kind == DescriptorKind::file) return {};
  throw file_error(Code::unsupported, path(), "has no descriptor of the operating system");
}

FileSystemTraits Store::traits(const std::string&) {
  return traits_of_kind(FileSystem::memory, std::nullopt, 0);
}

bool Store::is_host(const std::string& name) { return is_this_host(name); }

void Store::sync_name(const std::string& path) {
  const auto file = open(path, Access::read);
  file->sync();
  file->close();
}

std::shared_ptr<WriteSlots> Store::make_slots(int count) { return make_memory_slots(count); }

std::shared_ptr<WriteSlots> Store::join_slots(const std::string& name, int) {
  return join_memory_slots(name);
}

}  // namespace sheaf
