// cli/named/named: streams under their names, in containers and in multifiles that name their tasks.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace sheaf::cli {

// Throws, and says what to do, if it is one for which the command at hand has no use.
void refuse_containers(const std::string& path);

struct LsOptions {
  std::string path;
  std::string prefix;  // only names that begin so
  bool details = false;
  bool json = false;
};
int ls(const LsOptions& options);

// What `sheaf cat`, `split`, `defrag`, `info` and `repair` do with names and containers.
int cat_named(const CatOptions& options);
int split_by_names(const SplitOptions& options);
int gather(const DefragOptions& options);
int info_of_containers(const InfoOptions& options);
int repair_containers(const RepairOptions& options);

}  // namespace sheaf::cli
