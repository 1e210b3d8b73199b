#include "base/os/host_name.hpp"

#include <unistd.h>

namespace sheaf {

namespace {

std::string_view without_domain(std::string_view name) { return name.substr(0, name.find('.')); }

}  // namespace

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

bool is_this_host(std::string_view name) {
  const bool is_address = name.find_first_not_of("0123456789.") == std::string_view::npos;
  return !is_address && without_domain(name) == without_domain(host_name());
}

}  // namespace sheaf
