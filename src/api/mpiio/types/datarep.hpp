// api/mpiio/types/datarep: data representations of files (MPI 3.1, section 13.5): "native" and "internal" are
// the bytes of memory, "external32" is the standard's portable one, others are registered by the program.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exchange/pieces/access.hpp"
#include "layout/type_map.hpp"

namespace sheaf::mpiio {

// A representation that is not the bytes of memory. Immutable; local calls for any thread.
class Datarep {
 public:
  virtual ~Datarep() = default;

  // How the file has an instance of `type`.
  virtual layout::TypeMap in_file(MPI_Datatype type) const = 0;

  // `count` instances at `user` as the file has them, one behind the other. Throws MpiError
  // MPI_ERR_CONVERSION for values that the file cannot have.
  virtual std::vector<std::byte> to_file(const void* user, MPI_Datatype type, int64_t count) const = 0;

  // The reverse, for what a read found, maybe less than `count` instances. Returns the bytes of memory
  // filled, in whole predefined types.
  virtual int64_t from_file(std::span<const std::byte> bytes, void* user, MPI_Datatype type,
                            int64_t count) const = 0;
};

// Null for "native" and "internal". Throws MpiError MPI_ERR_UNSUPPORTED_DATAREP for a name that is not known.
std::shared_ptr<const Datarep> find_datarep(const std::string& name);

std::shared_ptr<const Datarep> make_external32();

// Bytes of `type`, which begins at `user`, in its order, to or from consecutive memory of bytes.size() bytes.
inline void pack(const void* user, const layout::TypeMap& type, std::span<std::byte> bytes) {
  exchange::gather(type, 0, std::ssize(bytes), static_cast<const std::byte*>(user), bytes.data());
}
inline void unpack(std::span<const std::byte> bytes, void* user, const layout::TypeMap& type) {
  exchange::scatter(type, 0, std::ssize(bytes), bytes.data(), static_cast<std::byte*>(user));
}

}  // namespace sheaf::mpiio
