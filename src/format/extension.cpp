#include "format/extension.hpp"

#include <algorithm>
#include <new>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sheaf::format {

namespace {

constexpr unsigned char header_magic[8] = {0x89, 'S', 'h', 'e', 'a', 'f', '\r', '\n'};
constexpr unsigned char footer_magic[8] = {'S', 'h', 'e', 'a', 'f', 'E', 'n', 'd'};
constexpr uint16_t extension_version = 1;

enum Field : size_t { at_version = 8, at_flags = 10, at_codec = 12, at_level = 13, at_shuffle = 14, at_identity = 16,
                      at_piece = 32, at_frame = 36, at_hash = 56 };
enum FooterField : size_t { at_table = 0, at_sections = 8, at_maxblocks = 12, at_varheader = 16, at_file_identity = 24,
                            at_plain_end = 40, at_footer_hash = 48, at_footer_magic = 56 };

template <class T>
void put(std::byte* to, T value) {
  if constexpr (sizeof(T) == 2) {
    to[0] = static_cast<std::byte>(value & 0xff);
    to[1] = static_cast<std::byte>(value >> 8);
  } else {
    store<T>(to, value, ByteOrder::little);
  }
}

template <class T>
T get(const std::byte* from) {
  if constexpr (sizeof(T) == 2) return static_cast<T>(static_cast<unsigned>(from[0]) | static_cast<unsigned>(from[1]) << 8);
  else return load<T>(from, ByteOrder::little);
}

[[noreturn]] void damaged(std::string_view path, const std::string& finding) {
  throw file_error(Code::damaged, path, finding);
}

bool aligned(int64_t offset) { return offset % 8 == 0; }

}  // namespace

void put_extension(const Extension& e, std::span<std::byte, fixed_size> header) {
  std::byte* p = header.data() + extension_offset;
  std::fill(p, p + extension_size, std::byte{});
  std::memcpy(p, header_magic, sizeof header_magic);
  put<uint16_t>(p + at_version, extension_version);
  put<uint16_t>(p + at_flags, e.flags);
  p[at_codec] = static_cast<std::byte>(e.codec);
  p[at_level] = static_cast<std::byte>(e.level);
  p[at_shuffle] = static_cast<std::byte>(e.shuffle);
  std::ranges::copy(e.identity, p + at_identity);
  put<uint32_t>(p + at_piece, e.piece);
  put<uint32_t>(p + at_frame, e.frame);
  put<uint64_t>(p + at_hash, hash_of(header.first(extension_offset + at_hash)));
}

std::optional<Extension> decode_extension(std::span<const std::byte> header, std::string_view path) {
  if (std::ssize(header) < fixed_size) return std::nullopt;
  const std::byte* p = header.data() + extension_offset;
  if (std::memcmp(p, header_magic, sizeof header_magic) != 0) {
    if (says_encoded(header)) damaged(path, "encoded, but the extension header that says how is not there");
    return std::nullopt;
  }
  if (get<uint64_t>(p + at_hash) != hash_of(header.first(extension_offset + at_hash)))
    damaged(path, "the header does not match its checksum");
  Extension e;
  const auto version = get<uint16_t>(p + at_version);
  e.flags = get<uint16_t>(p + at_flags);
  if (version != extension_version || (e.flags & ~flags_known) >= first_flag_not_to_ignore)
    throw file_error(Code::unsupported, path,
                     "made by a newer version of the library (extensions " + std::to_string(version) + ", flags " +
                         std::to_string(e.flags) + "); use that version to read it");
  if (says_encoded(header) && !e.compressed()) damaged(path, "encoded, but its extension header does not say how");
  e.codec = static_cast<Codec>(p[at_codec]);
  e.level = static_cast<int8_t>(p[at_level]);
  e.shuffle = static_cast<uint8_t>(p[at_shuffle]);
  std::copy_n(p + at_identity, e.identity.size(), e.identity.begin());
  e.piece = get<uint32_t>(p + at_piece);
  e.frame = get<uint32_t>(p + at_frame);
  const bool piece_fits = e.checksums() ? e.piece > 0 && e.piece % 4096 == 0 && e.piece <= largest_piece : e.piece == 0;
  if (!piece_fits) damaged(path, "checksums of " + std::to_string(e.piece) + " bytes each in the extension header");
  if (e.codec > Codec::lz4) throw file_error(Code::unsupported, path, "its codec is not known; use a newer version of the library");
  return e;
}

bool says_compressed(std::span<const std::byte> header) {
  if (says_encoded(header)) return true;
  if (std::ssize(header) < fixed_size) return false;
  const std::byte* p = header.data() + extension_offset;
  return std::memcmp(p, header_magic, sizeof header_magic) == 0 && (get<uint16_t>(p + at_flags) & flag_compressed);
}

