// reseal: corrects checksums of packed files, so that mutations are not detected by checksums alone.
#pragma once

#include "fuzz/packed_files.hpp"

namespace sheaf::fuzz {

// Corrects the checksums of header, metadata and mapping, moves the trailer to the current end of the file,
// and updates its copy of META1. Covers only checksums that exist, with their bytes present; data checksums
// stay.
void reseal(PackedFile& file);

// Turns it into a file without extensions: removes the magic of the extension header and the trailer. An
// encoded file gets the plain magic.
void strip(PackedFile& file);

}  // namespace sheaf::fuzz
