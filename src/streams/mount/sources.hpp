// streams/mount/sources: finds the streams of multifiles and sets, for mounts and other views of the same
// content.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "multifile/options/checking.hpp"
#include "storage/file.hpp"
#include "streams/mount/tree.hpp"

namespace sheaf::mount {

struct Source {
  std::string path;  // path of the multifile, set, or single container
  std::shared_ptr<Streams> streams;
  bool joins = false;  // as in Tree::Multifile
};

// Receives a message for the user about a file that is shown nevertheless.
using Tell = std::function<void(const std::string& path, const std::string& what)>;

// Returns the streams of `path`: the tasks of a multifile without names and, with `containers`, the streams
// of a set. Named tasks are streams of the set; a stream in a container is newer, and hides a task of the
// same name. Multifiles are read from `store`; containers are read from the operating system's files. Throws
// the errors of opening.
std::vector<Source> sources_of(Store& store, const std::string& path, Checking checking, bool containers,
                               const Tell& tell);

// Returns a tree of all sources in their order. If there are several, each is in a folder named after its
// file.
Tree tree_of(const std::vector<Source>& sources);

// Returns the path of a file that has the owner, mode and time of the streams.
std::string file_behind(Store& store, const std::string& path);

}  // namespace sheaf::mount
