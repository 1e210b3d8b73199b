#include "storage/posix/lustre_layout.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace sheaf {

namespace {

constexpr int64_t stripe_grain = 64 << 10;
constexpr int64_t largest_stripe = (int64_t{1} << 32) - stripe_grain;
constexpr int64_t max_stripes = 2000;

constexpr unsigned long set_stripe = _IOW('f', 154, long);  // LL_IOC_LOV_SETSTRIPE

}  // namespace

const int lustre_layout_follows = O_NOCTTY | O_ASYNC;  // O_LOV_DELAY_CREATE

std::array<std::byte, lustre_layout_bytes> lustre_layout(const Striping& wanted) {
  const int64_t size = std::clamp<int64_t>(wanted.unit, 0, largest_stripe);
  return std::bit_cast<std::array<std::byte, lustre_layout_bytes>>(LustreLayout{
      .stripe_size = static_cast<uint32_t>((size + stripe_grain - 1) / stripe_grain * stripe_grain),
      .stripe_count = static_cast<uint16_t>(std::clamp<int64_t>(wanted.count, 0, max_stripes))});
}

const LayoutCalls& layout_calls() {
  static const LayoutCalls calls{
      [](int fd, std::span<const std::byte> layout) { return ::ioctl(fd, set_stripe, layout.data()); },
      [](int fd, std::span<const std::byte> layout) {
        return ::fsetxattr(fd, "lustre.lov", layout.data(), layout.size(), 0);
      }};
  return calls;
}

bool set_lustre_layout(int fd, const Striping& wanted, const LayoutCalls& calls) {
  const auto layout = lustre_layout(wanted);
  return calls.control(fd, layout) == 0 || calls.attribute(fd, layout) == 0;
}

}  // namespace sheaf
