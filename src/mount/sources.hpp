// mount/sources: what there is of multifiles and sets, for mounts and for who shows the same otherwise.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mode/checking.hpp"
#include "mount/tree.hpp"
#include "storage/file.hpp"

namespace sheaf::mount {

struct Source {
  std::string path;  // of the multifile or the set, or one container
  std::shared_ptr<Streams> streams;
  bool joins = false;  // as in Tree::Multifile
};

// What people should know of a file, which is shown all the same.
using Tell = std::function<void(const std::string& path, const std::string& what)>;

// The streams of `path`: tasks of a multifile, unless they are among the streams of a set, and those of
// containers, whose bytes are newer than those of a task of that name. containers: what is in containers as
// well. Multifiles are read from `store`; containers are files of the operating system. Throws what opening
// throws.
std::vector<Source> sources_of(Store& store, const std::string& path, Checking checking, bool containers,
                               const Tell& tell);

// Of all these, in their order; each lies in a folder of its own, called as its file, if there are several.
Tree tree_of(const std::vector<Source>& sources);

// A file whose owner, mode and time those of the streams are.
std::string file_behind(Store& store, const std::string& path);

}  // namespace sheaf::mount
