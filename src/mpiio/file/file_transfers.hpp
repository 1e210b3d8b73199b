// mpiio/file/file_transfers: the transfers of one shared file. Translates hints into options of src/exchange,
// counts what a task transfers, and records the bytes of failed writes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "comm/agree.hpp"
#include "comm/comm.hpp"
#include "exchange/collective_executor.hpp"
#include "exchange/transfer/concurrent_openers.hpp"
#include "exchange/transfer/held_writes.hpp"
#include "exchange/transfer/unwritten.hpp"
#include "mpiio/file/across_hosts.hpp"
#include "mpiio/file/hints.hpp"
#include "mpiio/file/sequence.hpp"
#include "mpiio/file/shared_file.hpp"
#include "mpiio/file/statistics.hpp"
#include "mpiio/file/view.hpp"
#include "storage/file.hpp"

namespace sheaf::mpiio {

// Determines the options of transfers. Equal on all tasks, except for `per_host`, `stores_file` and
// `others`.
struct TransferSettings {
  Hints hints;
  VisibilityPolicy policy;
  int64_t per_host = -1;      // maximum aggregators on this host by cb_config_list; negative: unlimited
  int64_t file_block = 4096;  // preferred block of the file, in bytes
  mutable exchange::ConcurrentOpeners others;  // used on task 0
  bool is_announced = false;                   // task 0 has announced the handle to `others`
  bool atomic = false;                         // atomic mode
  // Without hints, one host accesses the file in collective transfers between hosts (FilePlacement): one of
  // those with `stores_file`.
  bool one_host = false;
  bool stores_file = true;                      // of this host
  std::atomic<bool> several_sequences = false;  // transfers of two sequences may be in flight

  // The following functions are local.
  int64_t block() const;  // alignment of requests, in bytes
  exchange::IndependentOptions independent_writes() const;
  exchange::IndependentOptions independent_reads() const;
  exchange::CollectiveOptions collective_writes() const;
  exchange::CollectiveOptions collective_reads() const;
  // Returns true if independent writes may wait in memory, and whether that of the access does.
  bool may_hold() const;
  bool holds(const exchange::FileAccess& access) const;
  // Returns the hints with automatic values replaced by the `chosen` ones.
  Hints resolved(const exchange::CollectiveExecutor::Chosen& chosen) const;

 private:
  exchange::CollectiveOptions collective(Choice buffering,
                                         const exchange::IndependentOptions& independent) const;
};

// Performs transfers of a task and keeps their record. The functions throw as those of SharedFile do; several
// threads may call them if each uses a sequence of its own.
class FileTransfers {
 public:
  // Both arguments must outlive the object.
  FileTransfers(const std::string& path, const SharedMode& mode) : path_(path), mode_(mode) {}

  TransferSettings settings;
  std::shared_ptr<File> file;                         // null until opened
  std::shared_ptr<exchange::NonCoherentFile> across;  // `file` if hosts have caches of their own

  // Local. Return the bytes transferred.
  int64_t write(const View& view, int64_t position, const Source& from);
  int64_t read(const View& view, int64_t position, const Destination& to);
  // Collective. If this task cannot take part, `problem` is the reason, and all tasks throw.
  int64_t write_all(Sequence& sequence, const View& view, int64_t position, const Source& from,
                    std::optional<Error> problem);
  int64_t read_all(Sequence& sequence, const View& view, int64_t position, const Destination& to,
                   std::optional<Error> problem);
  // Collective. This task contributes no bytes, and all tasks fail with `problem`.
  void fail_all(Sequence& sequence, const Error& problem);

  // Writes that this task holds in memory until a collective call.
  exchange::HeldWrites& held() { return held_; }
  // Collective. Writes those of all tasks to the file. Bytes that cannot be written are recorded in
  // unwritten(), and the error is thrown on all tasks.
  void drain_all(Sequence& sequence);
  // Collective. Runs part() on all tasks after drain_all(). Costs one reduction if no task holds writes.
  // Throws on all tasks if a task fails.
  template <class Part>
  void after_drain(Sequence& sequence, Part part);

  Statistics statistics() const;
  exchange::UnwrittenBytes& unwritten() { return unwritten_; }
  // Returns the error that sync() and close() of `task` must throw, if any.
  std::optional<Error> incomplete(int task) const {
    return mode_.delete_on_close ? std::nullopt : unwritten_.problem(path_, task);
  }

 private:
  exchange::CollectiveFile target() const {
    return across ? exchange::CollectiveFile(*across) : exchange::CollectiveFile(*file);
  }
  exchange::CollectiveFile target(std::function<void()> drain) const;
  bool hold(const exchange::FileAccess& access);
  void drain_alone();
  std::optional<Error> drain_few();
  template <class Write>
  void drain(const exchange::HeldExtents* batch, Write write);
  template <class Byte>
  exchange::FileAccess access_of(const View& view, int64_t position, const MemoryOf<Byte>& memory) const;
  void write_together(Sequence& sequence, const exchange::FileAccess& access,
                      const std::optional<Error>& problem, exchange::IoCounters& counters);
  int64_t read_together(Sequence& sequence, const exchange::FileAccess& access,
                        const std::optional<Error>& problem, exchange::IoCounters& counters);
  template <class Transfer>
  Statistics counted(const exchange::FileAccess& access, int64_t Statistics::*calls, Transfer transfer);
  template <class Write>
  void recorded(const exchange::FileAccess& access, Write write);

  const std::string& path_;
  const SharedMode& mode_;
  exchange::UnwrittenBytes unwritten_;  // bytes of failed writes of this task
  exchange::HeldWrites held_;           // empty unless hosts have caches of their own
  mutable std::mutex mutex_;            // guards the counters
  Statistics statistics_;
};

template <class Part>
void FileTransfers::after_drain(Sequence& sequence, Part part) {
  std::optional<Error> problem = drain_few();
  int64_t holds = !held_.is_empty();
  if (holds == 0) attempt(problem, part);
  agree(sequence.comm(), problem, std::span(&holds, 1));
  if (holds == 0) return;
  drain_all(sequence);
  agree(sequence.comm(), attempt(part));
}

// Replaces `file` by a decorator that lets at most the number of tasks transfer at once that the hints allow.
// Has no effect without such a limit, or if this task has not opened a file. If this task cannot acquire the
// slots, sets `problem`. Collective over `comm` if the hints set a limit. Must be called before wrap()
// (mpiio/file/across_hosts.hpp), so that transfers past the cache count, too.
void limit_transfers(Comm& comm, Store& store, const Hints& hints, std::shared_ptr<File>& file,
                     std::optional<Error>& problem);

}  // namespace sheaf::mpiio
