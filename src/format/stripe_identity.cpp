#include "format/stripe_identity.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/byte_order.hpp"

namespace sheaf::format {

namespace {

constexpr std::string_view identity_magic = "SHEAFSTR";
constexpr uint32_t identity_version = 1;
constexpr size_t sum_at = StripeIdentity::bytes - 8;

// FNV-1a, 64 bits.
uint64_t sum_of(const std::byte* bytes) {
  uint64_t sum = 0xcbf29ce484222325;
  for (size_t i = 0; i < sum_at; ++i) sum = (sum ^ static_cast<uint64_t>(bytes[i])) * 0x100000001b3;
  return sum;
}

}  // namespace

std::string to_bytes(const StripeIdentity& identity) {
  std::string text(StripeIdentity::bytes, '\0');
  auto* const at = reinterpret_cast<std::byte*>(text.data());
  const auto put = [&](size_t offset, auto value) { store(at + offset, value, ByteOrder::little); };
  std::memcpy(at, identity_magic.data(), identity_magic.size());
  put(8, identity_version);
  put(12, uint32_t{identity.complete});
  put(16, identity.file[0]);
  put(24, identity.file[1]);
  put(32, identity.unit);
  put(40, identity.count);
  put(44, identity.index);
  put(48, identity.size);
  put(sum_at, sum_of(at));
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
  if (bytes.size() < StripeIdentity::bytes) return std::nullopt;
  const std::byte* const at = bytes.data();
  if (std::memcmp(at, identity_magic.data(), identity_magic.size()) != 0) return std::nullopt;
  if (load<uint32_t>(at + 8, ByteOrder::little) != identity_version) return std::nullopt;
  if (load<uint64_t>(at + sum_at, ByteOrder::little) != sum_of(at)) return std::nullopt;
  StripeIdentity identity;
  identity.complete = load<uint32_t>(at + 12, ByteOrder::little) != 0;
  identity.file = {load<uint64_t>(at + 16, ByteOrder::little), load<uint64_t>(at + 24, ByteOrder::little)};
  identity.unit = load<int64_t>(at + 32, ByteOrder::little);
  identity.count = load<int32_t>(at + 40, ByteOrder::little);
  identity.index = load<int32_t>(at + 44, ByteOrder::little);
  identity.size = load<int64_t>(at + 48, ByteOrder::little);
  if (identity.unit < 0 || identity.count <= 0 || identity.index < 0 || identity.index >= identity.count ||
      identity.size < StripeIdentity::open_size)
    return std::nullopt;
  return identity;
}

}  // namespace sheaf::format
