// storage/posix/lustre_layout: how a new file of Lustre is spread over its servers, by the calls of the file
// system itself and without its library (lustre_user.h: struct lov_user_md_v1, LL_IOC_LOV_SETSTRIPE).
#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "storage/store.hpp"
#include "storage/traits/lustre.hpp"

namespace sheaf {

// Flags of an open that makes a file of Lustre which has no layout yet. Other file systems pass over them.
extern const int lustre_layout_follows;

// The layout as the file system wants it: stripes of whole 64 KiB, on any servers.
constexpr size_t lustre_layout_bytes = sizeof(LustreLayout);
std::array<std::byte, lustre_layout_bytes> lustre_layout(const Striping& wanted);

// How the layout of an open file is set; each returns 0, or -1 with errno.
struct LayoutCalls {
  std::function<int(int fd, std::span<const std::byte> layout)> control;    // ioctl
  std::function<int(int fd, std::span<const std::byte> layout)> attribute;  // the attribute lustre.lov
};
const LayoutCalls& layout_calls();

// Gives `fd`, a file without a layout, the one that is wanted: by ioctl, or where that is not passed on to
// the file system by the attribute. False if neither is taken; then the file gets a layout at its first open.
bool set_lustre_layout(int fd, const Striping& wanted, const LayoutCalls& calls = layout_calls());

}  // namespace sheaf
