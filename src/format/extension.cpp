#include "format/extension.hpp"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format/fields.hpp"

namespace sheaf::format {

std::string digits_of(const Identity& identity) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::byte each : identity) {
    text += digits[static_cast<size_t>(each >> 4)];
    text += digits[static_cast<size_t>(each & std::byte{15})];
  }
  return text;
}

namespace {

constexpr unsigned char header_magic[8] = {0x89, 'S', 'h', 'e', 'a', 'f', '\r', '\n'};
constexpr unsigned char footer_magic[8] = {'S', 'h', 'e', 'a', 'f', 'E', 'n', 'd'};
constexpr uint16_t extension_version = 1;

struct ExtensionAt {
  enum : size_t { fields = 8, flags = 10, hash = 56 };
};
struct FooterAt {
  enum : size_t { hash = 48, magic = 56 };
};

// Lists the fields of an extension header. `unused` stands for bytes that are zero.
template <class E, class Version, class Unused>
auto extension_fields(E& e, Version& version, Unused& unused) {
  return std::tie(version, e.flags, e.codec, e.level, e.shuffle, unused, e.identity, e.piece, e.frame,
                  e.guessed_ends);
}
template <class Head, class T>
auto footer_fields(Head& head, T& t) {
  return std::tie(head.table, head.sections, t.pointer.maxblocks, t.pointer.varheader, t.identity,
                  t.plain_end);
}
template <class S, class Unused>
auto section_fields(S& s, Unused& unused) {
  return std::tie(s.kind, unused, s.offset, s.length, s.hash);
}
template <class G>
auto group_fields(G& g) {
  return std::tie(g.meta1, g.meta2, g.first_sum, g.sums);
}

bool aligned(int64_t offset) { return offset % 8 == 0; }

}  // namespace

void put_extension(const Extension& e, std::span<std::byte, fixed_size> header) {
  std::byte* p = header.data() + extension_offset;
  std::fill(p, p + extension_size, std::byte{});
  std::memcpy(p, header_magic, sizeof header_magic);
  constexpr std::byte unused{};
  put_fields(p + ExtensionAt::fields, extension_fields(e, extension_version, unused));
  put_little<uint64_t>(p + ExtensionAt::hash, hash_of(header.first(extension_offset + ExtensionAt::hash)));
}

std::optional<Extension> decode_extension(std::span<const std::byte> header, std::string_view path) {
  if (std::ssize(header) < fixed_size) return std::nullopt;
  const std::byte* p = header.data() + extension_offset;
  if (std::memcmp(p, header_magic, sizeof header_magic) != 0) {
    if (says_encoded(header))
      throw_damaged(path, "encoded, but the extension header that says how is not there");
    return std::nullopt;
  }
  if (get_little<uint64_t>(p + ExtensionAt::hash) !=
      hash_of(header.first(extension_offset + ExtensionAt::hash)))
    throw_damaged(path, "the header does not match its checksum");
  Extension e;
  uint16_t version;
  std::byte unused;
  get_fields(p + ExtensionAt::fields, extension_fields(e, version, unused));
  if (version != extension_version || (e.flags & ~flags_known) >= first_mandatory_flag)
    throw file_error(Code::unsupported, path,
                     "made by a newer version of the library (extensions " + std::to_string(version) +
                         ", flags " + std::to_string(e.flags) + "); use that version to read it");
  if (says_encoded(header) && !e.compressed())
    throw_damaged(path, "encoded, but its extension header does not say how");
  const bool piece_fits =
      e.checksums() ? e.piece > 0 && e.piece % 4096 == 0 && e.piece <= largest_piece : e.piece == 0;
  if (!piece_fits)
    throw_damaged(path, "checksums of " + std::to_string(e.piece) + " bytes each in the extension header");
  return e;
}

static bool has_flag(std::span<const std::byte> header, Flag flag) {
  if (std::ssize(header) < fixed_size) return false;
  const std::byte* p = header.data() + extension_offset;
  return std::memcmp(p, header_magic, sizeof header_magic) == 0 &&
         (get_little<uint16_t>(p + ExtensionAt::flags) & flag);
}

