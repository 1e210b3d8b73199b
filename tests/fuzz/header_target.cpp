// Decodes the head of a physical file or of a subfile: META1 with its extension, pointers, arrays, stripe
// identities. The first byte of the input selects the structure. If its highest bit is set, checksums and
// magic numbers are correct.
#include <array>
#include <cstring>
#include <vector>

#include "format/extension.hpp"
#include "format/header.hpp"
#include "format/stripe_identity.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/recipe.hpp"
#include "fuzz/targets.hpp"

namespace sheaf::fuzz {

namespace {

constexpr size_t fields_size = format::fixed_size - format::prefix_size;

// Decodes the first bytes of a file as a reader does.
void decode_meta1(std::span<const std::byte> bytes) {
  const format::Header h = format::decode_header(bytes, "m");
  require(h.fsblksize > 0 && h.ntasks >= 0 && h.nfiles >= 1 && h.filenumber >= 0, "limits of the header");
  require(h.name().size() < format::prefix_size, "the name ends");
  require(h.pointer_offset() >= format::fixed_size_v2 && h.pointer_offset() < int64_t{1} << 36,
          "offsets of the header");
  format::Header newest = h;
  newest.version = format::newest_version;
  if (h.version < 5) newest.flag1 = format::Header::flag_of(format::KeyvalMode::none);
  const auto encoded = format::encode(newest);
  require(format::encode(format::decode_header(encoded, "m")) == encoded,
          "a header is encoded as it was decoded");
}

void decode_extension(std::span<const std::byte> header, bool sound) {
  const auto e = format::decode_extension(header, "m");
  if (!e) return require(!sound, "a sound extension is one");
  require(format::says_compressed(header) == e->compressed(), "both know whether streams are frames");
  require(e->piece <= format::largest_piece && e->checksums() == (e->piece > 0), "limits of the extension");
  std::array<std::byte, format::fixed_size> again{};
  std::ranges::copy(header.first(again.size()), again.begin());
  format::put_extension(*e, again);
  require(format::decode_extension(again, "m") == e, "an extension is encoded as it was decoded");
}

// Makes the fields, the extension, and the bytes between them from a recipe, and decodes them.
void decode_parts(Recipe recipe, bool sound) {
  std::array<std::byte, format::fixed_size> header{};
  std::ranges::copy(recipe.bytes(fields_size), header.begin());
  std::ranges::copy(recipe.bytes(format::extension_size), header.begin() + format::extension_offset);
  std::ranges::copy(recipe.bytes(format::max_extended_name), header.begin() + fields_size);
  if (sound) {
    const bool encoded = header[0] == std::byte{1};
    std::memcpy(header.data(), encoded ? "\x89SHF" : "sion", 4);
    if (encoded) header[format::extension_offset + 11] |= std::byte{1};  // the flag `compressed`
    for (size_t i = 4; i < 8; ++i) header[i] &= std::byte{1};
    std::memcpy(header.data() + format::extension_offset, "\x89Sheaf\r\n\x01\0", 10);
    store<uint64_t>(&header[header.size() - 8], format::hash_of(std::span(header).first(header.size() - 8)),
                    ByteOrder::little);
  }
  decode_extension(header, sound);
  decode_meta1(header);
}

template <class T>
void decode_values(std::span<const std::byte> bytes, ByteOrder order) {
  std::vector<T> values(bytes.size() / sizeof(T));
  bytes = bytes.first(values.size() * sizeof(T));
  format::decode(bytes, order, std::span(values));
  std::vector<std::byte> again(bytes.size());
  format::encode(std::span<const T>(values), order, again);
  require(std::equal(bytes.begin(), bytes.end(), again.begin()), "an array is encoded as it was decoded");
}

// Decodes the identity of a striped file. Its last field is the FNV-1a hash of the bytes before it
// (docs/format.md, "Striped files").
void decode_stripe_identity(Recipe recipe, bool sound) {
  auto bytes = recipe.filled<format::StripeIdentity::bytes>();
  if (sound) {
    std::memcpy(bytes.data(), "SHEAFSTR\x01\0\0", 12);
    uint64_t sum = 0xcbf29ce484222325;
    for (size_t i = 0; i < bytes.size() - 8; ++i)
      sum = (sum ^ static_cast<uint64_t>(bytes[i])) * 0x100000001b3;
    store<uint64_t>(&bytes[bytes.size() - 8], sum, ByteOrder::little);
  }
  const auto identity = format::stripe_identity_of(bytes);
  if (!identity) return;
  require(identity->unit >= 0 && identity->index >= 0 && identity->index < identity->count,
          "limits of a stripe identity");
  const std::string again = format::to_bytes(*identity);
  require(format::stripe_identity_of(std::as_bytes(std::span(again))) == identity,
          "an identity is encoded as it was decoded");
}

}  // namespace

void fuzz_header(std::span<const std::byte> input) {
  Recipe recipe(input);
  const uint8_t kind = recipe.byte();
  const bool sound = kind & 0x80;
  const ByteOrder order = kind & 0x40 ? ByteOrder::big : ByteOrder::little;
  const MemoryBound bound(MemoryBound::for_structure(std::ssize(input)));
  try {
    switch (kind % 8) {
      case 0:
        return decode_values<int64_t>(recipe.rest(), order);
      case 1:
        return decode_values<int32_t>(recipe.rest(), order);
      case 2: {
        const auto stored = recipe.filled<format::pointer_size>();
        return require(format::encode(format::decode_pointer(stored, order), order) == stored,
                       "a pointer is encoded as it was decoded");
      }
      case 3:
        return decode_stripe_identity(recipe, sound);
      case 4: {
        const auto bytes = recipe.bytes(format::fixed_size);
        decode_meta1(bytes);
        return decode_extension(bytes, false);
      }
      default:
        return decode_parts(recipe, sound);
    }
  } catch (const Error& e) {
    require(e.what()[0] != '\0', "an error has a message");
  }
}

}  // namespace sheaf::fuzz
