#include "format/header.hpp"

#include <algorithm>
#include <cstdio>

#include "format/fields.hpp"

namespace sheaf::format {

namespace {

struct HeaderAt {
  enum : size_t {
    magic = 0,
    order = 4,
    numbers = 8,
    since_v3 = 32,
    prefix = 52,
    prefix_v2 = 32,
  };
};

template <class H>
auto header_numbers(H& h) {
  return std::tie(h.library, h.patch, h.version, h.fsblksize, h.ntasks, h.nfiles);
}

template <class H>
auto header_since_v3(H& h) {
  return std::tie(h.filenumber, h.flag1, h.flag2);
}

}  // namespace

std::array<std::byte, fixed_size> encode(const Header& h) {
  std::array<std::byte, fixed_size> bytes{};
  std::byte* p = bytes.data();
  const ByteOrder order = h.metadata_order;
  const std::string_view magic = h.encoded ? encoded_magic : plain_magic;
  std::memcpy(p + HeaderAt::magic, magic.data(), magic.size());
  p[HeaderAt::order] = p[HeaderAt::order + 3] = static_cast<std::byte>(h.metadata_order);
  p[HeaderAt::order + 1] = p[HeaderAt::order + 2] = static_cast<std::byte>(h.userdata_order);
  put_fields(p + HeaderAt::numbers, header_numbers(h), order);
  put_fields(p + HeaderAt::since_v3, header_since_v3(h), order);
  std::memcpy(p + HeaderAt::prefix, h.prefix.data(), prefix_size);
  return bytes;
}

bool says_encoded(std::span<const std::byte> bytes) { return begins_with(bytes, encoded_magic); }

bool begins_as_multifile(std::span<const std::byte> bytes) {
  return begins_with(bytes, plain_magic) || says_encoded(bytes);
}

namespace {

// Throws `damaged` or `unsupported`, naming `path`, if a field is outside its limits.
void require_limits(const Header& h, std::string_view path) {
  if (h.fsblksize <= 0)
    throw_damaged(path, "file-system block size " + std::to_string(h.fsblksize) + " in the header");
  if (h.ntasks < 0) throw_damaged(path, std::to_string(h.ntasks) + " tasks in the header");
  if (h.nfiles < 1) throw_damaged(path, std::to_string(h.nfiles) + " physical files in the header");
  const int64_t keyval = h.version >= 5 ? h.flag1 >> 32 : 0;
  if (keyval != 0 && keyval != static_cast<int32_t>(KeyvalMode::none) &&
      keyval != static_cast<int32_t>(KeyvalMode::inline_))
    throw file_error(Code::unsupported, path, "key-value mode " + std::to_string(keyval) + " is not known");
  if (h.filenumber < 0 || (h.nfiles > 1 && h.filenumber >= h.nfiles))
    throw_damaged(
        path, "file number " + std::to_string(h.filenumber) + " of " + std::to_string(h.nfiles) + " files");
}

}  // namespace

Header decode_header(std::span<const std::byte> bytes, std::string_view path) {
  const std::byte* p = bytes.data();
  if (!begins_as_multifile(bytes))
    throw file_error(
        Code::not_a_multifile, path,
        "not a SION multifile (it begins neither with \"sion\" nor with the magic of encoded ones)");
  if (bytes.size() < static_cast<size_t>(fixed_size_v2)) throw_damaged(path, "truncated inside the header");

  Header h;
  h.encoded = says_encoded(bytes);
  const auto metadata = static_cast<uint8_t>(p[HeaderAt::order]);
  const auto userdata = static_cast<uint8_t>(p[HeaderAt::order + 1]);
  if (metadata > 1 || userdata > 1) throw_damaged(path, "impossible byte-order word in the header");
  h.metadata_order = static_cast<ByteOrder>(metadata);
  h.userdata_order = static_cast<ByteOrder>(userdata);
  const ByteOrder order = h.metadata_order;

  get_fields(p + HeaderAt::numbers, header_numbers(h), order);
  if (h.version < oldest_version || h.version > newest_version)
    throw file_error(Code::unsupported, path,
                     "file format version " + std::to_string(h.version) + " is not one of 2 to 5");
  if (h.encoded && h.version != newest_version)
    throw_damaged(path, "encoded, and of format version " + std::to_string(h.version));
  if (h.version == 2) {
    h.filenumber = 1;
    h.flag1 = Header::flag_of(KeyvalMode::none);
  } else {
    if (bytes.size() < static_cast<size_t>(fixed_size)) throw_damaged(path, "truncated inside the header");
    get_fields(p + HeaderAt::since_v3, header_since_v3(h), order);
  }
  std::memcpy(h.prefix.data(), p + (h.version == 2 ? HeaderAt::prefix_v2 : HeaderAt::prefix), prefix_size);
  h.prefix.back() = '\0';
  require_limits(h, path);
  return h;
}

std::array<std::byte, pointer_size> encode(const Pointer& pointer, ByteOrder order) {
  std::array<std::byte, pointer_size> bytes;
  store<int32_t>(bytes.data(), pointer.maxblocks, order);
  store<int64_t>(bytes.data() + 4, pointer.varheader, order);
  return bytes;
}

Pointer decode_pointer(std::span<const std::byte, pointer_size> bytes, ByteOrder order) {
  return {load<int32_t>(bytes.data(), order), load<int64_t>(bytes.data() + 4, order)};
}

std::string physical_name(std::string_view base, int32_t number) {
  std::string name(base);
  if (number > 0) {
    char suffix[16];
    std::snprintf(suffix, sizeof suffix, ".%06d", number);
    name += suffix;
  }
  if (name.size() >= static_cast<size_t>(prefix_size))
    throw Error(Code::invalid_argument, "file name of " + std::to_string(name.size()) +
                                            " characters; at most 1023 fit into a multifile: '" + name + "'");
  return name;
}

}  // namespace sheaf::format
