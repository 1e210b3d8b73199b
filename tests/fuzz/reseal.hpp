// reseal: corrects checksums of packed files, so that mutations are not detected by checksums alone.
#pragma once

#include "fuzz/packed_files.hpp"

namespace sheaf::fuzz {

// Corrects the checksums of header, metadata and mapping, moves the trailer to the current end of the file,
// and updates the trailer's copy of META1. Corrects a checksum only if the file has it and all bytes that it
// covers. Data checksums stay unchanged.
void reseal(PackedInputFile& file);

// Turns `file` into a file without extensions: removes the magic of the extension header and the trailer. If
// the file has the magic of encoded files, it gets the magic of plain files.
void strip(PackedInputFile& file);

}  // namespace sheaf::fuzz
