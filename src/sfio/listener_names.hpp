// sfio/listener_names: finds the listener for a host in the name of a striped file.
#pragma once

#include <string>
#include <vector>

#include "sfio/link.hpp"

namespace sheaf::sfio {

// Returns the directory beneath `root` that represents the file system of a host; "" if `root` is empty.
// Throws invalid_argument if the host name would lead outside of `root`.
std::string root_of_host(const std::string& root, const std::string& host);

// Returns the number of the listener for `host`, as described at Link::find().
int find_listener(const std::vector<ListenerFacts>& listeners, const std::string& host, int occurrence);

}  // namespace sheaf::sfio
