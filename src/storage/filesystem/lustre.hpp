// storage/filesystem/lustre: Lustre's binary format of a file layout (lustre_user.h: struct lov_user_md_v1,
// the beginning of struct lov_mds_md), in the byte order of the host.
#pragma once

#include <cstdint>

namespace sheaf {

struct LustreLayout {
  static constexpr uint16_t all_servers = 0xFFFF;  // as a stripe_count

  uint32_t magic = 0x0BD10BD0;
  uint32_t pattern = 1;  // RAID 0
  uint64_t object[2] = {};
  uint32_t stripe_size = 0;  // 0: default of the directory
  uint16_t stripe_count = 0;
  uint16_t first_server = 0xFFFF;  // any
};
static_assert(sizeof(LustreLayout) == 32);

}  // namespace sheaf
