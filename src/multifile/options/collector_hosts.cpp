#include "multifile/options/collector_hosts.hpp"

#include <regex.h>

#include <array>

#include "base/error.hpp"

namespace sheaf::multifile {

bool HostPattern::matches(const std::string& host) const {
  if (!given()) return true;
  regex_t compiled;
  if (const int failed = regcomp(&compiled, text.c_str(), REG_NOSUB | (extended ? REG_EXTENDED : 0))) {
    std::array<char, 128> reason{};
    regerror(failed, &compiled, reason.data(), reason.size());
    throw Error(Code::invalid_argument,
                "hosts of collectors: '" + text + "' is no regular expression: " + reason.data());
  }
  const bool found = regexec(&compiled, host.c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return found;
}

}  // namespace sheaf::multifile
