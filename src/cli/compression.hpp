// cli/compression: what the tools say about the compression of a multifile.
#pragma once

#include "cli/json.hpp"
#include "multifile/physical_file.hpp"

namespace sheaf::cli {

// Adds "compression", how the multifile was begun, if its streams are compressed; else nothing.
void add_compression(Json& json, const Multifile& multifile);

}  // namespace sheaf::cli
