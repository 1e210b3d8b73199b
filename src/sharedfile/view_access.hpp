// sharedfile/view_access: what may be a view, and the access that a transfer through one is.
#pragma once

#include <string>

#include "exchange/pieces/access.hpp"
#include "sharedfile/view.hpp"

namespace sheaf {

// Local, all: throw invalid_argument, or out_of_range where a number does not fit.
void require_position(int64_t position);
// reads: nobody writes through it, so its file type may overlap itself.
void require_usable(const View& view, bool reads);
// The bytes of `memory` from byte `position` of the stream on, in an order in which offsets rise
// (sharedfile/interleaved), for the file `path`. View and memory outlive it.
template <class Byte>
exchange::ViewAccess access_to(const View& view, int64_t position, const MemoryOf<Byte>& memory, bool writes,
                               const std::string& path);

}  // namespace sheaf
