#include "base/printable.hpp"

#include <cstdint>
#include <cstdio>
#include <iterator>

namespace sheaf {

namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: not UTF-8
};

// Decodes the first character of `text`, which is not empty. Rejects overlong forms, surrogates and code
// points above U+10FFFF.
Character decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  uint32_t code = lead & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes};
}

// Returns true for characters that control the terminal, the text direction or the line, and for invisible
// ones.
bool is_hidden(uint32_t code) {
  const auto within = [code](uint32_t first, uint32_t last) { return code >= first && code <= last; };
  return within(0x80, 0x9f) || code == 0xad || code == 0x61c || within(0x200b, 0x200f) ||
         within(0x2028, 0x202e) || within(0x2060, 0x206f) || code == 0xfeff || within(0xfff9, 0xfffb) ||
         (code & 0xfffe) == 0xfffe || within(0xe0000, 0xe0fff);
}

void append_escaped(std::string& out, const char* format, uint32_t code) {
  char escape[16];
  std::snprintf(escape, sizeof escape, format, code);
  out += escape;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [code, bytes] = decode(text);
    if (bytes == 0) {
      append_escaped(out, "\\x%02x", static_cast<uint8_t>(text.front()));
    } else if (code < 0x20 || code == 0x7f) {
      if (code == '\n' || code == '\r' || code == '\t') {
        out += code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t";
      } else {
        append_escaped(out, "\\x%02x", code);
      }
    } else if (is_hidden(code)) {
      append_escaped(out, code > 0xffff ? "\\U%08x" : "\\u%04x", code);
    } else {
      out.append(text.substr(0, bytes));
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

std::string in_units(int64_t bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", unit == 0 ? 0 : 1, value, units[unit]);
  return text;
}

}  // namespace sheaf
