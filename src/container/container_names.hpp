// container/container_names: what the files of a set of containers are called.
//
// The container of host H of the set NAME is NAME.container.H. Members of a multifile end in six or more
// digits (docs/format.md, section 7), so the two cannot be taken for each other. A container that was taken
// in, but may have more than was found, is kept as NAME.torn.H.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.hpp"
#include "storage/file.hpp"

namespace sheaf {

// What this machine's containers are called by: its name, and eight digits that differ between starts of the
// machine, users, and spaces of processes that cannot share memory. `memory_directory`: as in ContainerHost.
SHEAF_EXPORT std::string container_host_name(const std::string& memory_directory);

SHEAF_EXPORT std::string container_name(std::string_view set, std::string_view host);

// A name that nothing has for a container of the set that is no longer one of it.
std::string name_aside(Store& store, const std::string& set, const std::string& container);

// NAME, if `path` has the name of a container.
SHEAF_EXPORT std::optional<std::string> set_of_container(std::string_view path);

// What there is of a set: the paths of its containers, sorted, and whether something has its name. With one
// look into the directory. Throws what reading that throws; nothing without the directory.
struct SetFiles {
  std::vector<std::string> containers;
  bool multifile = false;
};
SetFiles files_of(Store& store, const std::string& set);

// Paths of the containers of a set that there are, sorted. Throws what reading the directory throws; none
// without the directory.
SHEAF_EXPORT std::vector<std::string> containers_of(Store& store, const std::string& set);

// Whether both name one file of one directory, however they spell it, and whatever symbolic links in its
// place lead to.
bool is_same_name(Store& store, const std::string& one, const std::string& other);

// Whether `path` can be read as a set of containers: there is one of its, or it is one.
SHEAF_EXPORT bool has_containers(Store& store, const std::string& path);

// The same for tools: false if the directory cannot be read, so that opening `path` reports the reason.
SHEAF_EXPORT bool is_container_set(Store& store, const std::string& path);

// Whether there are containers, or `path` is one, but no multifile that a tool could work on.
SHEAF_EXPORT bool is_containers_alone(Store& store, const std::string& path);

}  // namespace sheaf
