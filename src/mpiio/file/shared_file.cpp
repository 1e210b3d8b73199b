// Implements opening, closing and file pointers. src/exchange performs the transfers.
#include "mpiio/file/shared_file.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/checked.hpp"
#include "base/os/random.hpp"
#include "comm/agree.hpp"
#include "comm/collective_call.hpp"
#include "comm/host_name.hpp"
#include "exchange/transfer/concurrent_openers.hpp"
#include "exchange/transfer/non_coherent_file.hpp"
#include "exchange/transfer/unwritten.hpp"
#include "mpiio/file/across_hosts.hpp"
#include "mpiio/file/file_access.hpp"
#include "mpiio/file/opening.hpp"
#include "mpiio/file/sequence.hpp"
#include "mpiio/file/shared_pointer.hpp"
#include "mpiio/file/transfer_hints.hpp"

namespace sheaf::mpiio {
namespace {

using exchange::IoCounters;

class OpenSharedFile final : public SharedFile {
 public:
  OpenSharedFile(std::unique_ptr<Comm> comm, Store& store, std::string path, const SharedMode& mode)
      : sequence_(std::move(comm)),
        store_(store),
        path_(std::move(path)),
        mode_(mode),
        view_(std::make_shared<View>()) {}

  void open_all(const Hints& wanted) {
    OpeningMessage opening{};
    std::optional<Error> problem;
    if (rank() == 0) {
      Hints hints = wanted;
      hints.apply_environment();
      const Striping striping{hints.striping_unit, hints.striping_factor};
      problem = attempt([&] { file_ = open_first(store_, path_, mode_, striping, opening.traits); });
      opening.opened = !problem;
      opening.id = random_number();
      targets_ = statistics_targets();
      opening.reports = std::ssize(targets_);
      keep(hints, opening);
    }
    comm().broadcast(std::as_writable_bytes(std::span(&opening, 1)), 0);
    take_hints(opening);
    across_ = across_hosts(opening.traits, comm());
    is_reported_ = opening.reports > 0;
    if (rank() != 0 && opening.opened != 0)
      problem = attempt([&] { file_ = open_next(store_, path_, mode_, across_.needs_revalidation()); });
    if (rank() == 0 && mode_.write && across_.marks_handles() && !problem) problem = announce();
    limit_transfers(comm(), store_, hints_, file_, problem);
    file_ = across_.wrap(std::move(file_));
    std::array<int64_t, 3> facts{0, 0, others_.is_announced()};
    if (!problem && rank() == 0)
      problem = attempt([&] {
        const FileStatus status = file_->status();
        facts = {status.block_size, mode_.append ? status.size : 0, facts[2]};
      });
    agree(comm(), problem, facts);
    file_->expect_lockers(comm().size());
    block_ = std::max<int64_t>(facts[0], 1);
    is_announced_ = facts[2] != 0;
    if (across_.hosts > 1) sequence_.transfers.find_hosts(for_collective(true));
    individual_ = facts[1];
    shared_base_ = facts[1];
    pointer_ = std::make_unique<SharedPointer>(store_, path_, opening.id, comm().size(), across_);
  }

  void close() override {
    std::optional<Error> problem = across_.await_all_before_close(*file_, comm(), mode_.write);
    if (const auto missing = incomplete()) problem = missing;
    attempt(problem, [&] { pointer_->close(); });
    // Task 0 withdraws the announced handle after all tasks have closed, and keeps the file open until then.
    const bool closes_last = others_.is_announced();
    attempt(problem, [&] { closes_last ? publish_without_close() : file_->close(); });
    if (is_reported_) attempt(problem, [&] { report(comm(), store_, statistics(), path_, targets_); });
    // All tasks must have closed the file before task 0 removes it and the file of the shared pointer.
    int64_t used = pointer_->used();
    std::optional<Error> outcome = attempt([&] { agree(comm(), problem, std::span(&used, 1)); });
    if (closes_last) {
      others_.retire();
      attempt([&] { file_->close(); });  // everything is already published
    }
    const bool cleans_up = mode_.delete_on_close || used != 0 || outcome;
    std::optional<Error> removing;
    if (cleans_up && rank() == 0) {
      if (mode_.delete_on_close) removing = attempt([&] { store_.remove(path_); });
      attempt(removing, [&] { pointer_->remove(used != 0); });
    }
    if (outcome) throw *outcome;
    if (cleans_up) agree_with(comm(), removing, 0);
  }