const Section* Trailer::find(SectionKind kind) const {
  const auto it = std::ranges::find(sections, kind, &Section::kind);
  return it == sections.end() ? nullptr : &*it;
}

std::vector<std::byte> encode(const Trailer& t) {
  std::vector<std::byte> bytes(static_cast<size_t>(t.end() - t.table));
  std::byte* p = bytes.data();
  for (const Section& s : t.sections) {
    put<uint32_t>(p, static_cast<uint32_t>(s.kind));
    put<int64_t>(p + 8, s.offset);
    put<int64_t>(p + 16, s.length);
    put<uint64_t>(p + 24, s.hash);
    p += section_entry_size;
  }
  put<int64_t>(p + at_table, t.table);
  put<uint32_t>(p + at_sections, static_cast<uint32_t>(t.sections.size()));
  put<int32_t>(p + at_maxblocks, t.pointer.maxblocks);
  put<int64_t>(p + at_varheader, t.pointer.varheader);
  std::ranges::copy(t.identity, p + at_file_identity);
  put<int64_t>(p + at_plain_end, t.plain_end);
  put<uint64_t>(p + at_footer_hash, hash_of(std::span(bytes).first(bytes.size() - footer_size + at_footer_hash)));
  std::memcpy(p + at_footer_magic, footer_magic, sizeof footer_magic);
  return bytes;
}

std::optional<FooterHead> decode_footer(std::span<const std::byte, footer_size> footer, int64_t file_size,
                                        std::string_view path) {
  const std::byte* p = footer.data();
  if (std::memcmp(p + at_footer_magic, footer_magic, sizeof footer_magic) != 0) return std::nullopt;
  const FooterHead head{get<int64_t>(p + at_table), get<uint32_t>(p + at_sections)};
  if (head.table < fixed_size || !aligned(head.table) || head.sections > most_sections ||
      file_size - footer_size - head.table != section_entry_size * int64_t{head.sections})
    damaged(path, "the table of its trailer is said to begin at offset " + std::to_string(head.table) + " with " +
                      std::to_string(head.sections) + " sections, which does not fit its size");
  return head;
}

Trailer decode_trailer(std::span<const std::byte> bytes, int64_t file_size, std::string_view path) {
  if (std::ssize(bytes) < footer_size) damaged(path, "truncated inside the trailer");
  const auto footer = bytes.last<footer_size>();
  const auto head = decode_footer(footer, file_size, path);
  if (!head || std::ssize(bytes) != section_entry_size * int64_t{head->sections} + footer_size)
    damaged(path, "the trailer is cut off");
  const std::byte* f = footer.data();
  if (get<uint64_t>(f + at_footer_hash) != hash_of(bytes.first(bytes.size() - footer_size + at_footer_hash)))
    damaged(path, "the trailer does not match its checksum");
  Trailer t;
  t.pointer = {get<int32_t>(f + at_maxblocks), get<int64_t>(f + at_varheader)};
  std::copy_n(f + at_file_identity, t.identity.size(), t.identity.begin());
  t.plain_end = get<int64_t>(f + at_plain_end);
  t.table = head->table;
  for (uint32_t i = 0; i < head->sections; ++i) {
    const std::byte* p = bytes.data() + section_entry_size * i;
    const Section s{static_cast<SectionKind>(get<uint32_t>(p)), get<int64_t>(p + 8), get<int64_t>(p + 16),
                    get<uint64_t>(p + 24)};
    if (s.offset < t.plain_end || t.plain_end < 0 || s.length < 0 || !aligned(s.offset) || s.length > t.table ||
        s.offset > t.table - s.length)
      damaged(path, "section " + std::to_string(i) + " of the trailer lies outside of it");
    if (s.kind < SectionKind::groups || s.kind > SectionKind::frames) continue;
    if (t.find(s.kind)) damaged(path, "section " + std::to_string(i) + " of the trailer occurs twice");
    t.sections.push_back(s);
  }
  return t;
}

std::array<std::byte, group_entry_size> encode(const Group& g) {
  std::array<std::byte, group_entry_size> bytes;
  put<uint64_t>(bytes.data(), g.meta1);
  put<uint64_t>(bytes.data() + 8, g.meta2);
  put<int64_t>(bytes.data() + 16, g.first_sum);
  put<uint64_t>(bytes.data() + 24, g.sums);
  return bytes;
}

Group decode_group(std::span<const std::byte, group_entry_size> bytes) {
  const std::byte* p = bytes.data();
  return {get<uint64_t>(p), get<uint64_t>(p + 8), get<int64_t>(p + 16), get<uint64_t>(p + 24)};
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
