// sfio/stripe_name: parses the names of striped files (SFIO paper, section 3:
// "<host>,<path>;<host>,<path>...").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.hpp"
#include "sfio/service/constants.hpp"

namespace sheaf::sfio {

struct SubfilePlace {
  std::string host;
  std::string path;

  bool operator==(const SubfilePlace&) const = default;
};

struct StripeName {
  std::vector<SubfilePlace> subfiles;  // in the order of the stripes
  int64_t unit = 0;                    // bytes; 0: not given
  std::string given;                   // original text, for messages
};

inline constexpr std::string_view stripe_scheme = "sfio:";

// Returns true if a path names a striped file. For programs that handle only paths.
inline bool is_stripe_path(std::string_view path) { return path.starts_with(stripe_scheme); }

// Parses "host,path;host,path;", with or without a leading `sfio:`. A first element "unit=BYTES" sets the
// stripe unit. If the text after the last semicolon has no comma, it is appended to all paths, because
// programs append suffixes to names: "h1,/a;h2,/b;.000001" denotes h1,/a.000001 and h2,/b.000001. Throws
// Error invalid_argument, with the expected syntax, for anything else, for an empty or repeated place, and
// for more than 4096 subfiles.
SHEAF_EXPORT StripeName parse_stripe_name(std::string_view name);

}  // namespace sheaf::sfio
