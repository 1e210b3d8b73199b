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
  enum : size_t { version = 8, encoding = 10, sizes = 16, hash = 56 };
};
struct FooterAt {
  enum : size_t { head = 0, rest = 12, hash = 48, magic = 56 };
};
struct SectionAt {
  enum : size_t { kind = 0, place = 8 };
};

template <class E>
auto extension_encoding(E& e) {
  return std::tie(e.flags, e.codec, e.level, e.shuffle);
}
template <class E>
auto extension_sizes(E& e) {
  return std::tie(e.identity, e.piece, e.frame);
}
template <class T>
auto footer_rest(T& t) {
  return std::tie(t.pointer.maxblocks, t.pointer.varheader, t.identity, t.plain_end);
}
template <class S>
auto section_place(S& s) {
  return std::tie(s.offset, s.length, s.hash);
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
  put_little<uint16_t>(p + ExtensionAt::version, extension_version);
  put_fields(p + ExtensionAt::encoding, extension_encoding(e));
  put_fields(p + ExtensionAt::sizes, extension_sizes(e));
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
  get_fields(p + ExtensionAt::encoding, extension_encoding(e));
  get_fields(p + ExtensionAt::sizes, extension_sizes(e));
  if (version != extension_version || (e.flags & ~flags_known) >= first_flag_not_to_ignore)
    throw file_error(Code::unsupported, path,
                     "made by a newer version of the library (extensions " + std::to_string(version) +
                         ", flags " + std::to_string(e.flags) + "); use that version to read it");
  if (says_encoded(header) && !e.compressed())
    throw_damaged(path, "encoded, but its extension header does not say how");
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
         (get_little<uint16_t>(p + ExtensionAt::encoding) & flag_compressed);
}

const Section* Trailer::find(SectionKind kind) const {
  const auto it = std::ranges::find(sections, kind, &Section::kind);
  return it == sections.end() ? nullptr : &*it;
}

std::vector<std::byte> encode(const Trailer& t) {
  std::vector<std::byte> bytes(static_cast<size_t>(t.end() - t.table));
  std::byte* p = bytes.data();
  for (const Section& s : t.sections) {
    put_little(p + SectionAt::kind, static_cast<uint32_t>(s.kind));
    put_fields(p + SectionAt::place, section_place(s));
    p += section_entry_size;
  }
  const FooterHead head{t.table, static_cast<uint32_t>(t.sections.size())};
  put_fields(p + FooterAt::head, std::tie(head.table, head.sections));
  put_fields(p + FooterAt::rest, footer_rest(t));
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
  get_fields(p + FooterAt::head, std::tie(head.table, head.sections));
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
  get_fields(f + FooterAt::rest, footer_rest(t));
  t.table = head->table;
  for (uint32_t i = 0; i < head->sections; ++i) {
    const std::byte* p = bytes.data() + section_entry_size * i;
    Section s{static_cast<SectionKind>(get_little<uint32_t>(p + SectionAt::kind))};
    get_fields(p + SectionAt::place, section_place(s));
    if (s.offset < t.plain_end || t.plain_end < 0 || s.length < 0 || !aligned(s.offset) ||
        s.length > t.table || s.offset > t.table - s.length)
      throw_damaged(path, "section " + std::to_string(i) + " of the trailer lies outside of it");
    if (s.kind < SectionKind::groups || s.kind > SectionKind::taken) continue;
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
