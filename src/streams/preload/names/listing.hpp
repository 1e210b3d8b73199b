// streams/preload/names/listing: lists the captured files of a directory.
#pragma once

#include <functional>
#include <string_view>

#include "streams/preload/names/places.hpp"

namespace sheaf::preload {

// Returns whether captured files are in or below the directory `path`. If so, the directory cannot be
// removed, and a rename includes the captured files (names/directory_moves). Takes a few nanoseconds if no
// pattern matches.
bool holds_captured(int at, const char* path) noexcept;

// Returns whether a set open for writing is in or below the directory `path`. Takes a few nanoseconds if no
// pattern matches.
bool holds_set(int at, const char* path) noexcept;

using Below = std::function<void(const Rule&, const streams::ContainerSet&, std::string_view path)>;
// Calls `visit` for each captured file below `directory`, a canonical path. Must be called within an Inside
// (streams/preload/inside.hpp). Throws errors of reading sets.
void each_captured_below(std::string_view directory, const Below& visit);

using EntryVisitor = std::function<void(std::string_view last, uint64_t number)>;
// Calls visit(last component, number) for each captured file directly in `directory`, a canonical path. Must
// be called within an Inside.
void list_directory(std::string_view directory, const EntryVisitor& visit) noexcept;

}  // namespace sheaf::preload
