// cli/load: multifiles as the tools read them.
#include <cstdio>

#include "base/printable.hpp"
#include "cli/commands.hpp"
#include "cli/named.hpp"
#include "cli/terminal.hpp"
#include "journal/lease.hpp"
#include "stripedfile/striped_store.hpp"

namespace sheaf::cli {

void tell_unclosed(const std::string& path) {
  std::fprintf(
      stderr,
      "'%s' was not closed: only what its tasks had flushed, and chunks they had completed, is here (%s)\n",
      printable(path).c_str(), advice_on_unclosed(any_store(), path).c_str());
}

Multifile load(const std::string& path, bool ignore_checksums) {
  raise_descriptor_limit();
  refuse_containers(path);
  Multifile m = load_multifile(any_store(), path, ignore_checksums ? Checking::off : Checking::on);
  if (!m.closed()) tell_unclosed(path);
  return m;
}

}  // namespace sheaf::cli
