// stripedfile/direct_link: no listeners, no messages: the calling task does their work in its own file
// system. For tools and for programs that open `sfio:` names without a session.
#pragma once

#include <memory>
#include <string>

#include "base/export.hpp"
#include "storage/file.hpp"
#include "stripedfile/link.hpp"

namespace sheaf::sfio {

// Where a host's subfiles are, seen from here: nothing in front of their paths if `host` is this machine,
// whose name is `name`; with a root directory, "<root>/<host>" for every host. root: empty: only this
// machine. `store` must outlive the link.
SHEAF_EXPORT std::unique_ptr<Link> direct_link(Store& store, std::string root, std::string name);

}  // namespace sheaf::sfio
