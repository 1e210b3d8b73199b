// multifile/saves/save_terms: the properties of a save that all its tasks have agreed on, and those of one
// task.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "format/save_record.hpp"
#include "multifile/saves/save_files.hpp"
#include "storage/store.hpp"

namespace sheaf::saves {

struct SaveTerms {
  std::shared_ptr<Store> store;  // contains the files; not a BackgroundStore
  std::string path;              // final name
  std::string temporary;         // of physical file 0
  int32_t nfiles = 1;
  format::Identity identity{};  // of the set
  int32_t host = 0, hosts = 1;
  int32_t slot = 0;           // number of the task's slot in the record of its host, from 1
  int32_t task = 0;           // number of the task
  bool shares_files = false;  // hosts share physical files
  bool is_local = false;      // the file system belongs to one host
  bool leads = false;         // this is the only task that commits
  bool fails_exit = false;    // see AsyncMode

  CommitNames names() const { return {path, temporary, nfiles, identity}; }
  std::string record(int32_t of_host) const { return format::save_record_name(temporary, of_host); }
};

}  // namespace sheaf::saves
