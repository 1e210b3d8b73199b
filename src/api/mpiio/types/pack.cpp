// Between memory as a datatype describes it and consecutive bytes.
#include "api/mpiio/types/datarep.hpp"
#include "exchange/pieces/access.hpp"

namespace sheaf::mpiio {
void pack(const void* user, const layout::TypeMap& type, std::span<std::byte> bytes) {
  exchange::gather(type, 0, std::ssize(bytes), static_cast<const std::byte*>(user), bytes.data());
}

void unpack(std::span<const std::byte> bytes, void* user, const layout::TypeMap& type) {
  exchange::scatter(type, 0, std::ssize(bytes), bytes.data(), static_cast<std::byte*>(user));
}

}  // namespace sheaf::mpiio
