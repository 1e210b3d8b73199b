// storage/filesystem/traits: the text form of traits, and the layouts that file systems store in attributes.
#include <algorithm>
#include <cstring>

#include "base/parse.hpp"
#include "storage/filesystem/lustre.hpp"
#include "storage/filesystem/traits.hpp"

namespace sheaf {

namespace {

std::string sized(int64_t bytes) {
  constexpr const char* units[] = {"", " KiB", " MiB", " GiB"};
  size_t unit = 0;
  for (; bytes > 0 && bytes % 1024 == 0 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return std::to_string(bytes) + (unit == 0 ? " bytes" : units[unit]);
}

template <class Named>
bool set_named(Named& target, std::string_view name, std::initializer_list<Named> all) {
  const auto found = std::ranges::find_if(all, [&](Named one) { return name == name_of(one); });
  if (found == all.end()) return false;
  target = *found;
  return true;
}

bool set_truth(bool& target, std::string_view value) {
  if (value != "yes" && value != "no") return false;
  target = value == "yes";
  return true;
}

bool set_number(int64_t& target, std::optional<int64_t> number, int64_t smallest) {
  if (!number || *number < smallest) return false;
  target = *number;
  return true;
}

bool apply_word(FileSystemTraits& traits, std::string_view word) {
  const size_t equals = word.find('=');
  const auto key = trimmed(word.substr(0, equals));
  if (equals == std::string_view::npos)
    return set_named(traits.coherence, key,
                     {Coherence::local, Coherence::coherent, Coherence::close_to_open});
  const auto value = trimmed(word.substr(equals + 1));
  if (key == "locks")
    return set_named(traits.locks, value, {LockScope::none, LockScope::host, LockScope::global});
  if (key == "unit") return set_number(traits.unit, parse_bytes(value), 1);
  if (key == "stripes") return set_number(traits.stripes, parse_number(value), 0);
  if (key == "stripe") return set_number(traits.stripe_size, parse_bytes(value), 0);
  if (key == "fallocate") return set_truth(traits.fallocate, value);
  return key == "mmap" && set_truth(traits.mmap, value);
}

// Reads a number in the byte order of the host, in which clients of either byte order get these attributes.
template <class Number>
Number number_at(std::span<const std::byte> bytes, size_t at) {
  Number number = 0;
  if (at + sizeof number <= bytes.size()) std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// struct lov_comp_md_v1: magic, size, generation, flags, number of entries. Entries of 48 bytes start at byte
// 32, each with the offset of its struct lov_mds_md.
constexpr uint32_t lustre_composite = 0x0BD60BD0;
constexpr size_t lustre_entry_count_at = 14;
constexpr size_t lustre_entries_at = 32;
constexpr size_t lustre_entry_bytes = 48;
constexpr size_t lustre_offset_in_entry = 24;

constexpr uint32_t lustre_plain_3 = 0x0BD30BD0;

bool apply_plain_layout(FileSystemTraits& traits, std::span<const std::byte> attribute) {
  LustreLayout layout;
  if (attribute.size() < sizeof layout) return false;
  std::memcpy(&layout, attribute.data(), sizeof layout);
  if ((layout.magic != LustreLayout().magic && layout.magic != lustre_plain_3) || layout.stripe_size == 0)
    return false;
  traits.unit = traits.stripe_size = layout.stripe_size;
  const bool on_all = layout.stripe_count == LustreLayout::all_servers;
  traits.stripes = on_all ? 0 : std::max<int64_t>(layout.stripe_count, 1);
  return true;
}

}  // namespace

const char* name_of(Coherence coherence) {
  constexpr const char* names[] = {"local", "coherent", "close-to-open"};
  static_assert(static_cast<size_t>(Coherence::close_to_open) + 1 == std::size(names));
  return names[static_cast<size_t>(coherence)];
}

const char* name_of(LockScope locks) {
  constexpr const char* names[] = {"none", "host", "global"};
  static_assert(static_cast<size_t>(LockScope::global) + 1 == std::size(names));
  return names[static_cast<size_t>(locks)];
}

std::string to_string(const FileSystemTraits& traits) {
  std::string text = std::string(name_of(traits.kind)) + ": " + name_of(traits.coherence) + ", locks " +
                     name_of(traits.locks) + ", unit " + sized(traits.unit);
  if (traits.stripe_size > 0)
    text += ", " +
            (traits.stripes > 0 ? std::to_string(traits.stripes) : std::string("an unknown number of")) +
            (traits.stripes == 1 ? " stripe of " : " stripes of ") + sized(traits.stripe_size);
  return text + ", fallocate " + (traits.fallocate ? "yes" : "no") + ", mmap " + (traits.mmap ? "yes" : "no");
}

void apply_words(FileSystemTraits& traits, std::string_view words, std::string* unknown) {
  for (std::string_view rest = words; !rest.empty();) {
    const auto word = take_word(rest);
    if (!word.empty() && !apply_word(traits, word) && unknown && unknown->empty()) *unknown = word;
  }
}

std::string_view known_traits_words() {
  return "local, coherent, close-to-open, locks=none|host|global, unit=SIZE, stripes=N, stripe=SIZE, "
         "fallocate=yes|no, mmap=yes|no, with commas between them";
}

// BeeGFS clients are coherent only without any cache.
void apply_beegfs_config(FileSystemTraits& traits, std::string_view config) {
  const auto says = [&](const char* key) { return trimmed(value_in(config, '\n', key).value_or("")); };
  if (says("tuneFileCacheType") == "none") traits.coherence = Coherence::coherent;
  if (says("tuneFileCacheType") == "native") traits.mmap = true;
  const auto locks = says("tuneUseGlobalFileLocks");
  if (locks == "true" || locks == "1") traits.locks = LockScope::global;
}

// If a file has several components, the largest shared granularity and the largest number of stripes apply.
bool apply_lustre_layout(FileSystemTraits& traits, std::span<const std::byte> attribute) {
  if (number_at<uint32_t>(attribute, 0) != lustre_composite) return apply_plain_layout(traits, attribute);
  const size_t entries = number_at<uint16_t>(attribute, lustre_entry_count_at);
  bool any = false;
  int64_t stripes = 1;
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = lustre_entries_at + i * lustre_entry_bytes;
    const size_t at = number_at<uint32_t>(attribute, entry + lustre_offset_in_entry);
    FileSystemTraits one;
    if (at < lustre_entries_at || at >= attribute.size() || !apply_plain_layout(one, attribute.subspan(at)))
      continue;
    traits.unit = traits.stripe_size = any ? std::max(traits.unit, one.unit) : one.unit;
    stripes = stripes == 0 || one.stripes == 0 ? 0 : std::max(stripes, one.stripes);
    any = true;
  }
  if (any) traits.stripes = stripes;
  return any;
}

bool apply_ceph_layout(FileSystemTraits& traits, std::string_view attribute) {
  const auto number = [&](const char* key) {
    return parse_number(value_in(attribute, ' ', key).value_or("")).value_or(0);
  };
  const int64_t size = number("stripe_unit");
  const int64_t count = number("stripe_count");
  const int64_t object = number("object_size");
  if (size <= 0 || count <= 0 || object <= 0) return false;
  traits.unit = count == 1 ? object : size;
  traits.stripe_size = size;
  traits.stripes = count;
  return true;
}

}  // namespace sheaf
