#include "multifile/saves/recorded_save.hpp"

#include <algorithm>
#include <thread>

#include "comm/agree.hpp"
#include "multifile/saves/constants.hpp"
#include "multifile/saves/host_record.hpp"
#include "multifile/saves/liveness.hpp"
#include "multifile/saves/retention.hpp"
#include "multifile/saves/save_files.hpp"
#include "storage/store.hpp"

namespace sheaf::saves {

namespace {

// A pending or failed save of another job.
class RecordedSave final : public TaskSave {
 public:
  RecordedSave(std::shared_ptr<Store> store, std::string path, std::string temporary,
               const format::Identity& identity)
      : TaskSave(std::move(path), identity), store_(std::move(store)), temporary_(std::move(temporary)) {}

  SaveState look() override {
    const std::lock_guard lock(mutex_);
    if (is_final(state_)) return state_;
    std::optional<format::SaveRecord> lead;
    if (attempt([&] { lead = read_record(*store_, format::save_record_name(temporary_, 0)); })) return state_;
    if (!lead) {
      // The job has committed the save, or a later open has removed it.
      const auto found = identity_under(*store_, path());
      if (found == identity()) state_ = SaveState::durable;
      if (is_final(state_) || (!found && liveness_.is_alive(no_host, {}))) return state_;
      fail(Error(Code::not_found,
                 "the save of '" + path() +
                     "' has failed: its records were removed, and the name has other contents"));
      return state_;
    }
    why_ = failure_in(*lead, path());
    if (!why_ && !liveness_.is_alive(0, lead->tasks))
      why_ = Error(Code::io, "the save of '" + path() +
                                 "' was not finished: its job has stopped; the next open for writing, or "
                                 "`sheaf saves --finish`, completes it if all its bytes are on disk");
    if (why_) state_ = SaveState::failed;
    return state_;
  }
  std::optional<Error> failure() override {
    look();
    const std::lock_guard lock(mutex_);
    return why_;
  }
  void pause(std::chrono::nanoseconds longest) override { std::this_thread::sleep_for(longest); }

 private:
  void fail(const Error& why) {
    why_ = why;
    state_ = SaveState::failed;
  }

  const std::shared_ptr<Store> store_;
  const std::string temporary_;
  std::mutex mutex_;  // guards the following members
  SaveState state_ = SaveState::captured;
  std::optional<Error> why_;
  Liveness liveness_;
};

class DurableMultifile final : public TaskSave {
 public:
  using TaskSave::TaskSave;
  SaveState look() override { return SaveState::durable; }
  std::optional<Error> failure() override { return std::nullopt; }
  void pause(std::chrono::nanoseconds) override {}
};

}  // namespace

std::shared_ptr<TaskSave> find_save(ProcessSaves& saves, std::shared_ptr<Store> store,
                                    const std::string& path) {
  if (auto own = saves.newest(store->place_of(path))) return own;
  std::string newest;
  format::SaveHead head;
  for (const std::string& temporary : saves_beside(*store, path)) {
    std::optional<format::SaveRecord> record;
    attempt([&] { record = read_record(*store, format::save_record_name(temporary, 0)); });
    if (!record || (!newest.empty() && record->head.since < head.since)) continue;
    newest = temporary;
    head = record->head;
  }
  if (!newest.empty())
    return std::make_shared<RecordedSave>(std::move(store), path, std::move(newest), head.identity);
  if (latest_save(*store, path).empty())
    throw Error(Code::not_found, "'" + path + "' has no save, and no complete multifile has this name");
  return std::make_shared<DurableMultifile>(path, identity_under(*store, path).value_or(format::Identity{}));
}

}  // namespace sheaf::saves
