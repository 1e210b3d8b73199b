#include "format/stripe_identity.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "format/fields.hpp"

namespace sheaf::format {

namespace {

constexpr std::string_view identity_magic = "SHEAFSTR";
constexpr uint32_t identity_version = 1;
constexpr size_t fields_at = 8;
constexpr size_t sum_at = StripeIdentity::bytes - 8;

template <class I, class Number>
auto identity_fields(I& i, Number& version, Number& complete) {
  return std::tie(version, complete, i.file[0], i.file[1], i.unit, i.count, i.index, i.size);
}

// Returns the checksum of an identity: FNV-1a with 64 bits.
uint64_t sum_of(const std::byte* bytes) {
  uint64_t sum = 0xcbf29ce484222325;
  for (size_t i = 0; i < sum_at; ++i) sum = (sum ^ static_cast<uint64_t>(bytes[i])) * 0x100000001b3;
  return sum;
}

}  // namespace

std::string to_bytes(const StripeIdentity& identity) {
  std::string text(StripeIdentity::bytes, '\0');
  auto* const at = reinterpret_cast<std::byte*>(text.data());
  std::memcpy(at, identity_magic.data(), identity_magic.size());
  const uint32_t complete = identity.complete;
  put_fields(at + fields_at, identity_fields(identity, identity_version, complete));
  put_little(at + sum_at, sum_of(at));
  return text;
}

IdentityState identity_state(std::span<const std::byte> bytes) {
  if (stripe_identity_of(bytes)) return IdentityState::sound;
  const auto begin =
      std::as_bytes(std::span(identity_magic)).first(std::min(bytes.size(), identity_magic.size()));
  const bool ours = std::ranges::equal(bytes.first(begin.size()), begin);
  if (ours && bytes.size() >= StripeIdentity::bytes) return IdentityState::damaged;
  const bool zeros = std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{}; });
  return ours || zeros ? IdentityState::begun : IdentityState::foreign;
}

std::optional<StripeIdentity> stripe_identity_of(std::span<const std::byte> bytes) {
  const std::byte* const at = bytes.data();
  if (bytes.size() < StripeIdentity::bytes || !begins_with(bytes, identity_magic) ||
      get_little<uint64_t>(at + sum_at) != sum_of(at))
    return std::nullopt;
  StripeIdentity identity;
  uint32_t version, complete;
  get_fields(at + fields_at, identity_fields(identity, version, complete));
  identity.complete = complete != 0;
  if (version != identity_version || identity.unit < 0 || identity.count <= 0 || identity.index < 0 ||
      identity.index >= identity.count || identity.size < StripeIdentity::open_size)
    return std::nullopt;
  return identity;
}

}  // namespace sheaf::format
