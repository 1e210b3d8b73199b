// multifile/options/collector_hosts: selects the hosts that may collect by a POSIX regular expression on
// their names (SION_MSA_COLLECTOR_HOSTNAME_REGEX and _EREGEX, docs/api-collective.md).
#pragma once

#include <string>

namespace sheaf::multifile {

struct HostPattern {
  std::string text;      // empty: all hosts
  bool extended = true;  // extended (regcomp's REG_EXTENDED) or basic

  bool given() const { return !text.empty(); }

  // Returns true if the expression matches any part of the name. Throws `invalid_argument`, with the C
  // library's message, if the text is no regular expression.
  bool matches(const std::string& host) const;
};

}  // namespace sheaf::multifile
