// mode/collector_hosts: which machines may collect, by a regular expression of POSIX on their names
// (SION_MSA_COLLECTOR_HOSTNAME_REGEX and _EREGEX, docs/api-collective.md).
#pragma once

#include <string>

namespace sheaf {

struct HostPattern {
  std::string text;      // empty: all of them
  bool extended = true;  // extended (regcomp's REG_EXTENDED) or basic

  bool given() const { return !text.empty(); }

  // Whether it is found anywhere in the name. Throws invalid_argument, with the C library's words, if it is
  // no regular expression.
  bool matches(const std::string& host) const;
};

}  // namespace sheaf
