// sharedfile/interleaved: transfers through file types that span more than their extent.
//
// One instance of such a type is like that of any other. A second one begins in front of the first one's end:
// offsets in the file then go back where the stream goes on. The exchange takes only accesses whose offsets
// rise. (Collective HDF5 and PnetCDF make such types where Open MPI counts the extent of a structure without
// its resized members, and use one instance.)
#pragma once

#include <string>

#include "exchange/pieces/access.hpp"

namespace sheaf {

// Local. The same bytes of the file and of memory in an order in which offsets in the file rise; the access
// itself if they do. Takes O(pieces) where more than one instance is reached. Throws invalid_argument, naming
// `path`, where bytes to be written overlap, and where an instance lies before the file.
exchange::ViewAccess in_order(exchange::ViewAccess access, bool writes, const std::string& path);

}  // namespace sheaf
