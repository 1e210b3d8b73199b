// cli/copying: implements `sheaf split` and `sheaf defrag`, with progress output.
#include "cli/commands.hpp"
#include "cli/named/named.hpp"
#include "cli/terminal.hpp"
#include "sfio/striped_store.hpp"
#include "streams/container/container_names.hpp"

namespace sheaf::cli {

int split(const SplitOptions& options) {
  raise_descriptor_limit();
  if (options.names) return split_by_names(options);
  const multifile::Multifile m = load(options.path, options.ignore_checksums);
  catch_signals();
  TerminalProgress progress("split");
  multifile::split(sfio::any_store(), m, options.request, progress);
  return 0;
}

int defrag(const DefragOptions& options) {
  raise_descriptor_limit();
  if (streams::is_container_set(posix_store(), options.path)) return gather(options);
  const multifile::Multifile m = load(options.path, options.ignore_checksums);
  catch_signals();
  TerminalProgress progress("defrag");
  multifile::defrag(sfio::any_store(), m, options.request, progress);
  return 0;
}

}  // namespace sheaf::cli
