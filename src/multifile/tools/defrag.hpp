// multifile/tools/defrag: copies a multifile into one file, or several, with one chunk per task.
//
// The input may have any number of physical files and blocks. If the output has several files, each contains
// consecutive tasks. Every chunk has the size of the task's data, rounded up to the block size. Global ranks,
// byte order of the user data and key-value mode are preserved. The result appears under its final name when
// it is complete, or not at all. Holds the metadata in memory, and a few frames if input or output is
// compressed.
#pragma once

#include <cstdint>
#include <string>

#include "base/export.hpp"
#include "format/codec/frame_coder.hpp"
#include "multifile/create/work_progress.hpp"
#include "multifile/metadata/physical_file.hpp"

namespace sheaf::multifile {

struct DefragRequest {
  std::string output{};
  int32_t fsblksize = 0;                // bytes; 0: that of the input; 1: no gaps
  bool replace = false;                 // replace an existing output
  bool plain = false;                   // decompress compressed input; otherwise frames are copied
  codec::Compression compression = {};  // on: compress the result
  int32_t nfiles = 1;                   // number of physical files of the result
};

// Copies `multifile` to `request.output`. Throws `invalid_argument` if the output exists and must not be
// replaced, or if there would be more files than tasks. Throws `damaged` for invalid key-value records.
// Throws `unsupported` if the codec is missing, or if the output has several files and tasks have names.
SHEAF_EXPORT void defrag(Store& store, const Multifile& multifile, const DefragRequest& request,
                         WorkProgress& progress);

}  // namespace sheaf::multifile
