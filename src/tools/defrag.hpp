// tools/defrag: a multifile of any number of physical files and blocks as one file, or several, with one
// chunk per task.
//
// Several files have consecutive tasks. Every chunk has the size of the task's data, rounded up to the block
// size. Global ranks, byte order of the user data and key-value mode are kept. The result appears under its
// final name at the end, complete, or not at all. Memory: the metadata, and a few frames where something is
// compressed or was.
#pragma once

#include <cstdint>
#include <string>

#include "base/export.hpp"
#include "codec/frame_coder.hpp"
#include "creation/work_progress.hpp"
#include "metadata/physical_file.hpp"

namespace sheaf {

struct DefragRequest {
  std::string output{};
  int32_t fsblksize = 0;  // bytes; 0: that of the input. 1: no gaps at all
  bool replace = false;   // an existing output
  bool plain = false;  // what is compressed is written as it was before; else frames are copied as they are
  codec::Compression compression = {};  // on: the result is compressed so, whether the input is or not
  int32_t nfiles = 1;                   // physical files of the result
};

// Throws invalid_argument if the output exists, or for more files than tasks; damaged for bad key-value
// records; unsupported if the codec is missing, or for names of tasks where there are several files.
SHEAF_EXPORT void defrag(Store& store, const Multifile& multifile, const DefragRequest& request,
                         WorkProgress& progress);

}  // namespace sheaf
