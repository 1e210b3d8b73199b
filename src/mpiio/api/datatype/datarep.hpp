// mpiio/api/datatype/datarep: data representations of files (MPI 3.1, section 13.5). "native" and "internal"
// equal the bytes in memory. "external32" is the portable representation of the standard. Programs can
// register further representations.
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

// A representation that differs from the bytes in memory. Immutable; calls are local and thread-safe.
class Datarep {
 public:
  virtual ~Datarep() = default;

  // Returns the type map of `type` in the file.
  virtual layout::TypeMap in_file(MPI_Datatype type) const = 0;

  // Converts `count` instances at `user` to file representation and returns them concatenated. Throws
  // MpiError MPI_ERR_CONVERSION for values that the file representation cannot hold.
  virtual std::vector<std::byte> to_file(const void* user, MPI_Datatype type, int64_t count) const = 0;

  // Converts `bytes`, which a read has returned, to `count` instances at `user`. `bytes` may hold fewer
  // instances; a predefined type of which only a part was read is not converted. Returns the number of bytes
  // filled in memory.
  virtual int64_t from_file(std::span<const std::byte> bytes, void* user, MPI_Datatype type,
                            int64_t count) const = 0;
};

// Returns the representation `name`, or null for "native" and "internal". Throws MpiError
// MPI_ERR_UNSUPPORTED_DATAREP if the name is unknown.
std::shared_ptr<const Datarep> find_datarep(const std::string& name);

std::shared_ptr<const Datarep> make_external32();

// Copy bytes.size() bytes of the instances of `type` at `user`, in type-map order, to or from `bytes`.
inline void pack(const void* user, const layout::TypeMap& type, std::span<std::byte> bytes) {
  exchange::gather(type, 0, std::ssize(bytes), static_cast<const std::byte*>(user), bytes.data());
}
inline void unpack(std::span<const std::byte> bytes, void* user, const layout::TypeMap& type) {
  exchange::scatter(type, 0, std::ssize(bytes), bytes.data(), static_cast<std::byte*>(user));
}

}  // namespace sheaf::mpiio
