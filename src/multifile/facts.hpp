// multifile/facts: what every kind of open multifile can say about the physical file of its current task.
#pragma once

#include <cstdint>

#include "format/header.hpp"

namespace sheaf {

struct FileFacts {
  int32_t nfiles = 1;
  int32_t filenumber = 0;
  int32_t fsblksize = 0;  // bytes
  ByteOrder userdata_order = native_order;
  bool keyval = false;
  bool durable = false;  // writing: close() returns when the data would survive a loss of power
  ByteOrder metadata_order = native_order;
};

inline FileFacts facts_of(const format::Header& h) {
  return {h.nfiles, h.filenumber, h.fsblksize, h.userdata_order, h.keyval() == format::KeyvalMode::inline_, false,
          h.metadata_order};
}

}  // namespace sheaf
