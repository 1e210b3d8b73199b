// exchange/staged: collective transfers of tasks that share memory, through a Stage.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "exchange/access.hpp"
#include "exchange/independent.hpp"
#include "exchange/stage.hpp"
#include "exchange/tally.hpp"
#include "exchange/windows.hpp"
#include "storage/store.hpp"

namespace sheaf::exchange {

// What is to be done in one go, the same on all tasks.
struct Leg {
  Windows windows;
  std::vector<uint32_t> order;  // numbers of the windows that tasks have pieces in
  // For each entry of `order`: bytes of all tasks in the window, and whether they tile it. Empty: they tile all windows.
  std::vector<int64_t> bytes;
  std::vector<bool> full;
  int64_t aggregators = 1;  // tasks that write at once
};

class Staged {
 public:
  Staged(Comm& comm, std::unique_ptr<Stage> stage) : comm_(comm), stage_(std::move(stage)) {}

  Stage& stage() { return *stage_; }

  // Collective. Finds out what the tasks have in at most Stage::table_entries windows; `access.bytes()` may be 0.
  Leg find_gaps(const Access& access, const Windows& windows, int64_t domains);

  // Collective; nothing is thrown on the way. Return what went wrong here; `failed` then tells all.
  std::optional<Error> write(File& file, const Access& access, const Leg& leg, Sieving sieving, SharedWord& failed, Tally& tally);
  // `done`: the position in the stream up to which bytes were read.
  std::optional<Error> read(File& file, const Access& access, const Leg& leg, bool ahead, SharedWord& failed, int64_t& done,
                            Tally& tally);

 private:
  struct Job;
  bool lacks_writer(const Job& job) const;
  bool hand_over(Job& job);
  bool leaves(const Job& job, std::optional<uint32_t> next, int written) const;
  void write_ready(Job& job, std::optional<uint32_t> next = std::nullopt);  // `next`: window that this task will bring pieces to
  void write_window(Job& job, uint32_t number);
  void write_windows(Job& job, std::span<const uint32_t> numbers);
  bool try_read(Job& job, uint32_t number);
  void release(Job& job, uint32_t number);
  void wait_for_all(Job& job);

  Comm& comm_;
  const std::unique_ptr<Stage> stage_;
  uint32_t next_ = 0;  // number of the next window
  uint32_t legs_ = 0;
};

}  // namespace sheaf::exchange
