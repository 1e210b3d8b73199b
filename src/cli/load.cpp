// cli/load: loads multifiles for the tools.
#include <cstdio>

#include "base/printable.hpp"
#include "base/warnings.hpp"
#include "cli/commands.hpp"
#include "cli/named/named.hpp"
#include "cli/terminal.hpp"
#include "multifile/journal/lease.hpp"
#include "sfio/striped_store.hpp"

namespace sheaf::cli {

void tell_what_is_unsure(const std::string& path, bool unclosed, bool guessed) {
  if (unclosed)
    std::fprintf(
        stderr,
        "'%s' was not closed: only what its tasks had flushed, and chunks they had completed, is here (%s)\n",
        printable(path).c_str(), multifile::advice_on_unclosed(sfio::any_store(), path).c_str());
  if (guessed)
    std::fprintf(stderr,
                 "'%s' was not closed by its program and has been repaired: where chunks end in it was "
                 "guessed\n",
                 printable(path).c_str());
  for (const std::string& text : take_warnings()) std::fprintf(stderr, "%s\n", printable(text).c_str());
}

multifile::Multifile load(const std::string& path, bool ignore_checksums) {
  raise_descriptor_limit();
  refuse_containers(path);
  multifile::Multifile m = multifile::load_multifile(
      sfio::any_store(), path, ignore_checksums ? multifile::Checking::off : multifile::Checking::on);
  tell_what_is_unsure(path, !m.closed(), m.files.front().header.guessed);
  return m;
}

}  // namespace sheaf::cli
