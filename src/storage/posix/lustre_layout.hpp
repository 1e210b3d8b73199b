// storage/posix/lustre_layout: sets the striping of a new Lustre file, with the file system's own calls and
// without its library (lustre_user.h: struct lov_user_md_v1, LL_IOC_LOV_SETSTRIPE).
#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "storage/filesystem/lustre.hpp"
#include "storage/store.hpp"

namespace sheaf {

// Open flags that create a Lustre file without a layout. Other file systems ignore them.
extern const int lustre_layout_follows;

// Returns the layout in the file system's format, on any servers. Rounds the stripe size to a multiple of 64
// KiB, as Lustre requires.
constexpr size_t lustre_layout_bytes = sizeof(LustreLayout);
std::array<std::byte, lustre_layout_bytes> lustre_layout(const Striping& wanted);

// The calls that set the layout of an open file; each returns 0, or -1 with errno.
struct LayoutCalls {
  std::function<int(int fd, std::span<const std::byte> layout)> control;    // ioctl
  std::function<int(int fd, std::span<const std::byte> layout)> attribute;  // the attribute lustre.lov
};
const LayoutCalls& layout_calls();

// Sets the layout of `fd`, a file without one: by ioctl or, where the ioctl is not passed to the file system,
// by the attribute. Returns false if both fail; the file then gets a default layout at its first open.
bool set_lustre_layout(int fd, const Striping& wanted, const LayoutCalls& calls = layout_calls());

}  // namespace sheaf
