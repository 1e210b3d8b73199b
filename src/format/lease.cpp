#include "format/lease.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace sheaf::format {

namespace {

constexpr std::string_view first_line = "Sheaf lease 1\n";
constexpr size_t max_text_length = 128;

// Makes one word of `text`: replaces blanks and control characters, and truncates it.
std::string word(std::string_view text) {
  std::string result(text.substr(0, max_text_length));
  std::ranges::replace_if(
      result, [](char c) { return c <= ' ' || c > '~'; }, '?');
  return result;
}

// Returns the value of the line "NAME VALUE", or nullopt if the line is missing.
std::optional<std::string_view> value_of(std::string_view text, std::string_view name) {
  const std::string begin = "\n" + std::string(name) + " ";
  const size_t at = text.find(begin);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + begin.size());
  const size_t end = rest.find('\n');
  return end == std::string_view::npos ? std::nullopt : std::optional(rest.substr(0, end));
}

template <class Number>
bool read(std::string_view text, std::string_view name, Number& number, int base = 10) {
  const auto value = value_of(text, name);
  if (!value) return false;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number, base);
  return error == std::errc{} && end == value->data() + value->size();
}

}  // namespace

std::array<std::byte, lease_size> encode(const Lease& lease) {
  std::array<char, 17> id{};
  std::to_chars(id.data(), id.data() + 16, lease.id, 16);
  std::string text(first_line);
  text += "id " + std::string(id.data()) + "\nhost " + word(lease.host) + "\nboot " + word(lease.boot) +
          "\npid " + std::to_string(lease.pid) + "\nstarted " + std::to_string(lease.started) + "\ncounter " +
          std::to_string(lease.counter) + "\n";
  if (lease.since > 0) text += "since " + std::to_string(lease.since) + "\n";
  text.resize(lease_size, '\n');
  std::array<std::byte, lease_size> bytes;
  std::memcpy(bytes.data(), text.data(), bytes.size());
  return bytes;
}

std::optional<Lease> decode_lease(std::span<const std::byte> bytes) {
  if (bytes.size() < lease_size) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), lease_size);
  if (!text.starts_with(first_line)) return std::nullopt;
  Lease lease;
  const auto host = value_of(text, "host");
  const auto boot = value_of(text, "boot");
  if (!host || !boot || !read(text, "id", lease.id, 16) || !read(text, "pid", lease.pid) ||
      !read(text, "started", lease.started) || !read(text, "counter", lease.counter))
    return std::nullopt;
  if (!read(text, "since", lease.since)) lease.since = 0;
  lease.host = *host;
  lease.boot = *boot;
  return lease;
}

}  // namespace sheaf::format
