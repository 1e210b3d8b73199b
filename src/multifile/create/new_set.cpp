#include "multifile/create/new_set.hpp"

#include <utility>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "format/header.hpp"
#include "multifile/create/commit.hpp"
#include "multifile/generation/generation.hpp"
#include "storage/beside.hpp"

namespace sheaf::multifile {

NewSet::NewSet(Store& store, std::string path, std::string original)
    : store_(store),
      path_(std::move(path)),
      original_(std::move(original)),
      temporary_(new_temporary_name(store, path_)) {}

NewSet::~NewSet() {
  if (is_pending_) remove_files();
}

void NewSet::remove_files() {
  for (int32_t k = 0; k < nfiles_; ++k) attempt([&] { store_.remove(format::physical_name(temporary_, k)); });
}

std::shared_ptr<File> NewSet::add() {
  const std::string name = format::physical_name(temporary_, nfiles_);
  auto file = make_beside(store_, name);
  const std::string replaced = format::physical_name(path_, nfiles_++);
  store_.copy_attributes(name, store_.status(replaced).exists ? replaced : original_, ReplaceState::begun);
  return file;
}

void NewSet::commit(const format::Identity& identity) {
  SHEAF_ASSERT(is_pending_ && nfiles_ > 0);
  for (int32_t k = 0; k < nfiles_; ++k)
    if (!store_.status(format::physical_name(path_, k)).exists)
      store_.copy_attributes(format::physical_name(temporary_, k), original_, ReplaceState::done);
  is_pending_ = false;
  try {
    commit_set(store_, temporary_, path_, nfiles_, true);
  } catch (...) {
    // Once the commit record exists, the temporary files are the multifile `path_`, and the destructor must
    // not remove them.
    std::optional<format::CommitRecord> record;
    const auto unknown = attempt([&] { record = find_commit_record(store_, path_); });
    is_pending_ = !unknown && !(record && record->identity == identity);
    throw;
  }
}

}  // namespace sheaf::multifile
