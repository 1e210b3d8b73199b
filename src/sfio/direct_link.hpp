// sfio/direct_link: a link without listeners and messages: the calling task does the listeners' work
// in its own file system. For tools, and for programs that open `sfio:` names without a session.
#pragma once

#include <memory>
#include <string>

#include "base/export.hpp"
#include "sfio/link.hpp"
#include "storage/file.hpp"

namespace sheaf::sfio {

// Creates a link to the subfiles that this task can reach. If `root` is empty, these are the subfiles of this
// host, named `name`, under their own paths. Otherwise `root` is a directory, and the subfiles of any host
// are beneath "<root>/<host>". `store` must outlive the link.
SHEAF_EXPORT std::unique_ptr<Link> direct_link(Store& store, std::string root, std::string name);

}  // namespace sheaf::sfio
