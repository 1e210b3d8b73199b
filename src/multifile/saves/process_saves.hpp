// multifile/saves/process_saves: the saves of this process, and the thread that writes them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "base/forks.hpp"
#include "base/non_copyable.hpp"
#include "multifile/saves/save_part.hpp"
#include "storage/background/background_writer.hpp"

namespace sheaf::saves {

// Thread-safe.
class SHEAF_EXPORT ProcessSaves : private NonCopyable {
 public:
  // Returns the object of this process, which lives until exit. A forked child has an empty one.
  static ProcessSaves& here();

  explicit ProcessSaves(BackgroundWriter::ServedBy served_by = BackgroundWriter::ServedBy::thread)
      : writer_(served_by) {}

  BackgroundWriter& writer() { return writer_; }

  // Adds a part, and forgets earlier ones that are durable.
  void add(std::shared_ptr<SavePart> part);
  // Returns the newest save of the multifile with the canonical path `place`; null if there is none. Prefers
  // the part that leads.
  std::shared_ptr<SavePart> newest(const std::string& place);
  // Removes the parts of `place` that have ended and need no report any more.
  void forget_ended(const std::string& place);
  // Removes a part whose save is durable.
  void forget_durable(SavePart& part);
  // Removes a part. Never throws.
  void forget(const SavePart& part);
  // Returns all parts that have not been forgotten.
  std::vector<std::shared_ptr<SavePart>> all();

  // The budget of the last save, for saves of the same tasks; see begin_save().
  struct SharedBudget {
    std::shared_ptr<CaptureBudget> budget;
    int64_t id = 0;  // equal on all tasks that share it; 0: none
  };
  SharedBudget last_budget();
  void set_last_budget(const SharedBudget& budget);

 private:
  const int64_t process_ = forks();
  std::mutex mutex_;  // guards the following members, except the writer
  std::vector<std::shared_ptr<SavePart>> parts_;
  std::weak_ptr<CaptureBudget> budget_;
  int64_t budget_id_ = 0;
  BackgroundWriter writer_;  // the last member, because its steps use the others
};

}  // namespace sheaf::saves
