// format/lease: encodes and decodes the lease beside a multifile that is open for writing (docs/format.md,
// section 17).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sheaf::format {

inline constexpr size_t lease_size = 512;  // bytes

inline std::string lease_name(std::string_view multifile) { return std::string(multifile) + ".lease"; }

struct Lease {
  uint64_t id = 0;   // random; identifies the open
  std::string host;  // host name of the first task, truncated if too long
  // Identity of the first task's process: boot and PID namespace of its host, process ID, and clock ticks
  // from boot to its start (ProcessIdentity).
  std::string boot;
  int64_t pid = 0;
  uint64_t started = 0;
  uint64_t counter = 0;  // incremented as long as the owner runs
  int64_t since = 0;     // creation time in seconds since 1970; 0: unknown

  bool operator==(const Lease&) const = default;
};

std::array<std::byte, lease_size> encode(const Lease& lease);
// Decodes a lease. Returns nullopt if the bytes are no lease.
std::optional<Lease> decode_lease(std::span<const std::byte> bytes);

}  // namespace sheaf::format
