// cli/compression: reports the compression of a multifile, and parses compression options.
#pragma once

#include <string>

#include "cli/json/json.hpp"
#include "format/codec/frame_coder.hpp"
#include "multifile/metadata/physical_file.hpp"

namespace sheaf::cli {

// Adds the member "compression" with the settings of a compressed multifile. Adds nothing if the multifile is
// not compressed.
void add_compression(Json& json, const multifile::Multifile& multifile);

// Values of the words `compress`, `shuffle` and `frame` of the open mode. A member is empty if the word was
// not given.
struct CompressionOptions {
  std::string method;
  std::string shuffle;
  std::string frame;
};

// Parses the options. Throws UsageError for values that the open mode would reject, and if the options select
// no compression.
codec::Compression compression_of(const CompressionOptions& options);

}  // namespace sheaf::cli
