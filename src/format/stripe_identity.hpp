// format/stripe_identity: encodes and decodes the 128 bytes that identify a subfile within its striped file
// (docs/format.md, "Striped files"). They are stored in a separate file beside the subfile, "<subfile>.sfio",
// because a subfile contains only the bytes of its stripes (SFIO paper, figure 4). Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/export.hpp"

namespace sheaf::format {

struct StripeIdentity {
  static constexpr size_t bytes = 128;
  static constexpr int64_t open_size = -1;

  std::array<uint64_t, 2> file{};  // identifies the striped file; equal in all its subfiles
  int64_t unit = 0;                // bytes of a stripe unit; 0: not chosen yet
  int32_t count = 0;               // number of subfiles
  int32_t index = 0;               // number of this subfile
  bool complete = false;           // all subfiles have been created
  int64_t size = open_size;  // bytes of the logical file at its last close; open_size: possibly written since

  bool operator==(const StripeIdentity&) const = default;
};

// Classification of a file that should contain an identity, by its first bytes.
enum class IdentityState : uint8_t {
  sound,
  damaged,  // different version, or modified contents
  begun,    // empty, zeros, or a prefix of an identity: left by a writer that died
  foreign,  // not an identity
};
SHEAF_EXPORT IdentityState identity_state(std::span<const std::byte> bytes);

SHEAF_EXPORT std::string to_bytes(const StripeIdentity& identity);

// Decodes an identity. Returns nullopt if the bytes are too short, have a wrong magic, version or checksum,
// or contain impossible numbers.
SHEAF_EXPORT std::optional<StripeIdentity> stripe_identity_of(std::span<const std::byte> bytes);

}  // namespace sheaf::format
