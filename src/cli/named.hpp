// cli/named: streams under their names, in containers and in multifiles that name their tasks.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "tools/verify.hpp"

namespace sheaf::cli {

// Whether `path` is a set of containers, or one of them, rather than a multifile alone.
bool is_container_set(const std::string& path);

// Throws, and says what to do, if it is one for which the command at hand has no use.
void refuse_containers(const std::string& path);

struct LsOptions {
  std::string path;
  std::string prefix;  // only names that begin so
  bool details = false;
  bool json = false;
};
int ls(const LsOptions& options);

// What `sheaf cat`, `split`, `defrag`, `info`, `repair` and `verify` do with names and containers.
int cat_named(const CatOptions& options);
int split_by_names(const SplitOptions& options);
int gather(const DefragOptions& options);
int info_of_containers(const InfoOptions& options);
int repair_containers(const RepairOptions& options);
// Whether there are containers alone, without a multifile that a command could work on.
bool is_containers_alone(const std::string& path);
// Streams count as tasks; what is damaged is found, what killed programs may have left is noted.
FileReport verify_containers(const std::string& path, bool with_data);

}  // namespace sheaf::cli
