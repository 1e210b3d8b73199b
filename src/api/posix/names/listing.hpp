// api/posix/names/listing: the captured files of a directory.
#pragma once

#include <functional>
#include <string_view>

#include "api/posix/names/places.hpp"

namespace sheaf::posix {

// Whether captured files are in or below the directory of that name, so that it cannot be removed, and they
// are renamed with it (names/directory_moves). A few nanoseconds for names that no pattern has.
bool holds_captured(int at, const char* path) noexcept;

// Whether a set that programs write to is in or below the directory of that name. As cheap.
bool holds_set(int at, const char* path) noexcept;

// Calls visit for each of them, by the canonical path of the directory and their own. Inside; throws what
// reading sets throws.
using Below = std::function<void(const Rule&, const ContainerSet&, std::string_view path)>;
void each_captured_below(std::string_view directory, const Below& visit);

// Calls visit(last component, number) for each captured file in the directory of that canonical path. Inside.
using Entry = std::function<void(std::string_view last, uint64_t number)>;
void list_directory(std::string_view directory, const Entry& visit) noexcept;

}  // namespace sheaf::posix
