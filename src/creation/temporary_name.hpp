// creation/temporary_name: `atomic`: a multifile is written under a marked temporary name, and gets its own
// when the close has succeeded on all tasks.
//
// NAME.sheaf-tmp.ID, ID 16 hexadecimal digits, is physical file 0 while it is written; the other files follow
// from that name as ever. What a program that dies leaves behind is told, finished or removed by `sheaf
// leftovers`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/file.hpp"

namespace sheaf {

// A temporary name for `path`, different at each call. Throws invalid_argument if it would be too long.
std::string temporary_name(std::string_view path);

// The name that a temporary one of physical file 0 stands for; nullopt: it is none.
std::optional<std::string> final_name(std::string_view temporary);

// Gives the complete set of `nfiles` physical files its name, file 0 last, so that a reader finds the old
// multifile, none, or the new one; files that are replaced leave their mode, owner and the like, and symbolic
// links in their places stay (Store::take_after, target_of). A set that is replaced first loses its file 0.
// Throws; what is still to be renamed keeps its temporary name, and the call can be repeated. durable:
// returns when the names would survive a loss of power.
void rename_set(Store& store, const std::string& temporary, const std::string& path, int32_t nfiles,
                bool durable);

}  // namespace sheaf
