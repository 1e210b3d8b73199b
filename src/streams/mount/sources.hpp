// streams/mount/sources: finds the streams of multifiles and sets for mounts and for the views of `sheaf
// run`.
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
  bool joins = false;  // these streams share the folder of the preceding source, as in Tree::Multifile
};

// Receives a warning for the user about a path. The content is shown in spite of it.
using Tell = std::function<void(const std::string& path, const std::string& what)>;

// Returns the streams of `path`: the tasks of a multifile if they have no names and, with `containers`, the
// named streams of the set. These include named tasks of the multifile. If a container has a stream with the
// name of a task, that stream is newer and hides the task. Multifiles are read from `store`; containers are
// read from the operating system's files. Throws the errors of opening.
std::vector<Source> sources_of(Store& store, const std::string& path, Checking checking, bool containers,
                               const Tell& tell);

// Returns a tree of all sources in their order. If there are several sources, puts each into a folder named
// after its file.
Tree tree_of(const std::vector<Source>& sources);

// Returns the path of the file from which a mount of `path` takes owner, mode and time: `path` itself, else a
// container of the set, else the directory of the set.
std::string file_behind(Store& store, const std::string& path);

}  // namespace sheaf::mount
