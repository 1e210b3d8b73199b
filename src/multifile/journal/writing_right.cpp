#include "multifile/journal/writing_right.hpp"

#include <cerrno>
#include <utility>

#include "base/assert.hpp"
#include "base/os/process_identity.hpp"
#include "comm/agree.hpp"
#include "multifile/journal/constants.hpp"
#include "multifile/journal/lease.hpp"
#include "storage/beside.hpp"
#include "storage/retries.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

namespace {

bool is_gone(const Error& e) { return e.code() == Code::not_found || e.errno_value() == ESTALE; }

}  // namespace

WritingRight::WritingRight(Store& store, LeaseReference lease, std::shared_ptr<File> file)
    : store_(store), lease_(std::move(lease)), file_(std::move(file)), beat_(lease_times().beat) {}

std::shared_ptr<WritingRight> WritingRight::open(Store& store, const std::string& path, uint64_t id,
                                                 bool is_local) {
  LeaseReference lease{path, format::lease_name(place_beside(store, path)), id, is_local};
  std::shared_ptr<File> file;
  const auto failed = attempt([&] {
    // A different host may not see the name yet.
    file = is_local ? store.open(lease.name, Access::sidecar)
                    : open_with_retries(store, lease.name, Access::sidecar);
  });
  if (failed && !is_gone(*failed)) throw *failed;
  const auto right = std::make_shared<WritingRight>(store, std::move(lease), file);
  right->closes_ = file != nullptr;
  const auto found = file ? read_lease(*file) : std::nullopt;
  if (!found || found->id != id) throw right->loss();
  return right;
}

bool WritingRight::holds(LeaseCheck look) noexcept {
  SHEAF_ASSERT(file_);
  const bool others = !lease_.is_local;
  if (others && look == LeaseCheck::pre_write &&
      Clock::now() - looked_.load() < journal_constants::writer_check_interval)
    return true;
  bool own = true;
  const auto unseen = attempt([&] {
    own = file_->status().links > 0;
    if (!own || !others) return;
    if (look == LeaseCheck::name || Clock::now() - looked_at_name_.load() > 2 * beat_) {
      const auto found = read_lease(*store_.open(lease_.name, Access::read));
      own = found && found->id == lease_.id;
      looked_at_name_ = Clock::now();
    }
    looked_ = Clock::now();
  });
  return unseen ? !is_gone(*unseen) : own;
}

void WritingRight::require(LeaseCheck look) {
  if (!is_lost_ && holds(look)) return;
  const std::lock_guard held(mutex_);
  if (!lost_) lost_ = loss();
  is_lost_ = true;
  throw *lost_;
}

Error WritingRight::loss() const {
  const LeaseView now = look_at_lease_file(store_, lease_.name);
  const bool by_itself = now.lease && is_of(*now.lease, this_process());
  return file_error(Code::foreign, lease_.path,
                    "is not this handle's to write any more: " +
                        (by_itself   ? "this process has opened it for writing again"
                         : now.lease ? now.job() + " has taken it over"
                                     : "its lease '" + lease_.name +
                                           "' was removed, or another program has taken it over") +
                        "; nothing more is written");
}

void WritingRight::end() noexcept {
  if (closes_.exchange(false)) attempt([&] { file_->close(); });
}

}  // namespace sheaf::multifile