  int rank() const override { return sequence_.comm().rank(); }
  const std::string& path() const override { return path_; }
  Hints hints() const override { return hints_; }
  Hints hints_in_use() const override {
    const auto chosen = sequence_.transfers.chosen(*file_, for_collective(true));
    return resolved(hints_, chosen, block(), across_.kind);
  }
  void set_hints(const Hints& hints) override {
    Hints merged = hints;
    if (rank() == 0) merged.apply_environment();
    OpeningMessage told{};
    keep(merged, told);
    comm().broadcast(std::as_writable_bytes(std::span(&told, 1)), 0);
    take_hints(told);
  }
  Statistics statistics() const override {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }
  std::unique_ptr<Sequence> make_sequence() override {
    several_sequences_ = true;
    return std::make_unique<Sequence>(comm().duplicate());
  }
  Sequence& sequence() override { return sequence_; }
  int64_t bytes() override {
    if (across_.caches()) file_->revalidate();
    return file_->status().size;
  }
  void resize(int64_t bytes) override {
    by_task_0(bytes, [&] { file_->resize(bytes); });
    unwritten_.cut(bytes);
  }
  void preallocate(int64_t bytes) override {
    by_task_0(bytes, [&] {
      exchange::revalidate_reads(*file_);
      set_room_aside(*file_, bytes);
    });
  }
  void sync() override {
    sync_all();
    agree(comm(), incomplete());
  }
  void set_atomic(bool atomic) override {
    if (atomic) across_.require_locks(path_);
    sync_all();
    atomic_ = atomic;
  }
  bool atomic() const override { return atomic_; }

  void set_view(const View& view, Agreed when) override {
    const auto problem = attempt([&] { require_usable(view, !mode_.write); });
    if (when == Agreed::immediate) agree(comm(), problem);
    pointer_->begin_view();
    shared_base_ = 0;
    const std::lock_guard lock(mutex_);
    refused_.reset();
    if (problem) {
      refused_ = Error(problem->code(), "task " + std::to_string(rank()) + " was refused a view of '" +
                                            path_ + "': " + problem->what());
      throw *problem;
    }
    view_ = std::make_shared<View>(view);
    individual_ = 0;
  }
  std::shared_ptr<const View> view() const override {
    const std::lock_guard lock(mutex_);
    return view_;
  }

  int64_t claim_individual(int64_t bytes) override {
    const std::lock_guard lock(mutex_);
    const int64_t before = individual_;
    individual_ = must_fit(checked_add(before, bytes), "the file pointer");
    return before;
  }
  void seek_individual(int64_t position) override {
    require_position(position);
    const std::lock_guard lock(mutex_);
    individual_ = position;
  }
  int64_t claim_shared(int64_t bytes) override { return shared_base_ + pointer_->claim(bytes); }
  int64_t shared_position() override {
    agree(comm(), std::nullopt);
    return claim_by_task_0(comm(), 0);
  }
  void seek_shared(int64_t position) override {
    int64_t same[2] = {position, -position};
    agree(comm(), attempt([&] { require_position(position); }), same);
    if (same[0] != -same[1])
      throw file_error(Code::invalid_argument, file_->path(),
                       "the tasks move the shared file pointer to different places, from byte " +
                           std::to_string(-same[1]) + " to " + std::to_string(same[0]));
    const auto problem =
        rank() == 0 ? attempt([&] { pointer_->set(position - shared_base_); }) : std::nullopt;
    agree_with(comm(), problem, 0);
  }
  int64_t claim_ordered(Sequence& sequence, int64_t bytes) override {
    std::array<int64_t, 1> before{bytes}, total{};
    sequence.comm().prefix_sum_and_total(before, total);
    return claim_by_task_0(sequence.comm(), total[0]) + before[0];
  }
  int64_t end_of_stream(const View& view) override {
    const int64_t end = bytes();
    return view.filetype.size() > 0 ? view.bytes_below(end) : 0;
  }

