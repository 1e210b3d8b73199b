// stripedfile/listener_names: which listener a host in the name of a striped file means.
#pragma once

#include <string>
#include <vector>

#include "stripedfile/link.hpp"

namespace sheaf::sfio {

// As Link::find() says.
int find_listener(const std::vector<ListenerFacts>& listeners, const std::string& host, int occurrence);

}  // namespace sheaf::sfio
