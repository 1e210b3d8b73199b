// creation/new_set: the physical files of one new multifile, which appear under its name as one generation
// (docs/format.md, section 20), or not at all.
//
// Each file is written under a temporary name. commit() renames them; a NewSet that is destroyed before
// removes them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "format/extension.hpp"
#include "storage/store.hpp"

namespace sheaf {

class NewSet {
 public:
  // `path`: of the multifile, which the caller owns. `original`: a file whose mode, owner and the like the
  // new files take that replace none.
  NewSet(Store& store, std::string path, std::string original);
  ~NewSet();
  NewSet(const NewSet&) = delete;
  NewSet& operator=(const NewSet&) = delete;

  // Creates the next physical file; the caller closes it before commit().
  std::shared_ptr<File> add();

  // Renames the files, all of which have this `identity`. Returns when the multifile would survive a loss of
  // power. If it throws, the multifile that was under the name is there, or the new one
  // (`sheaf leftovers --finish`).
  void commit(const format::Identity& identity);

 private:
  void remove_files();

  Store& store_;
  const std::string path_;
  const std::string original_;
  const std::string temporary_;
  int32_t nfiles_ = 0;
  bool is_pending_ = true;
};

}  // namespace sheaf
