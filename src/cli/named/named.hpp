// cli/named/named: commands for named streams, which are in containers and in multifiles that name their
// tasks.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace sheaf::cli {

// Throws an error with advice for the user if `path` is a set of containers. Called by commands that do not
// support containers.
void refuse_containers(const std::string& path);

struct LsOptions {
  std::string path;
  std::string prefix;  // list only names with this prefix
  bool details = false;
  bool json = false;
};
int ls(const LsOptions& options);

// Implement `sheaf cat`, `split`, `defrag`, `info` and `repair` for named streams and containers.
int cat_named(const CatOptions& options);
int split_by_names(const SplitOptions& options);
int gather(const DefragOptions& options);
int info_of_containers(const InfoOptions& options);
int repair_containers(const RepairOptions& options);

}  // namespace sheaf::cli
