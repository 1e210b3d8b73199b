// stripedfile/listener_names: which listener a host in the name of a striped file means.
#pragma once

#include <string>
#include <vector>

#include "stripedfile/link.hpp"

namespace sheaf::sfio {

// The directory beneath `root` that stands for the file system of a host; "" without a root. Throws
// invalid_argument if the host's name would lead elsewhere.
std::string root_of_host(const std::string& root, const std::string& host);

// As Link::find() says.
int find_listener(const std::vector<ListenerFacts>& listeners, const std::string& host, int occurrence);

}  // namespace sheaf::sfio
