// api/posix/names/listing: the captured files of a directory.
#pragma once

#include <functional>
#include <string_view>

namespace sheaf::posix {

// Whether captured files are in or below the directory of that name, so that it cannot be removed, and
// renamed only by copying. A few nanoseconds for names that no pattern has.
bool holds_captured(int at, const char* path) noexcept;

// Calls visit(last component, number) for each captured file in the directory of that canonical path. Inside.
using Entry = std::function<void(std::string_view last, uint64_t number)>;
void list_directory(std::string_view directory, const Entry& visit) noexcept;

}  // namespace sheaf::posix