bool says_compressed(std::span<const std::byte> header) {
  return says_encoded(header) || has_flag(header, flag_compressed);
}

bool says_guessed(std::span<const std::byte> header) { return has_flag(header, flag_guessed); }

bool has_room_for_extension(std::span<const std::byte, fixed_size> header) {
  const auto names = header.last<prefix_size>().first<max_extended_name + 1>();
  return std::ranges::find(names, std::byte{}) != names.end();
}

std::vector<std::byte> encode(const Trailer& t) {
  std::vector<std::byte> bytes(static_cast<size_t>(t.end() - t.table));
  std::byte* p = bytes.data();
  constexpr uint32_t unused = 0;
  for (const Section& s : t.sections) {
    put_fields(p, section_fields(s, unused));
    p += section_entry_size;
  }
  const FooterHead head{t.table, static_cast<uint32_t>(t.sections.size())};
  put_fields(p, footer_fields(head, t));
  put_little<uint64_t>(p + FooterAt::hash,
                       hash_of(std::span(bytes).first(bytes.size() - footer_size + FooterAt::hash)));
  std::memcpy(p + FooterAt::magic, footer_magic, sizeof footer_magic);
  return bytes;
}

std::optional<FooterHead> decode_footer(std::span<const std::byte, footer_size> footer, int64_t file_size,
                                        std::string_view path) {
  const std::byte* p = footer.data();
  if (std::memcmp(p + FooterAt::magic, footer_magic, sizeof footer_magic) != 0) return std::nullopt;
  FooterHead head;
  get_fields(p, std::tie(head.table, head.sections));
  if (head.table < fixed_size || !aligned(head.table) || head.sections > max_sections ||
      file_size - footer_size - head.table != section_entry_size * int64_t{head.sections})
    throw_damaged(path, "the table of its trailer is said to begin at offset " + std::to_string(head.table) +
                            " with " + std::to_string(head.sections) +
                            " sections, which does not fit its size");
  return head;
}

Trailer decode_trailer(std::span<const std::byte> bytes, int64_t file_size, std::string_view path) {
  if (std::ssize(bytes) < footer_size) throw_damaged(path, "truncated inside the trailer");
  const auto footer = bytes.last<footer_size>();
  auto head = decode_footer(footer, file_size, path);
  if (!head || std::ssize(bytes) != section_entry_size * int64_t{head->sections} + footer_size)
    throw_damaged(path, "the trailer is cut off");
  if (get_little<uint64_t>(footer.data() + FooterAt::hash) !=
      hash_of(bytes.first(bytes.size() - footer_size + FooterAt::hash)))
    throw_damaged(path, "the trailer does not match its checksum");
  Trailer t;
  get_fields(footer.data(), footer_fields(*head, t));
  t.table = head->table;
  for (uint32_t i = 0; i < head->sections; ++i) {
    Section s;
    uint32_t unused;
    get_fields(bytes.data() + section_entry_size * i, section_fields(s, unused));
    if (s.offset < t.plain_end || t.plain_end < 0 || s.length < 0 || !aligned(s.offset) ||
        s.length > t.table || s.offset > t.table - s.length)
      throw_damaged(path, "section " + std::to_string(i) + " of the trailer lies outside of it");
    if (t.find(s.kind)) throw_damaged(path, "section " + std::to_string(i) + " of the trailer occurs twice");
    t.sections.push_back(s);
  }
  return t;
}

std::array<std::byte, group_entry_size> encode(const Group& g) {
  std::array<std::byte, group_entry_size> bytes;
  put_fields(bytes.data(), group_fields(g));
  return bytes;
}

Group decode_group(std::span<const std::byte, group_entry_size> bytes) {
  Group g;
  get_fields(bytes.data(), group_fields(g));
  return g;
}

Hash::Hash()
    : state_(XXH3_createState(), [](void* state) { XXH3_freeState(static_cast<XXH3_state_t*>(state)); }) {
  if (!state_) throw std::bad_alloc();
  XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_.get()));
}
void Hash::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state_.get()), bytes.data(), bytes.size());
}
uint64_t Hash::value() const { return XXH3_64bits_digest(static_cast<XXH3_state_t*>(state_.get())); }

uint64_t hash_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace sheaf::format
