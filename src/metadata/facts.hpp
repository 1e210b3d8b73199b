// metadata/facts: what every kind of open multifile can say about the physical file of its current task, and
// how the files of a set are named.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "format/header.hpp"

namespace sheaf {

// Name of physical file `number` > 0 of a set, where that is not format::physical_name; null: it is.
using NameOf = std::function<std::string(int32_t number)>;

inline std::string name_in_set(const std::string& base, int32_t number, const NameOf& name_of) {
  return number > 0 && name_of ? name_of(number) : format::physical_name(base, number);
}

struct FileFacts {
  int32_t nfiles = 1;
  int32_t filenumber = 0;
  int32_t fsblksize = 0;  // bytes
  bool keyval = false;
  bool durable = false;  // writing: close() returns when the data would survive a loss of power
  // reading: never closed; what is there was found in the journal, and it may be written to still
  bool unclosed = false;
  bool compressed = false;
  bool guessed = false;  // a repair could not tell all of the multifile
  ByteOrder userdata_order = native_order;
  ByteOrder metadata_order = native_order;
};

inline FileFacts facts_of(const format::HeaderFields& h) {
  return {.nfiles = h.nfiles,
          .filenumber = h.filenumber,
          .fsblksize = h.fsblksize,
          .keyval = h.keyval() == format::KeyvalMode::inline_,
          .compressed = h.compressed,
          .guessed = h.guessed,
          .userdata_order = h.userdata_order,
          .metadata_order = h.metadata_order};
}

}  // namespace sheaf
