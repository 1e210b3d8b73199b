// multifile/saves/save: a save in the background, as one task sees it (docs/async.md).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/export.hpp"
#include "base/non_copyable.hpp"
#include "format/extension.hpp"

namespace sheaf::saves {

// The values are those of include/sheaf_save.h.
enum class SaveState : int8_t { failed = -1, skipped = 0, captured = 1, local = 2, durable = 3 };

struct SaveBytes {
  int64_t captured = 0;
  int64_t written = 0;
};

// Thread-safe. All calls are local.
class SHEAF_EXPORT TaskSave : private NonCopyable {
 public:
  // `identity`: which generation the save is; zeros: none.
  explicit TaskSave(std::string path, const format::Identity& identity = {})
      : path_(std::move(path)), identity_(identity) {}
  virtual ~TaskSave() = default;

  const std::string& path() const { return path_; }
  const format::Identity& identity() const { return identity_; }

  // Returns the state of the save of all tasks, as far as it is recorded. Never waits for others. `failed`,
  // `skipped` and `durable` are final.
  virtual SaveState look() = 0;
  // Returns why the save has failed; nullopt if look() has not returned `failed`.
  virtual std::optional<Error> failure() = 0;
  // Returns the bytes of this process.
  virtual SaveBytes bytes() { return {}; }
  // Waits until look() may return another state, at most for `longest`.
  virtual void pause(std::chrono::nanoseconds longest) = 0;
  // Returns true if this process has no more work for the save.
  virtual bool has_ended() const { return true; }
  // Waits for that.
  void finish_own_work();
  // Returns true if the save can be `local`: a wait for that state otherwise waits for `durable`.
  virtual bool has_local() const { return false; }

  // Waits until the save has reached `state` or a later one. Returns false if it has failed or was skipped.
  bool wait(SaveState state);

  // Notes that the program knows of the failure. Returns whether it knew it before.
  bool tell() { return told_.exchange(true); }
  bool is_told() const { return told_; }

 private:
  const std::string path_;
  const format::Identity identity_;
  std::atomic<bool> told_ = false;
};

inline bool is_final(SaveState state) {
  return state == SaveState::failed || state == SaveState::skipped || state == SaveState::durable;
}

// A save that was discarded (`pending=skip`).
class SkippedSave final : public TaskSave {
 public:
  using TaskSave::TaskSave;
  SaveState look() override { return SaveState::skipped; }
  std::optional<Error> failure() override { return std::nullopt; }
  void pause(std::chrono::nanoseconds) override {}
};

}  // namespace sheaf::saves
