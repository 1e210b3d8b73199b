// stripedfile/session/listener: the loop of an I/O listener: requests come as messages, the service carries
// them out, answers go back. Two buffers: one is received into while the other's bytes go to the disk.
// Clients that have waited for long ask whether it lives, with a tag of their own; that is answered while a
// request is carried out, too.
#pragma once

#include <functional>

#include "comm/messages.hpp"
#include "stripedfile/service/service.hpp"
#include "stripedfile/service/workplace.hpp"

namespace sheaf::sfio {

// Serves until a `bye` comes, or `stopped` (asked between requests) says so. room: bytes of data in one
// request. `place` carries the requests out; while one takes long, clients that ask are told that the
// listener lives. Local. Throws Error only if the transport fails or what comes is no request.
SHEAF_EXPORT void serve(Messages& messages, Service& service, int64_t room, Workplace& place,
                        const std::function<bool()>& stopped = {});

}  // namespace sheaf::sfio
