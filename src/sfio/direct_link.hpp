// sfio/direct_link: a link without listeners and messages: the calling task does the listeners' work
// in its own file system. For tools, and for programs that open `sfio:` names without a session.
#pragma once

#include <memory>
#include <string>

#include "base/export.hpp"
#include "sfio/link.hpp"
#include "storage/file.hpp"

namespace sheaf::sfio {

// Without `root`, only subfiles of this host, named `name`, are reachable, under their own paths. With a root
// directory, the paths of any host are prefixed with "<root>/<host>". `store` must outlive the link.
SHEAF_EXPORT std::unique_ptr<Link> direct_link(Store& store, std::string root, std::string name);

}  // namespace sheaf::sfio
