// mpiio/file/file_access: checks of views, and the access that a transfer through a view makes.
#pragma once

#include <string>

#include "exchange/pieces/access.hpp"
#include "mpiio/file/view.hpp"

namespace sheaf {

// These functions are local. They throw invalid_argument, or out_of_range if a number does not fit.
void require_position(int64_t position);
// `reads`: the view is only read through, so its file type may overlap itself.
void require_usable(const View& view, bool reads);
// Returns the access to the bytes of `memory` from stream byte `position`, with increasing file offsets
// (mpiio/file/interleaved). `path` names the file in messages. The view and the memory must outlive the
// result.
template <class Byte>
exchange::FileAccess access_to(const View& view, int64_t position, const MemoryOf<Byte>& memory, bool writes,
                               const std::string& path);

}  // namespace sheaf
