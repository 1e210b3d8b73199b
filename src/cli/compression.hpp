// cli/compression: what the tools say about the compression of a multifile, and how they are told of one.
#pragma once

#include <string>

#include "cli/json/json.hpp"
#include "codec/frame_coder.hpp"
#include "metadata/physical_file.hpp"

namespace sheaf::cli {

// Adds "compression", how the multifile was begun, if its streams are compressed; else nothing.
void add_compression(Json& json, const Multifile& multifile);

// Values of the words `compress`, `shuffle` and `frame` of the open mode; empty: not given.
struct CompressionOptions {
  std::string method;
  std::string shuffle;
  std::string frame;
};

// Throws UsageError for what the open mode would refuse.
codec::Compression compression_of(const CompressionOptions& options);

}  // namespace sheaf::cli
