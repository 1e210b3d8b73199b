// multifile/saves/save_part: what one task does for a save after its close has returned. No message is sent:
// tasks and hosts learn of each other from the records (multifile/saves/host_record).
//
// - writing: the captured bytes are written.
// - closing: captured frames are compressed and written, then the tables (multifile/deferred/deferred_close).
//   Records `written` in its slot.
// - syncing: the files are synced and closed. Records `synced`.
// - joining: looks whether all tasks of the host are synced. The last one, and the lead, go on; others end.
// - sharing: if hosts share files, waits for all hosts. Then completes the files of this host, and records
//   `complete` in slot 0.
// - committing, the lead only: waits until all hosts are complete, commits, and removes the records.
// - ended.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/os/backoff.hpp"
#include "base/os/heartbeat.hpp"
#include "format/save_record.hpp"
#include "multifile/deferred/deferred_close.hpp"
#include "multifile/journal/ownership.hpp"
#include "multifile/saves/host_record.hpp"
#include "multifile/saves/host_watch.hpp"
#include "multifile/saves/save.hpp"
#include "multifile/saves/save_terms.hpp"
#include "storage/background/background_writer.hpp"
#include "storage/store.hpp"

namespace sheaf::saves {

// What only the lead has.
struct LeadDuties {
  std::shared_ptr<multifile::Ownership> ownership = nullptr;  // null: there is none
  std::shared_ptr<TaskSave> after = nullptr;                  // is to be committed first; null: none
  int32_t keep = 0;                                           // see AsyncMode
};

class SavePart final : public TaskSave {
 public:
  // Opens the record of this host, which must exist. `deferred` is what the close has left; null: nothing.
  // Throws the errors of the store.
  SavePart(SaveTerms terms, LeadDuties duties, std::shared_ptr<multifile::DeferredClose> deferred,
           BackgroundWriter& writer, std::shared_ptr<WriteBatch> batch);
  ~SavePart() override;

  // Begins the work in the background. `self` is this object. Calls `ended` when its work has ended.
  static void begin(const std::shared_ptr<SavePart>& self, std::function<void(SavePart&)> ended);

  SaveState look() override;
  std::optional<Error> failure() override;
  SaveBytes bytes() override;
  void pause(std::chrono::nanoseconds longest) override;
  bool has_local() const override { return terms_.is_local && terms_.hosts == 1; }

  bool has_ended() const override { return has_ended_; }
  bool leads() const { return terms_.leads; }
  // Notes the next save of the same multifile. The lead commits it only if the outcome of this one is final.
  void set_next(std::shared_ptr<SavePart> next);
  // Returns the right to the name, for a save that is to follow this one; null if there is none.
  std::shared_ptr<multifile::Ownership> ownership();
  const SaveTerms& terms() const { return terms_; }

 private:
  enum class SaveStage : uint8_t { writing, closing, syncing, joining, sharing, committing, ended };
  using Delay = std::optional<std::chrono::milliseconds>;

  Delay advance();
  Delay step();
  Delay advance_close();
  Delay write_and_sync();
  Delay join();
  Delay share();
  Delay complete_host();
  Delay commit();
  Delay end(SaveState state);
  Delay fail(const Error& why);
  void put_own(format::SaveProgress state, const std::optional<Error>& why = std::nullopt);
  void put_host(format::SaveProgress state, const std::optional<Error>& why = std::nullopt);
  void beat();
  void stop();
  void set_outcome(SaveState state, const std::optional<Error>& why);
  SaveState look_at_records();
  SaveState outcome_without_record();

  const SaveTerms terms_;
  BackgroundWriter& writer_;
  const std::shared_ptr<WriteBatch> batch_;
  std::unique_ptr<Heartbeat> heartbeat_;
  std::atomic<bool> has_ended_ = false;

  struct Work;
  const std::unique_ptr<Work> work_;  // used by one thread at a time, that of the BackgroundWriter

  mutable std::mutex mutex_;  // guards the following members
  Liveness lead_;             // watches task 0 for calls of the program
  struct Known;
  const std::unique_ptr<Known> known_;
};

}  // namespace sheaf::saves
