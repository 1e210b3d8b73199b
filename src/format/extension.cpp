#include "format/extension.hpp"

#include <algorithm>
#include <new>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format/fields.hpp"

namespace sheaf::format {

namespace {

constexpr unsigned char header_magic[8] = {0x89, 'S', 'h', 'e', 'a', 'f', '\r', '\n'};
constexpr unsigned char footer_magic[8] = {'S', 'h', 'e', 'a', 'f', 'E', 'n', 'd'};
constexpr uint16_t extension_version = 1;

struct ExtensionAt {
  enum : size_t {
    version = 8,
    flags = 10,
    codec = 12,
    level = 13,
    shuffle = 14,
    identity = 16,
    piece = 32,
    frame = 36,
    hash = 56
  };
};
struct FooterAt {
  enum : size_t {
    table = 0,
    sections = 8,
    maxblocks = 12,
    varheader = 16,
    file_identity = 24,
    plain_end = 40,
    hash = 48,
    magic = 56
  };
};

bool aligned(int64_t offset) { return offset % 8 == 0; }

}  // namespace

void put_extension(const Extension& e, std::span<std::byte, fixed_size> header) {
  std::byte* p = header.data() + extension_offset;
  std::fill(p, p + extension_size, std::byte{});
  std::memcpy(p, header_magic, sizeof header_magic);
  put_little<uint16_t>(p + ExtensionAt::version, extension_version);
  put_little<uint16_t>(p + ExtensionAt::flags, e.flags);
  p[ExtensionAt::codec] = static_cast<std::byte>(e.codec);
  p[ExtensionAt::level] = static_cast<std::byte>(e.level);
  p[ExtensionAt::shuffle] = static_cast<std::byte>(e.shuffle);
  std::ranges::copy(e.identity, p + ExtensionAt::identity);
  put_little<uint32_t>(p + ExtensionAt::piece, e.piece);
  put_little<uint32_t>(p + ExtensionAt::frame, e.frame);
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
  const auto version = get_little<uint16_t>(p + ExtensionAt::version);
  e.flags = get_little<uint16_t>(p + ExtensionAt::flags);
  if (version != extension_version || (e.flags & ~flags_known) >= first_flag_not_to_ignore)
    throw file_error(Code::unsupported, path,
                     "made by a newer version of the library (extensions " + std::to_string(version) +
                         ", flags " + std::to_string(e.flags) + "); use that version to read it");
  if (says_encoded(header) && !e.compressed())
    throw_damaged(path, "encoded, but its extension header does not say how");
  e.codec = static_cast<Codec>(p[ExtensionAt::codec]);
  e.level = static_cast<int8_t>(p[ExtensionAt::level]);
  e.shuffle = static_cast<uint8_t>(p[ExtensionAt::shuffle]);
  std::copy_n(p + ExtensionAt::identity, e.identity.size(), e.identity.begin());
  e.piece = get_little<uint32_t>(p + ExtensionAt::piece);
  e.frame = get_little<uint32_t>(p + ExtensionAt::frame);
  const bool piece_fits =
      e.checksums() ? e.piece > 0 && e.piece % 4096 == 0 && e.piece <= largest_piece : e.piece == 0;
  if (!piece_fits)
    throw_damaged(path, "checksums of " + std::to_string(e.piece) + " bytes each in the extension header");
  if (e.codec > last_codec)
    throw file_error(Code::unsupported, path, "its codec is not known; use a newer version of the library");
  return e;
}

bool says_compressed(std::span<const std::byte> header) {
  if (says_encoded(header)) return true;
  if (std::ssize(header) < fixed_size) return false;
  const std::byte* p = header.data() + extension_offset;
  return std::memcmp(p, header_magic, sizeof header_magic) == 0 &&
         (get_little<uint16_t>(p + ExtensionAt::flags) & flag_compressed);
}

const Section* Trailer::find(SectionKind kind) const {
  const auto it = std::ranges::find(sections, kind, &Section::kind);
  return it == sections.end() ? nullptr : &*it;
}

std::vector<std::byte> encode(const Trailer& t) {
  std::vector<std::byte> bytes(static_cast<size_t>(t.end() - t.table));
  std::byte* p = bytes.data();
  for (const Section& s : t.sections) {
    put_little<uint32_t>(p, static_cast<uint32_t>(s.kind));
    put_little<int64_t>(p + 8, s.offset);
    put_little<int64_t>(p + 16, s.length);
    put_little<uint64_t>(p + 24, s.hash);
    p += section_entry_size;
  }
  put_little<int64_t>(p + FooterAt::table, t.table);
  put_little<uint32_t>(p + FooterAt::sections, static_cast<uint32_t>(t.sections.size()));
  put_little<int32_t>(p + FooterAt::maxblocks, t.pointer.maxblocks);
  put_little<int64_t>(p + FooterAt::varheader, t.pointer.varheader);
  std::ranges::copy(t.identity, p + FooterAt::file_identity);
  put_little<int64_t>(p + FooterAt::plain_end, t.plain_end);
  put_little<uint64_t>(p + FooterAt::hash,
                       hash_of(std::span(bytes).first(bytes.size() - footer_size + FooterAt::hash)));
  std::memcpy(p + FooterAt::magic, footer_magic, sizeof footer_magic);
  return bytes;
}

std::optional<FooterHead> decode_footer(std::span<const std::byte, footer_size> footer, int64_t file_size,
                                        std::string_view path) {
  const std::byte* p = footer.data();
  if (std::memcmp(p + FooterAt::magic, footer_magic, sizeof footer_magic) != 0) return std::nullopt;
  const FooterHead head{get_little<int64_t>(p + FooterAt::table),
                        get_little<uint32_t>(p + FooterAt::sections)};
  if (head.table < fixed_size || !aligned(head.table) || head.sections > most_sections ||
      file_size - footer_size - head.table != section_entry_size * int64_t{head.sections})
    throw_damaged(path, "the table of its trailer is said to begin at offset " + std::to_string(head.table) +
                            " with " + std::to_string(head.sections) +
                            " sections, which does not fit its size");
  return head;
}

Trailer decode_trailer(std::span<const std::byte> bytes, int64_t file_size, std::string_view path) {
  if (std::ssize(bytes) < footer_size) throw_damaged(path, "truncated inside the trailer");
  const auto footer = bytes.last<footer_size>();
  const auto head = decode_footer(footer, file_size, path);
  if (!head || std::ssize(bytes) != section_entry_size * int64_t{head->sections} + footer_size)
    throw_damaged(path, "the trailer is cut off");
  const std::byte* f = footer.data();
  if (get_little<uint64_t>(f + FooterAt::hash) !=
      hash_of(bytes.first(bytes.size() - footer_size + FooterAt::hash)))
    throw_damaged(path, "the trailer does not match its checksum");
  Trailer t;
  t.pointer = {get_little<int32_t>(f + FooterAt::maxblocks), get_little<int64_t>(f + FooterAt::varheader)};
  std::copy_n(f + FooterAt::file_identity, t.identity.size(), t.identity.begin());
  t.plain_end = get_little<int64_t>(f + FooterAt::plain_end);
  t.table = head->table;
  for (uint32_t i = 0; i < head->sections; ++i) {
    const std::byte* p = bytes.data() + section_entry_size * i;
    const Section s{static_cast<SectionKind>(get_little<uint32_t>(p)), get_little<int64_t>(p + 8),
                    get_little<int64_t>(p + 16), get_little<uint64_t>(p + 24)};
    if (s.offset < t.plain_end || t.plain_end < 0 || s.length < 0 || !aligned(s.offset) ||
        s.length > t.table || s.offset > t.table - s.length)
      throw_damaged(path, "section " + std::to_string(i) + " of the trailer lies outside of it");
    if (s.kind < SectionKind::groups || s.kind > SectionKind::frames) continue;
    if (t.find(s.kind)) throw_damaged(path, "section " + std::to_string(i) + " of the trailer occurs twice");
    t.sections.push_back(s);
  }
  return t;
}

std::array<std::byte, group_entry_size> encode(const Group& g) {
  std::array<std::byte, group_entry_size> bytes;
  put_little<uint64_t>(bytes.data(), g.meta1);
  put_little<uint64_t>(bytes.data() + 8, g.meta2);
  put_little<int64_t>(bytes.data() + 16, g.first_sum);
  put_little<uint64_t>(bytes.data() + 24, g.sums);
  return bytes;
}

Group decode_group(std::span<const std::byte, group_entry_size> bytes) {
  const std::byte* p = bytes.data();
  return {get_little<uint64_t>(p), get_little<uint64_t>(p + 8), get_little<int64_t>(p + 16),
          get_little<uint64_t>(p + 24)};
}

Hash::Hash() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_));
}
Hash::~Hash() { XXH3_freeState(static_cast<XXH3_state_t*>(state_)); }
Hash::Hash(Hash&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
Hash& Hash::operator=(Hash&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
void Hash::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state_), bytes.data(), bytes.size());
}
uint64_t Hash::value() const { return XXH3_64bits_digest(static_cast<XXH3_state_t*>(state_)); }

uint64_t hash_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace sheaf::format
