#include "multifile/saves/save_part.hpp"

#include <utility>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "multifile/saves/constants.hpp"
#include "multifile/saves/retention.hpp"

namespace sheaf::saves {

using format::SaveProgress;
using format::SaveRecord;
using format::SaveSlot;
using multifile::Ownership;
using std::chrono::milliseconds;

namespace {

// Returns the time until the next look at what other tasks have done.
std::optional<milliseconds> after_pause(std::optional<Backoff>& pauses) {
  return std::chrono::ceil<milliseconds>(pauses->next());
}

}  // namespace

// State of the work.
struct SavePart::Work {
  explicit Work(const SaveTerms& terms) : others(terms) {}

  void enter(SaveStage next) {
    stage = next;
    pauses.emplace(saves_constants::look_backoff);
  }

  SaveStage stage = SaveStage::writing;
  bool is_synced = false;  // other tasks may know that this task is synced
  int commits = 0;         // attempts
  HostWatch others;
  std::shared_ptr<TaskSave> after;
  std::shared_ptr<multifile::DeferredClose> deferred;  // null: nothing is left of the close
  int32_t keep = 0;
  std::optional<Backoff> pauses;  // between looks; there is one in stages that look at others
  std::mutex mutex;               // guards the following members, which the heartbeat uses too
  std::unique_ptr<HostRecordSlots> slots;
  SaveSlot own_slot;
};

// What calls of the program are told.
struct SavePart::Known {
  SaveState state = SaveState::captured;
  std::optional<Error> why;
  std::shared_ptr<Ownership> ownership;
  std::shared_ptr<SavePart> next;  // save of the same multifile
};

SavePart::SavePart(SaveTerms terms, LeadDuties duties, std::shared_ptr<multifile::DeferredClose> deferred,
                   BackgroundWriter& writer, std::shared_ptr<WriteBatch> batch)
    : TaskSave(terms.path, terms.identity),
      terms_(std::move(terms)),
      writer_(writer),
      batch_(std::move(batch)),
      work_(std::make_unique<Work>(terms_)),
      known_(std::make_unique<Known>()) {
  work_->slots =
      std::make_unique<HostRecordSlots>(*terms_.store, terms_.record(terms_.host), terms_.is_local);
  work_->deferred = std::move(deferred);
  known_->ownership = std::move(duties.ownership);
  work_->after = std::move(duties.after);
  work_->keep = duties.keep;
  work_->own_slot = {.task = terms_.task, .bytes = batch_->captured()};
}

SavePart::~SavePart() = default;

void SavePart::begin(const std::shared_ptr<SavePart>& self, std::function<void(SavePart&)> ended) {
  const auto beat = multifile::lease_times().beat;
  self->heartbeat_ = Heartbeat::start(beat, beat, [weak = std::weak_ptr(self)] {
    if (const auto part = weak.lock()) part->beat();
  });
  self->writer_.then(self->batch_, [self, ended = std::move(ended)] {
    const Delay delay = self->advance();
    if (!delay) ended(*self);
    return delay;
  });
}

// Runs one step. Every failure ends the save.
SavePart::Delay SavePart::advance() {
  Delay delay;
  const auto problem = attempt([&] { delay = step(); });
  return problem ? fail(*problem) : delay;
}

SavePart::Delay SavePart::step() {
  switch (work_->stage) {
    case SaveStage::writing:
    case SaveStage::closing:
      return work_->deferred ? advance_close() : write_and_sync();
    case SaveStage::syncing:
      return write_and_sync();
    case SaveStage::joining:
      return join();
    case SaveStage::sharing:
      return share();
    case SaveStage::committing:
      return commit();
    case SaveStage::ended:
      break;
  }
  return std::nullopt;
}

// All captured writes have been carried out when this is called.
SavePart::Delay SavePart::advance_close() {
  using CloseProgress = multifile::DeferredClose::CloseProgress;
  if (work_->stage == SaveStage::writing) {
    batch_->write_through();
    work_->enter(SaveStage::closing);
  }
  batch_->require_sound();
  switch (work_->deferred->advance()) {
    case CloseProgress::works:
      return milliseconds(0);
    case CloseProgress::waits: {
      const SaveRecord record = work_->others.own_record();
      if (const auto failed = failure_in(record, path())) throw *failed;
      work_->others.require_alive(record);
      return after_pause(work_->pauses);
    }
    case CloseProgress::done:
      break;
  }
  {
    const std::lock_guard lock(work_->mutex);
    work_->own_slot.mark = work_->deferred->mark();
  }
  work_->deferred.reset();
  return write_and_sync();
}

// All captured bytes have been written when this is called.
SavePart::Delay SavePart::write_and_sync() {
  if (has_local() && batch_->is_sound()) put_own(SaveProgress::written);
  work_->enter(SaveStage::syncing);
  batch_->sync_files();
  batch_->require_sound();
  work_->is_synced = true;
  put_own(SaveProgress::synced);
  work_->enter(SaveStage::joining);
  return join();
}

// Each task writes its slot before it looks at the others, so at least one finds all of them synced.
SavePart::Delay SavePart::join() {
  const SaveRecord record = work_->others.own_record();
  if (const auto failed = failure_in(record, path())) {
    if (terms_.leads) throw *failed;
    return end(SaveState::captured);
  }
  if (all_reached(record, SaveProgress::synced)) {
    work_->enter(SaveStage::sharing);
    return share();
  }
  if (!terms_.leads) return end(SaveState::captured);
  work_->others.require_alive(record);
  return after_pause(work_->pauses);
}

SavePart::Delay SavePart::share() {
  if (terms_.shares_files && !work_->others.are_ready([](const SaveRecord& record) {
        return all_reached(record, SaveProgress::synced);
      }))
    return after_pause(work_->pauses);
  return complete_host();
}

// Several tasks of the host may do this at once: they write the same bytes.
SavePart::Delay SavePart::complete_host() {
  complete_files(*terms_.store, terms_.temporary, work_->others.own_record().marks());
  put_host(SaveProgress::complete);
  if (!terms_.leads) return end(SaveState::captured);
  work_->enter(SaveStage::committing);
  return commit();
}

SavePart::Delay SavePart::commit() {
  if (!work_->others.are_ready(
          [](const SaveRecord& record) { return record.host.state == SaveProgress::complete; }))
    return after_pause(work_->pauses);
  if (work_->after && !is_final(work_->after->look())) return after_pause(work_->pauses);
  const auto ownership = this->ownership();
  if (ownership) ownership->require_owned(Ownership::LeaseCheck::name);
  const auto problem = attempt([&] { commit_save(*terms_.store, terms_.names()); });
  if (problem) {
    // If the commit has begun, the new generation is the one under the name already.
    if (!has_begun_commit(*terms_.store, terms_.names()) || ++work_->commits == saves_constants::max_commits)
      throw *problem;
    return saves_constants::between_commits;
  }
  remove_records(*terms_.store, terms_.temporary, terms_.hosts);
  if (work_->keep > 0) attempt([&] { remove_older(*terms_.store, terms_.path, work_->keep); });
  return end(SaveState::durable);
}

// Ends the work of this task. `state` is final at the lead.
SavePart::Delay SavePart::end(SaveState state) {
  stop();
  if (terms_.leads) set_outcome(state, std::nullopt);
  has_ended_ = true;
  return std::nullopt;
}

// Records the failure, so that all tasks learn of it, and ends. When a task may be known to be synced, only
// the lead decides the outcome. The task then records that its host cannot be completed, except on the host
// of the lead, which completes that itself.
SavePart::Delay SavePart::fail(const Error& why) {
  const bool may_decide = terms_.leads || !work_->is_synced;
  attempt([&] {
    if (terms_.leads || (!may_decide && terms_.host > 0)) return put_host(SaveProgress::failed, why);
    if (may_decide) put_own(SaveProgress::failed, why);
  });
  stop();
  if (!may_decide) {
    has_ended_ = true;
    return std::nullopt;
  }
  set_outcome(SaveState::failed, why);
  has_ended_ = true;
  return std::nullopt;
}

void SavePart::stop() {
  work_->enter(SaveStage::ended);
  work_->deferred.reset();
  work_->after.reset();
  heartbeat_.reset();
  const std::lock_guard lock(work_->mutex);
  work_->slots.reset();
}

namespace {

void describe(SaveSlot& slot, const std::optional<Error>& why) {
  if (!why) return;
  slot.code = static_cast<uint32_t>(why->code());
  slot.errno_value = why->errno_value();
  slot.message = why->what();
}

}  // namespace

void SavePart::put_own(SaveProgress state, const std::optional<Error>& why) {
  const std::lock_guard lock(work_->mutex);
  SaveSlot& slot = work_->own_slot;
  slot.state = state;
  slot.written = batch_->written();
  describe(slot, why);
  work_->slots->put(terms_.slot, slot);
}

void SavePart::put_host(SaveProgress state, const std::optional<Error>& why) {
  SaveSlot slot{.state = state, .task = why ? terms_.task : -1};
  describe(slot, why);
  const std::lock_guard lock(work_->mutex);
  work_->slots->put(0, slot);
}

void SavePart::beat() {
  attempt([&] {
    const std::lock_guard lock(work_->mutex);
    if (!work_->slots) return;
    ++work_->own_slot.beats;
    work_->own_slot.written = batch_->written();
    work_->slots->put(terms_.slot, work_->own_slot);
  });
}

void SavePart::set_outcome(SaveState state, const std::optional<Error>& why) {
  std::shared_ptr<Ownership> released;
  const std::lock_guard lock(mutex_);
  released = std::move(known_->ownership);
  if (is_final(known_->state)) return;
  known_->state = state;
  if (!why) return;
  const std::string text = why->what();
  const bool is_described = text.starts_with("the save of '");
  known_->why = is_described ? *why
                             : Error(why->code(), "the save of '" + path() + "' has failed: " + text,
                                     why->errno_value());
}

SaveState SavePart::look() {
  {
    const std::lock_guard lock(mutex_);
    if (is_final(known_->state)) return known_->state;
  }
  SaveState found = SaveState::captured;
  const auto unread = attempt([&] { found = look_at_records(); });
  std::unique_lock lock(mutex_);
  // A record that cannot be read now may be readable later.
  if (unread && !terms_.leads && !lead_.is_alive(no_host, {})) {
    lock.unlock();
    set_outcome(SaveState::failed, unread);
    lock.lock();
  }
  if (!is_final(known_->state) && found > known_->state) known_->state = found;
  return known_->state;
}

// Finds the outcome in the records. The record of host 0 contains the failure of the save.
SaveState SavePart::look_at_records() {
  const auto record = read_record(*terms_.store, terms_.record(0));
  if (!record) return terms_.leads ? SaveState::captured : outcome_without_record();
  if (terms_.leads) {
    const bool is_written = has_local() && all_reached(*record, SaveProgress::written);
    return is_written ? SaveState::local : SaveState::captured;
  }
  auto failed = failure_in(*record, path());
  const std::vector<SaveSlot> lead(record->tasks.begin(), record->tasks.begin() + 1);
  if (!failed) {
    const std::lock_guard lock(mutex_);
    if (!lead_.is_alive(0, lead)) {
      // Task 0 may have stopped during the commit or after it. Any task can finish a commit that has begun.
      if (has_begun_commit(*terms_.store, terms_.names()) &&
          !attempt([&] { commit_save(*terms_.store, terms_.names()); }))
        return SaveState::durable;
      failed = Error(Code::io, "the save of '" + path() + "' has failed: task 0 of the job has stopped");
    }
  }
  if (failed) {
    set_outcome(SaveState::failed, failed);
    return SaveState::failed;
  }
  return has_local() && all_reached(*record, SaveProgress::written) ? SaveState::local : SaveState::captured;
}

// Finds the outcome if the record of host 0 is gone. The lead removes it after the commit. If the lead has
// died, another job may have removed it with the save. So the save is durable only if the name has its
// generation, or that of a later save: the lead commits in order, and leaves the record of a failed save
// until all tasks know of the failure. Other hosts may know the former generation under the name for a while.
SaveState SavePart::outcome_without_record() {
  const auto found = identity_under(*terms_.store, path());
  std::shared_ptr<SavePart> later;
  for (SavePart* part = this; part; part = later.get()) {
    std::unique_lock lock(part->mutex_);
    if (found == part->terms_.identity || part->known_->state == SaveState::durable)
      return SaveState::durable;
    auto next = part->known_->next;
    lock.unlock();
    later = std::move(next);
  }
  {
    const std::lock_guard lock(mutex_);
    if ((!found || !terms_.is_local) && lead_.is_alive(no_host, {})) return SaveState::captured;
  }
  set_outcome(
      SaveState::failed,
      Error(Code::foreign, "another program has removed its records, and the name has other contents"));
  return SaveState::failed;
}

void SavePart::set_next(std::shared_ptr<SavePart> next) {
  const std::lock_guard lock(mutex_);
  known_->next = std::move(next);
}

std::optional<Error> SavePart::failure() {
  if (look() != SaveState::failed) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return known_->why;
}

SaveBytes SavePart::bytes() { return {batch_->captured(), batch_->written()}; }

// The writer wakes its callers after every request, but only the end of this part is news.
void SavePart::pause(std::chrono::nanoseconds longest) {
  const bool had_ended = has_ended_;
  const Deadline deadline(longest);
  do {
    writer_.help(deadline.remaining());
  } while (has_ended_ == had_ended && !deadline.expired());
}

std::shared_ptr<Ownership> SavePart::ownership() {
  const std::lock_guard lock(mutex_);
  return known_->ownership;
}

}  // namespace sheaf::saves
