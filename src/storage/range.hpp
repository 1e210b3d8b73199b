// storage/range: argument checks of transfers, shared by all stores for uniform messages.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace sheaf {

// Throws invalid_argument unless bytes [offset, offset + length) can exist in a file (0 to 2^63 - 1).
inline void require_range(const std::string& path, int64_t offset, uint64_t length) {
  if (offset < 0 || length > static_cast<uint64_t>(INT64_MAX - offset))
    throw Error(Code::invalid_argument, "'" + path + "': no file has " + std::to_string(length) +
                                            " bytes at offset " + std::to_string(offset));
}

// Throws wrong_mode if the file was opened for reading only.
inline void require_writable(const std::string& path, bool writable) {
  if (!writable)
    throw Error(Code::wrong_mode, "cannot change '" + path + "': it was opened for reading", EBADF);
}

}  // namespace sheaf
