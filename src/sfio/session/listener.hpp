// sfio/session/listener: the loop of an I/O listener: it receives requests as messages, the service
// handles them, and it sends the answers. With two buffers, it receives one request while the bytes of
// another go to disk. Clients that have waited long send a liveness query with its own tag, which is answered
// even while a request is handled.
#pragma once

#include <functional>

#include "comm/messages.hpp"
#include "sfio/service/service.hpp"
#include "sfio/service/workplace.hpp"

namespace sheaf::sfio {

// Serves until `bye` arrives, or until `stopped`, which is called between requests, returns true. `room` is
// the maximum bytes of data per request. `place` runs the requests; liveness queries are answered during a
// slow one. Local. Throws Error only if the transport fails or a message is no valid request.
SHEAF_EXPORT void serve(Messages& messages, Service& service, int64_t room, Workplace& place,
                        const std::function<bool()>& stopped = {});

}  // namespace sheaf::sfio