  int64_t write_at(const View& view, int64_t position, const Source& from) override {
    return transfer_independent(access_of(view, position, from, true), true);
  }
  int64_t read_at(const View& view, int64_t position, const Destination& to) override {
    return transfer_independent(access_of(view, position, to, false), false);
  }
  int64_t write_at_all(Sequence& sequence, const View& view, int64_t position, const Source& from) override {
    return transfer_collective(sequence, view, position, from, true);
  }
  int64_t read_at_all(Sequence& sequence, const View& view, int64_t position,
                      const Destination& to) override {
    return transfer_collective(sequence, view, position, to, false);
  }
  void note_lost_write() noexcept override { unwritten_.add_unknown(); }
  void fail_all(Sequence& sequence, bool writes, const Error& problem) override {
    IoCounters counters;
    take_refused();  // all tasks receive this error
    carry_out(sequence, {}, writes, problem, counters);
  }

 private:
  Comm& comm() const { return sequence_.comm(); }

  void take_hints(const OpeningMessage& told) {
    hints_ = hints_in(told);
    per_host_ = hints_.allowed_on(host_name());
  }
  // Announces the handle to other openers; task 0 calls it. Returns only EAGAIN errors of locks.
  std::optional<Error> announce() {
    const auto problem = attempt([&] { others_.announce(file_); });
    return problem && problem->errno_value() == EAGAIN ? problem : std::nullopt;
  }
  // Returns the error that sync() and close() must throw, if any.
  std::optional<Error> incomplete() const {
    return mode_.delete_on_close ? std::nullopt : unwritten_.problem(path_, rank());
  }
  void sync_all() {
    agree(comm(), attempt([&] {
            if (mode_.write) file_->sync();
          }));
    revalidate();
  }
  // Publishes this task's writes without closing the file.
  void publish_without_close() { across_.caches() ? exchange::publish_writes(*file_) : publish(*file_); }

  std::optional<Error> take_refused() {
    const std::lock_guard lock(mutex_);
    return std::exchange(refused_, std::nullopt);
  }
  int64_t transfer_independent(const exchange::FileAccess& access, bool writes) {
    return counted(access, writes, writes ? &Statistics::independent_writes : &Statistics::independent_reads,
                   [&](IoCounters& io) {
                     if (!writes)
                       return exchange::independent_read(*file_, access, for_independent(false), io);
                     exchange::independent_write(*file_, access, for_independent(true), io);
                     return access.bytes();
                   });
  }

  template <class Memory>
  int64_t transfer_collective(Sequence& sequence, const View& view, int64_t position, const Memory& memory,
                              bool writes) {
    exchange::FileAccess access;
    std::optional<Error> problem = take_refused();
    if (!problem) problem = attempt([&] { access = access_of(view, position, memory, writes); });
    return counted(access, writes, writes ? &Statistics::collective_writes : &Statistics::collective_reads,
                   [&](IoCounters& io) { return carry_out(sequence, access, writes, problem, io); });
  }
  int64_t carry_out(Sequence& sequence, const exchange::FileAccess& access, bool writes,
                    const std::optional<Error>& problem, IoCounters& counters) {
    const exchange::CollectiveOptions how = for_collective(writes);
    return collective_call(sequence.comm().job_end(), writes ? "write" : "read", [&] {
      if (!writes) return sequence.transfers.read(*file_, access, how, problem, counters);
      sequence.transfers.write(*file_, access, how, problem, counters);
      return access.bytes();
    });
  }

  int64_t block() const {
    return hints_.block_size > 0      ? hints_.block_size
           : hints_.striping_unit > 0 ? hints_.striping_unit
                                      : block_;
  }

