// format/stripe_identity: the 128 bytes that say which part of which striped file a subfile is
// (docs/format.md, "Striped files"). They live in a file of their own beside the subfile, "<subfile>.sfio",
// because a subfile holds the bytes of its stripes and nothing else (SFIO paper, figure 4). Bytes <-> struct,
// pure.
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

  std::array<uint64_t, 2> file{};  // the same in all subfiles of a striped file, and in no other file
  int64_t unit = 0;                // bytes of a stripe unit; 0: not chosen yet
  int32_t count = 0;               // subfiles
  int32_t index = 0;               // of this one
  bool complete = false;           // all subfiles have been made
  int64_t size = open_size;  // of the logical file when it was closed; open_size: may have been written since

  bool operator==(const StripeIdentity&) const = default;
};

// What a file is that should hold an identity, by its first bytes.
enum class IdentityState : uint8_t {
  sound,
  damaged,  // of another version, or changed since it was written
  begun,    // what is left if the writer died: nothing, zeros, or a begin
  foreign,  // somebody else's
};
SHEAF_EXPORT IdentityState identity_state(std::span<const std::byte> bytes);

SHEAF_EXPORT std::string to_bytes(const StripeIdentity& identity);

// Nothing if these are not the bytes of an identity: too short, another magic or version, a wrong checksum or
// numbers that no striped file has.
SHEAF_EXPORT std::optional<StripeIdentity> stripe_identity_of(std::span<const std::byte> bytes);

}  // namespace sheaf::format
