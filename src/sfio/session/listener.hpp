// sfio/session/listener: the loop of an I/O listener. It receives requests as messages, lets the service
// handle them, and sends the answers. With two buffers, it receives one request while the bytes of another go
// to disk. Clients that have waited long send a liveness query with a tag of its own. The listener answers
// such queries even while it handles a request.
#pragma once

#include <functional>

#include "comm/messages.hpp"
#include "sfio/service/service.hpp"
#include "sfio/service/workplace.hpp"

namespace sheaf::sfio {

// Serves until `bye` arrives, or until `stopped`, which is called between requests, returns true. `room` is
// the maximum bytes of data per request. `place` runs the requests; it also answers liveness queries during a
// slow one. Local. Throws Error only if the transport fails or a message is no valid request.
SHEAF_EXPORT void serve(Messages& messages, Service& service, int64_t room, Workplace& place,
                        const std::function<bool()>& stopped = {});

}  // namespace sheaf::sfio
