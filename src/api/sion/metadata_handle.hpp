// api/sion/metadata_handle: the object behind a sheaf_metadata of the C interface (sheaf_tools.h).
#pragma once

#include <memory>

#include "multifile/metadata/physical_file.hpp"
#include "storage/store.hpp"

#pragma GCC visibility push(default)
#include "sheaf_tools.h"
#pragma GCC visibility pop

struct sheaf_metadata {
  std::shared_ptr<sheaf::Store> store;  // store of the files
  sheaf::multifile::Multifile multifile;
};
