// cli/named/named: commands for streams with names, in containers and in multifiles that name their tasks.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace sheaf::cli {

// Throws, with advice to the user, if `path` is a set of containers that the current command does not
// support.
void refuse_containers(const std::string& path);

struct LsOptions {
  std::string path;
  std::string prefix;  // list only names with this prefix
  bool details = false;
  bool json = false;
};
int ls(const LsOptions& options);

// Implementations of `sheaf cat`, `split`, `defrag`, `info` and `repair` for names and containers.
int cat_named(const CatOptions& options);
int split_by_names(const SplitOptions& options);
int gather(const DefragOptions& options);
int info_of_containers(const InfoOptions& options);
int repair_containers(const RepairOptions& options);

}  // namespace sheaf::cli