  int64_t claim_by_task_0(Comm& tasks, int64_t bytes) {
    int64_t before = 0;
    const auto problem = tasks.rank() == 0 ? attempt([&] { before = claim_shared(bytes); }) : std::nullopt;
    agree_with(tasks, problem, 0);
    tasks.broadcast(std::as_writable_bytes(std::span(&before, 1)), 0);
    return before;
  }
  template <class Part>
  void by_task_0(int64_t bytes, Part part) {
    agree(comm(), attempt([&] {
            require_position(bytes);
            if (!mode_.write) throw Error(Code::wrong_mode, "'" + path_ + "' is not open for writing");
            exchange::publish_writes(*file_);
          }));
    const auto act = [&] {
      part();
      if (across_.needs_revalidation()) file_->sync();
    };
    agree_with(comm(), rank() == 0 ? attempt(act) : std::nullopt, 0);
    revalidate();
  }
  // Makes the bytes of all tasks visible to this task. Requires that all tasks have synced.
  void revalidate() {
    if (VisibilityPolicy* const policy = file_->traits().visibility) return policy->note_all_published();
    if (across_.needs_revalidation()) agree(comm(), attempt([&] { file_->revalidate(); }));
  }
  template <class Byte>
  exchange::FileAccess access_of(const View& view, int64_t position, const MemoryOf<Byte>& memory,
                                 bool writes) const {
    require_position(position);
    if (writes ? !mode_.write : !mode_.read)
      throw Error(Code::wrong_mode, "'" + path_ + "' is not open for " + (writes ? "writing" : "reading"));
    return access_to(view, position, memory, writes, path_);
  }

  exchange::IndependentOptions for_independent(bool writes) const {
    exchange::IndependentOptions how = independent_options(hints_, writes);
    how.locked = atomic_;
    across_.apply(how, writes);
    return how;
  }
  exchange::CollectiveOptions for_collective(bool writes) const {
    exchange::CollectiveOptions how = collective_options(hints_, writes);
    how.others_write = several_sequences_;
    const bool sieves = how.independent.sieving != exchange::Sieving::disabled;
    if (writes && is_announced_ && !how.others_write && sieves) how.others = &others_;
    across_.apply(how, writes);
    how.fills_gaps = how.fills_gaps && !how.others_write;
    how.independent.locked = atomic_;
    how.per_host = per_host_;
    how.block = block();
    return how;
  }
  // Runs transfer(tally) and returns its result. Counts the operation in `calls`, even if the transfer
  // throws. Records the bytes of a failed write, any part of which may be written.
  template <class Transfer>
  int64_t counted(const exchange::FileAccess& access, bool writes, int64_t Statistics::*calls,
                  Transfer transfer) {
    Statistics one;
    int64_t done = 0;
    const auto failed = attempt([&] { done = transfer(one); });
    one.*calls = 1;
    (writes ? one.bytes_written : one.bytes_read) = done;
    if (access.filetype) one.pieces = access.pieces();
    {
      const std::lock_guard lock(mutex_);
      statistics_.add(one);
    }
    // The call has written nothing if any task passed invalid arguments.
    const bool refused = failed && failed->code() == Code::invalid_argument;
    if (writes && !refused) failed ? unwritten_.add(access, *failed) : unwritten_.remove(access);
    if (failed) throw *failed;
    return done;
  }

  mutable Sequence sequence_;
  Store& store_;
  const std::string path_;
  const SharedMode mode_;
  Hints hints_;
  std::vector<std::string> targets_;  // statistics targets; task 0 only
  bool is_reported_ = false;          // task 0 has targets
  std::shared_ptr<File> file_;
  mutable exchange::ConcurrentOpeners others_;  // used on task 0
  bool is_announced_ = false;
  int64_t block_ = 4096;
  bool atomic_ = false;
  std::atomic<bool> several_sequences_ = false;  // transfers of two sequences may be in flight
  AcrossHosts across_;
  int64_t per_host_ = -1;  // maximum aggregators on this host by cb_config_list; negative: unlimited
  std::unique_ptr<SharedPointer> pointer_;
  exchange::UnwrittenBytes unwritten_;  // bytes of failed writes of this task
  int64_t shared_base_ = 0;             // start of the shared pointer
  mutable std::mutex mutex_;            // guards the members below
  Statistics statistics_;
  std::shared_ptr<const View> view_;
  std::optional<Error> refused_;  // error of a rejected view that is not yet reported to the other tasks
  int64_t individual_ = 0;
};

}  // namespace

std::unique_ptr<SharedFile> SharedFile::open(std::unique_ptr<Comm> comm, Store& store,
                                             const std::string& path, const SharedMode& mode,
                                             const Hints& hints) {
  auto file = std::make_unique<OpenSharedFile>(std::move(comm), store, path, mode);
  file->open_all(hints);
  return file;
}

}  // namespace sheaf::mpiio
