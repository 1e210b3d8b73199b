// stripedfile/stripe_name: how a striped file is named (SFIO paper, section 3:
// "<host>,<path>;<host>,<path>...").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.hpp"
#include "stripedfile/service/constants.hpp"

namespace sheaf {

struct SubfilePlace {
  std::string host;
  std::string path;

  bool operator==(const SubfilePlace&) const = default;
};

struct StripeName {
  std::vector<SubfilePlace> subfiles;  // in the order of the stripes
  int64_t unit = 0;                    // bytes; 0: not said
  std::string given;                   // as it was written, for messages
};

inline constexpr std::string_view stripe_scheme = "sfio:";

// Whether a path is the name of a striped file for programs that know only paths.
inline bool is_stripe_path(std::string_view path) { return path.starts_with(stripe_scheme); }

// Parses "host,path;host,path;", with or without `sfio:` in front. A first element "unit=BYTES" gives the
// stripe unit. What stands behind the last semicolon without a comma is appended to all paths, because
// programs append to names: "h1,/a;h2,/b;.000001" are h1,/a.000001 and h2,/b.000001. Throws Error
// invalid_argument, with what is expected, for anything else, an empty or repeated place and more than 4096
// subfiles.
SHEAF_EXPORT StripeName parse_stripe_name(std::string_view name);

}  // namespace sheaf
