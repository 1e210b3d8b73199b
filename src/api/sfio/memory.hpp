// api/sfio/memory: the memory of sfio_malloc(), which listeners of this machine reach themselves.
#pragma once

#include "stripedfile/link.hpp"

namespace sheaf::sfio {

// Makes what there is known to the link of a session that begins.
void lend_allocated(Link& link);

}  // namespace sheaf::sfio
