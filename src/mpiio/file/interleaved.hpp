// mpiio/file/interleaved: transfers through file types that span more than their extent.
//
// A single instance of such a type is like that of any other type. A second instance begins before the end of
// the first, so file offsets decrease where the stream advances. The exchange requires increasing offsets.
// (Collective HDF5 and PnetCDF create such types where Open MPI computes the extent of a structure without
// its resized members. They use one instance.)
#pragma once

#include <cstdint>
#include <string>

#include "exchange/pieces/access.hpp"

namespace sheaf::mpiio {

// Whether extents of a file type may overlap. Only reads allow it.
enum class Overlap : uint8_t { allowed, refused };

// Local. Returns an access to the same file bytes and memory with increasing file offsets; returns `access`
// itself if its offsets already increase. Takes O(extents) time if the access covers several instances.
// Throws invalid_argument, naming `path`, if extents overlap that must not, or if an instance lies before the
// start of the file.
exchange::FileAccess in_order(exchange::FileAccess access, Overlap overlap, const std::string& path);

}  // namespace sheaf::mpiio
