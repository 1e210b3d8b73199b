// cli/load: multifiles as the tools read them.
#include <cstdio>

#include "cli/commands.hpp"
#include "stripedfile/striped_store.hpp"

namespace sheaf::cli {

void tell_unclosed(const std::string& path) {
  std::fprintf(stderr,
               "'%s' was not closed: only what its tasks had flushed, and chunks they had completed, is here "
               "(`sheaf repair` makes it complete)\n",
               path.c_str());
}

Multifile load(const std::string& path, Checking checking) {
  Multifile m = load_multifile(any_store(), path, checking);
  if (!m.closed()) tell_unclosed(path);
  return m;
}

}  // namespace sheaf::cli
