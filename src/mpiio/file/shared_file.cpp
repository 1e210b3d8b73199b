// Implements opening, closing, resizing and syncing. FilePointers and FileTransfers do the rest.
#include "mpiio/file/shared_file.hpp"

#include <algorithm>
#include <utility>

#include "base/os/host_name.hpp"
#include "base/os/random.hpp"
#include "base/setting.hpp"
#include "comm/reduce.hpp"
#include "mpiio/file/across_hosts.hpp"
#include "mpiio/file/file_access.hpp"
#include "mpiio/file/file_transfers.hpp"
#include "mpiio/file/opening.hpp"
#include "mpiio/file/sequence.hpp"
#include "mpiio/file/shared_pointer.hpp"

namespace sheaf::mpiio {
namespace {

// Facts about the opened file that task 0 sends to all tasks.
struct OpenedFile {
  int64_t block = 0, pointers = 0;  // block size; start of the file pointers
  bool is_announced = false;
  bool is_stored = false;  // the host of a task is the only one that stores the file
  constexpr void combine(auto& by) { by.max(block).max(pointers).any(is_announced).any(is_stored); }
};

class OpenSharedFile final : public SharedFile {
 public:
  OpenSharedFile(std::unique_ptr<Comm> comm, Store& store, std::string path, const SharedMode& mode)
      : SharedFile(*comm, std::move(path), mode.write ? Overlap::refused : Overlap::allowed),
        sequence_(std::move(comm)),
        store_(store),
        mode_(mode) {}

  void open_all(const Hints& wanted) {
    OpeningMessage opening{};
    std::optional<Error> problem;
    std::shared_ptr<File>& file = transfers_.file;
    if (rank() == 0) {
      Hints hints = wanted;
      hints.apply_environment();
      const Striping striping{hints.striping_unit, hints.striping_factor};
      problem = attempt([&] { file = open_first(store_, path(), mode_, striping, opening.traits); });
      if (!problem) attempt([&] { keep(store_.placement_of(*file, opening.traits.kind), opening); });
      opening.opened = !problem;
      opening.id = random_number();
      targets_ = statistics_targets();
      opening.reports = std::ssize(targets_);
      keep(hints, opening);
    }
    comm().broadcast(std::as_writable_bytes(std::span(&opening, 1)), 0);
    take_hints(opening);
    settings().policy = across_hosts(opening.traits, comm());
    if (rank() == 0 && !settings().hints.aligned && policy().unit_per_host() > 0)
      tell_without_effect("SHEAF_MPIIO_OFF", "aligned",
                          "hosts have caches of their own, so two of them must not write one block");
    is_reported_ = opening.reports > 0;
    if (rank() != 0 && opening.opened != 0)
      problem = attempt([&] { file = open_next(store_, path(), mode_, policy().needs_revalidation()); });
    if (rank() == 0 && mode_.write && policy().excludes_other_opens() && !problem) {
      problem = attempt([&] { settings().others.announce(file); });
      if (problem && problem->errno_value() != EAGAIN) problem.reset();  // files without locks have no marks
    }
    limit_transfers(comm(), store_, settings().hints, file, problem);
    transfers_.across = wrap(policy(), file);
    settings().stores_file = opening.data_host[0] != 0 && store_.is_host(opening.data_host);
    OpenedFile opened{.is_announced = settings().others.is_announced(), .is_stored = settings().stores_file};
    if (!problem && rank() == 0)
      problem = attempt([&] {
        const FileStatus status = file->status();
        opened.block = status.block_size;
        opened.pointers = mode_.append ? status.size : 0;
      });
    agree(comm(), problem, opened);
    file->expect_lockers(comm().size());
    settings().file_block = std::max<int64_t>(opened.block, 1);
    settings().is_announced = opened.is_announced;
    settings().one_host = opening.one_client || opened.is_stored;
    if (!opened.is_stored) settings().stores_file = true;
    if (policy().hosts > 1) sequence_.transfers.find_hosts(settings().collective_writes());
    begin(std::make_unique<SharedPointer>(store_, path(), opening.id, comm().size(), policy()),
          opened.pointers);
  }

  void close() override {
    std::optional<Error> problem = await_all_before_close(file(), comm(), mode_.write && policy().hosts > 1);
    if (!mode_.delete_on_close) {
      // The descriptors must be open for this, so the outcome cannot come with that of the close.
      if (mode_.write && settings().may_hold())
        attempt(problem, [&] { transfers_.after_drain(sequence_, [] {}); });
      if (const auto missing = transfers_.incomplete(rank())) problem = missing;
    }
    attempt(problem, [&] { shared_pointer().close(); });
    // Task 0 withdraws the announced handle after all tasks have closed, and keeps the file open until then.
    const bool closes_last = settings().others.is_announced();
    attempt(problem, [&] {
      if (!closes_last) return file().close();
      transfers_.across ? file().publish() : publish_by_close(file());
    });
    if (is_reported_) attempt(problem, [&] { report(comm(), store_, statistics(), path(), targets_); });
    // All tasks must have closed the file before task 0 removes it and the file of the shared pointer.
    int64_t used = shared_pointer().used();
    std::optional<Error> outcome = attempt([&] { agree(comm(), problem, std::span(&used, 1)); });
    if (closes_last) {
      settings().others.retire();
      attempt([&] { file().close(); });  // everything is already published
    }
    const bool cleans_up = mode_.delete_on_close || used != 0 || outcome;
    std::optional<Error> removing;
    if (cleans_up && rank() == 0) {
      if (mode_.delete_on_close) removing = attempt([&] { store_.remove(path()); });
      attempt(removing, [&] { shared_pointer().remove(used != 0); });
    }
    if (outcome) throw *outcome;
    if (cleans_up) agree_with(comm(), removing, 0);
  }

