// Replaces the module in builds with SHEAF_STREAMS=OFF, for the modules above: there are no containers, and a
// path to verify is a multifile.
#include "streams/container/container_names.hpp"
#include "streams/verify/verify_set.hpp"

namespace sheaf::streams {

bool is_container_set(Store&, const std::string&) { return false; }
bool is_containers_alone(Store&, const std::string&) { return false; }

bool SetReport::ok() const { return multifile && multifile->ok(); }

SetReport verify_set(Store& store, const std::string& path, bool read_data,
                     multifile::WorkProgress& progress) {
  return {.multifile = multifile::verify(store, path, read_data, progress), .containers = {}};
}

}  // namespace sheaf::streams
