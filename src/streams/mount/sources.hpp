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

struct StreamSource {
  std::string path;  // path of the multifile, set, or single container
  std::shared_ptr<Streams> streams;
  bool joins = false;  // these streams share the folder of the preceding source, as in Tree::TreeMultifile
};

// Receives a warning for the user about `path`. The streams of the path are shown despite the warning.
using Tell = std::function<void(const std::string& path, const std::string& what)>;

// Returns the streams of `path`. If the tasks of a multifile have no names, includes all tasks. If
// `containers` is true, includes the named streams of the set, among them the named tasks of the multifile.
// If a container has a stream with the name of a task, that stream is newer and hides the task. Multifiles
// are read from `store`; containers are read from the operating system's files. Throws the errors of opening.
std::vector<StreamSource> sources_of(Store& store, const std::string& path, multifile::Checking checking,
                                     bool containers, const Tell& tell);

// Returns a tree of all sources in their order. If there are several sources, puts each into a folder named
// after its file.
Tree tree_of(const std::vector<StreamSource>& sources);

// Returns the path of the file whose owner, mode and time a mount of `path` shows. This is `path` if that
// file exists or is remote. Otherwise it is a container of the set, or the directory of the set if there is
// no container.
std::string file_behind(Store& store, const std::string& path);

}  // namespace sheaf::mount
