// reseal: checksums of packed files made right again, so that what a mutation has changed is not found by
// them alone.
#pragma once

#include "fuzz/packed_files.hpp"

namespace sheaf::fuzz {

// The checksums of header, metadata and mapping, the trailer brought to where the end of the file now is, and
// what it repeats of META1. As far as the file has any and its bytes are there; not the checksums of data.
void reseal(PackedFile& file);

// Makes it a file without extensions: takes the magic of the extension header, and the trailer; an encoded
// one gets the plain magic.
void strip(PackedFile& file);

}  // namespace sheaf::fuzz
