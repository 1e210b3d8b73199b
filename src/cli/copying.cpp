// cli/copying: `sheaf split` and `sheaf defrag`, with progress.
#include "cli/commands.hpp"
#include "cli/terminal.hpp"

namespace sheaf::cli {

int split(const SplitOptions& options) {
  raise_descriptor_limit();
  const Multifile m = load_multifile(posix_store(), options.path);
  catch_signals();
  TerminalProgress progress("split");
  sheaf::split(posix_store(), m, options.request, progress);
  return 0;
}

int defrag(const DefragOptions& options) {
  raise_descriptor_limit();
  const Multifile m = load_multifile(posix_store(), options.path);
  catch_signals();
  TerminalProgress progress("defrag");
  sheaf::defrag(posix_store(), m, options.request, progress);
  return 0;
}

}  // namespace sheaf::cli
