// cli/mount/answer: every request of the kernel gets exactly one answer, whatever happens meanwhile.
#pragma once

#include <cerrno>
#include <cstdio>
#include <new>

#include "base/error.hpp"
#include "cli/mount/file_system.hpp"

namespace sheaf::cli {

inline const FileSystem& file_system_of(fuse_req_t request) {
  return *static_cast<const FileSystem*>(fuse_req_userdata(request));
}

// What a program gets for it: damaged data are an error of input and output.
inline int errno_of(const Error& error) { return error.errno_value() != 0 ? error.errno_value() : EIO; }

// Runs `body`, which answers as its last act; answers with an error where it throws.
template <class Body>
void answer(fuse_req_t request, Body&& body) noexcept {
  try {
    body(file_system_of(request));
  } catch (const Error& error) {
    if (file_system_of(request).foreground) std::fprintf(stderr, "sheaf: %s\n", error.what());
    fuse_reply_err(request, errno_of(error));
  } catch (const std::bad_alloc&) {
    fuse_reply_err(request, ENOMEM);
  } catch (...) {
    fuse_reply_err(request, EIO);
  }
}

// The file or folder of that number; throws ENOENT.
inline mount::Node node_at(const FileSystem& system, fuse_ino_t number) {
  if (const auto node = system.tree.at(number)) return *node;
  throw Error(Code::not_found, "there is no file with number " + std::to_string(number), ENOENT);
}

// The attributes of a node. Throws what the size of a stream throws.
struct stat attributes_of(const FileSystem& system, const mount::Node& node);

// Names and attributes, and what they are, may be kept for so long, in seconds.
inline constexpr double for_long = 30 * 24 * 3600.0;

// The requests about folders, and about extended attributes.
void read_folder(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info* info);
void read_folder_plus(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info* info);
void get_attribute(fuse_req_t request, fuse_ino_t number, const char* name, size_t size);
void list_attributes(fuse_req_t request, fuse_ino_t number, size_t size);

}  // namespace sheaf::cli
