// streams/container/container_names: names of the files of a set of containers.
//
// The container of host H of the set NAME is NAME.container.H. The names of the physical files of a multifile
// end in six or more digits instead (docs/format.md, section 7). Gathering replaces containers by a
// multifile. If a container may have lost records, gathering keeps it as NAME.torn.H.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.hpp"
#include "storage/file.hpp"

namespace sheaf::streams {

// Returns the host part of the names of this host's containers: the name of the host and eight digits.
// The digits differ between boots, users, and process namespaces that cannot share memory.
// `memory_directory`: as in ContainerHost.
SHEAF_EXPORT std::string container_host_name(const std::string& memory_directory);

SHEAF_EXPORT std::string container_name(std::string_view set, std::string_view host);

// Returns an unused name for a container that leaves the set and must be kept: NAME.torn.H, or NAME.torn.H.N
// if that exists.
std::string name_aside(Store& store, const std::string& set, const std::string& container);

// Returns NAME if `path` has the name of a container, else nullopt.
SHEAF_EXPORT std::optional<std::string> set_of_container(std::string_view path);

struct SetFiles {
  std::vector<std::string> containers;  // sorted paths
  bool multifile = false;               // a file named NAME exists
};
// Lists the files of a set with one read of the directory. Returns an empty result if the directory does not
// exist. Throws the errors of reading the directory.
SetFiles files_of(Store& store, const std::string& set);

// Returns the sorted paths of the existing containers of a set; none if the directory does not exist. Throws
// the errors of reading the directory.
SHEAF_EXPORT std::vector<std::string> containers_of(Store& store, const std::string& set);

// Returns whether both paths name the same directory entry, in any spelling. A path that is a symbolic link
// also matches by its target.
bool is_same_name(Store& store, const std::string& one, const std::string& other);

// Returns whether `path` is readable as a set of containers: the set has a container, or `path` is one.
SHEAF_EXPORT bool has_containers(Store& store, const std::string& path);

// Does the same as has_containers(), but returns false if the directory cannot be read. For tools, which then
// open `path` and report that error.
SHEAF_EXPORT bool is_container_set(Store& store, const std::string& path);

// Returns true if a tool must process `path` as containers: `path` is a container, or no file `path` exists
// but containers of that set do. Returns false if the directory cannot be read.
SHEAF_EXPORT bool is_containers_alone(Store& store, const std::string& path);

}  // namespace sheaf::streams