  Hints hints() const override { return transfers_.settings.hints; }
  Hints hints_in_use() const override {
    const TransferSettings& current = transfers_.settings;
    return current.resolved(sequence_.transfers.chosen(*transfers_.file, current.collective_writes()));
  }
  void set_hints(const Hints& hints) override {
    Hints merged = hints;
    if (rank() == 0) merged.apply_environment();
    OpeningMessage told{};
    keep(merged, told);
    comm().broadcast(std::as_writable_bytes(std::span(&told, 1)), 0);
    const bool held = settings().may_hold();
    take_hints(told);
    if (held && !settings().may_hold()) transfers_.after_drain(sequence_, [] {});
  }
  Statistics statistics() const override { return transfers_.statistics(); }
  std::unique_ptr<Sequence> make_sequence() override {
    settings().several_sequences = true;
    return std::make_unique<Sequence>(comm().duplicate());
  }
  Sequence& sequence() override { return sequence_; }
  int64_t bytes() override {
    const int64_t held = transfers_.held().end();
    policy().revalidate(file());
    return std::max(held, file().status().size);
  }
  void resize(int64_t bytes) override {
    by_task_0(bytes, [&] { file().resize(bytes); });
    transfers_.unwritten().cut(bytes);
  }
  void preallocate(int64_t bytes) override {
    by_task_0(bytes, [&] {
      policy().revalidate(file());
      set_room_aside(file(), bytes);
    });
  }
  void sync() override {
    sync_all();
    agree(comm(), transfers_.incomplete(rank()));
  }
  void set_atomic(bool atomic) override {
    if (atomic) require_locks(policy(), path());
    sync_all();
    settings().atomic = atomic;
  }
  bool atomic() const override { return transfers_.settings.atomic; }
  int64_t end_of_stream(const View& view) override {
    const int64_t end = bytes();
    return view.filetype.size() > 0 ? view.bytes_below(end) : 0;
  }

  int64_t write_at(const View& view, int64_t position, const Source& from) override {
    return transfers_.write(view, position, from);
  }
  int64_t read_at(const View& view, int64_t position, const Destination& to) override {
    return transfers_.read(view, position, to);
  }
  int64_t write_at_all(Sequence& sequence, const View& view, int64_t position, const Source& from) override {
    return transfers_.write_all(sequence, view, position, from, take_refused());
  }
  int64_t read_at_all(Sequence& sequence, const View& view, int64_t position,
                      const Destination& to) override {
    return transfers_.read_all(sequence, view, position, to, take_refused());
  }
  void note_lost_write() noexcept override { transfers_.unwritten().add_unknown(); }
  // All tasks receive `problem`, so that an error of set_view() needs no report any more.
  void fail_all(Sequence& sequence, const Error& problem) override {
    take_refused();
    transfers_.fail_all(sequence, problem);
  }

 private:
  File& file() const { return *transfers_.file; }
  TransferSettings& settings() { return transfers_.settings; }
  const VisibilityPolicy& policy() const { return transfers_.settings.policy; }

  void take_hints(const OpeningMessage& told) {
    settings().hints = hints_in(told);
    settings().per_host = settings().hints.allowed_on(host_name());
  }
  void await_all() override {
    transfers_.after_drain(sequence_, [] {});
  }
  void sync_all() {
    transfers_.after_drain(sequence_, [&] {
      if (mode_.write) file().sync();
    });
    revalidate();
  }
  template <class Part>
  void by_task_0(int64_t bytes, Part part) {
    transfers_.after_drain(sequence_, [&] {
      require_position(bytes);
      if (!mode_.write) throw Error(Code::wrong_mode, "'" + path() + "' is not open for writing");
      policy().publish(file());
    });
    const auto act = [&] {
      part();
      if (policy().needs_revalidation()) file().sync();
    };
    agree_with(comm(), rank() == 0 ? attempt(act) : std::nullopt, 0);
    revalidate();
  }
  // Makes the bytes of all tasks visible to this task. Requires that all tasks have synced.
  void revalidate() {
    if (transfers_.across) return transfers_.across->note_all_published();
    if (policy().needs_revalidation()) agree(comm(), attempt([&] { file().revalidate(); }));
  }

  Sequence sequence_;
  Store& store_;
  const SharedMode mode_;
  FileTransfers transfers_{path(), mode_};
  std::vector<std::string> targets_;  // statistics targets; task 0 only
  bool is_reported_ = false;          // task 0 has targets
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
