// mpiio/file/file_access: validates positions and views, and describes transfers through a view as accesses
// for src/exchange.
#pragma once

#include <string>

#include "exchange/pieces/access.hpp"
#include "mpiio/file/interleaved.hpp"
#include "mpiio/file/view.hpp"

namespace sheaf::mpiio {

// All functions of this header are local. They throw invalid_argument for an invalid argument, or
// out_of_range for a number that does not fit its type.
void require_position(int64_t position);
// Validates a view. Its file type may overlap itself if the view is only read through.
void require_usable(const View& view, Overlap overlap);
// Returns the access to the bytes of `memory` from stream byte `position`, with increasing file offsets
// (mpiio/file/interleaved). `path` names the file in messages. The view and the memory must outlive the
// result.
template <class Byte>
exchange::FileAccess access_to(const View& view, int64_t position, const MemoryOf<Byte>& memory,
                               const std::string& path);

}  // namespace sheaf::mpiio
