// multifile/metadata/facts: properties of the current task's physical file that every kind of open multifile
// reports, and the names of the files of a set.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "format/header.hpp"

namespace sheaf::multifile {

// Returns the name of physical file `number` > 0 of a set. A null function stands for
// format::physical_name().
using NameOf = std::function<std::string(int32_t number)>;

inline std::string name_in_set(const std::string& base, int32_t number, const NameOf& name_of) {
  return number > 0 && name_of ? name_of(number) : format::physical_name(base, number);
}

struct FileFacts {
  int32_t nfiles = 1;
  int32_t filenumber = 0;
  int32_t fsblksize = 0;  // bytes
  bool keyval = false;
  bool durable = false;  // writing: after close() the data survive a power loss
  // reading: the file was never closed, so its contents come from the journal; it may still be written
  bool unclosed = false;
  bool compressed = false;
  bool guessed = false;  // a repair could not recover the whole multifile
  ByteOrder userdata_order = native_order;
  ByteOrder metadata_order = native_order;
};

inline FileFacts facts_of(const format::HeaderFields& h, bool unclosed) {
  return {.nfiles = h.nfiles,
          .filenumber = h.filenumber,
          .fsblksize = h.fsblksize,
          .keyval = h.keyval() == format::KeyvalMode::inline_,
          .unclosed = unclosed,
          .compressed = h.compressed,
          .guessed = h.guessed,
          .userdata_order = h.userdata_order,
          .metadata_order = h.metadata_order};
}

}  // namespace sheaf::multifile
