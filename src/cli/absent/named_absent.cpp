// Replaces cli/named and cli/programs/run in builds with SHEAF_STREAMS=OFF.
#include "base/error.hpp"
#include "cli/named/named.hpp"
#include "cli/programs/run.hpp"

namespace sheaf::cli {

namespace {

[[noreturn]] int refuse(const std::string& what) {
  throw Error(Code::unsupported,
              what + " needs named streams, and this Sheaf was built without them (SHEAF_STREAMS=OFF)");
}

}  // namespace

void refuse_containers(const std::string&) {}
int ls(const LsOptions& options) { return refuse("'" + options.path + "': sheaf ls"); }
int cat_named(const CatOptions& options) { return refuse("'" + options.path + "': a stream by its name"); }
int split_by_names(const SplitOptions& options) { return refuse("'" + options.path + "': split by names"); }
int gather(const DefragOptions& options) { return refuse("'" + options.path + "': gathering"); }
int info_of_containers(const InfoOptions& options) { return refuse("'" + options.path + "': containers"); }
int repair_containers(const RepairOptions& options) { return refuse("'" + options.path + "': containers"); }
int run(const RunOptions&) { return refuse("sheaf run"); }

}  // namespace sheaf::cli
