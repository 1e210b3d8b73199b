#include "multifile/saves/begin_save.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/os/memory.hpp"
#include "base/os/random.hpp"
#include "comm/agree.hpp"
#include "comm/packing.hpp"
#include "comm/reduce.hpp"
#include "comm/shared_memory.hpp"
#include "multifile/metadata/parallel_open.hpp"
#include "multifile/saves/constants.hpp"
#include "multifile/saves/save_files.hpp"

namespace sheaf::saves {

using multifile::WhilePending;

EarlierSave await_earlier(ProcessSaves& saves, Store& store, const std::string& path,
                          const multifile::OpenMode& mode) {
  const std::string place = store.place_of(path);
  const auto earlier = saves.newest(place);
  if (!earlier) return {};
  const bool is_pending = !is_final(earlier->look());
  if (is_pending && mode.is_async() && mode.async.pending == WhilePending::skip) return {.skips = true};
  if (is_pending && mode.is_async() && mode.async.pending == WhilePending::queue) return {.pending = earlier};
  earlier->wait(SaveState::durable);
  const auto failed = earlier->failure();
  if (failed && !earlier->tell()) throw *failed;
  return {.failed = failed ? earlier : nullptr};
}

namespace {

// The outcome of await_earlier() at the lead.
struct FoundEarlier {
  bool skips, failed;
};

// Values that the first task of a host finds for all its tasks.
struct HostStart {
  int64_t host = 0;
  int64_t bound = 0;
  int64_t budget = 0;  // id of the budget that the tasks share
};

// Returns the budget that the tasks of the host share: that of their last save if its memory is still in use,
// so that the bound counts for both. `wanted`: bound that the mode requests; 0: none. Collective over the
// tasks of the host.
std::shared_ptr<CaptureBudget> share_budget(Comm& tasks, ProcessSaves& saves, const HostStart& start,
                                            int64_t wanted) {
  const ProcessSaves::SharedBudget last = saves.last_budget();
  const bool fits = last.budget && (wanted == 0 || last.budget->bound() == wanted);
  std::array<int64_t, 2> ids{fits ? last.id : 0, fits ? -last.id : 0};
  tasks.all_max(ids);
  if (fits && ids[0] == last.id && ids[1] == -last.id) return last.budget;

  std::shared_ptr<CaptureBudget> budget;
  auto memory = tasks.share_memory(sizeof(CaptureBudget::Counter));
  if (memory) {
    auto* const counter = reinterpret_cast<CaptureBudget::Counter*>(memory->bytes().data());
    if (tasks.rank() == 0) counter->store(0);
    tasks.barrier();
    budget = std::make_shared<CaptureBudget>(start.bound,
                                             std::shared_ptr<CaptureBudget::Counter>(memory, counter));
  } else {
    budget = std::make_shared<CaptureBudget>(start.bound / tasks.size());
  }
  saves.set_last_budget({budget, memory ? start.budget : 0});
  return budget;
}

int64_t default_bound() { return available_memory() / saves_constants::share_of_memory; }

}  // namespace

std::unique_ptr<BegunSave> begin_save(Comm& comm, ProcessSaves& saves, std::shared_ptr<Store> files,
                                      const multifile::OpenMode& mode, const SaveNames& names,
                                      const EarlierSave& earlier) {
  auto begun = std::make_unique<BegunSave>();
  begun->saves = &saves;
  begun->is_local = mode.is_local;
  begun->how = mode.async;
  begun->path = names.path;
  begun->temporary = names.temporary;
  begun->after = earlier.pending;
  FoundEarlier found{earlier.skips, earlier.failed != nullptr};
  comm.broadcast(std::as_writable_bytes(std::span(&found, 1)), 0);
  begun->skips = found.skips;
  const std::string place = files->place_of(names.path);
  // Every task learns of the failure before the lead removes the record of it.
  if (const auto own = found.failed ? saves.newest(place) : nullptr) own->look();

  begun->host_tasks = comm.split_by_node();
  Comm& tasks = *begun->host_tasks;
  const multifile::PrefixedSum hosts = multifile::prefixed_sum(comm, tasks.rank() == 0);
  if (earlier.failed) {
    const SaveTerms& failed = earlier.failed->terms();
    remove_save(*failed.store, failed.temporary, failed.nfiles, failed.hosts);
  }
  if (!begun->skips && !earlier.pending) saves.forget_ended(place);
  HostStart start;
  if (tasks.rank() == 0)
    start = {hosts.before, mode.async.memory > 0 ? mode.async.memory : default_bound(),
             static_cast<int64_t>(random_number() >> 1 | 1)};
  tasks.broadcast(std::as_writable_bytes(std::span(&start, 1)), 0);
  begun->host = static_cast<int32_t>(start.host);
  begun->hosts = static_cast<int32_t>(hosts.total);

  auto batch = std::make_shared<WriteBatch>(share_budget(tasks, saves, start, mode.async.memory));
  if (begun->skips) batch->discard();
  begun->store = std::make_shared<BackgroundStore>(std::move(files), saves.writer(), std::move(batch));
  return begun;
}

void capture_frames(multifile::Writer& writer, const BegunSave& begun) {
  if (!begun.skips) writer.capture_frames({begun.store->writer().kept_memory(), begun.store->batch()});
}

namespace {

// The results of the close that the save needs.
struct ClosedSet {
  multifile::DeferredCompletion completion = {};
  int32_t nfiles = 1;
  bool shares_files = false;  // tasks of several hosts write the files of this process
  std::shared_ptr<multifile::Ownership> ownership = nullptr;     // at the lead
  std::shared_ptr<multifile::DeferredClose> deferred = nullptr;  // null: the close has done everything
};

// What each task sends to the first task of its host.
struct CapturedTask {
  int64_t task;
  int64_t bytes;
  int64_t marks;
};

int64_t microseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

// Creates the record of this host from the messages of its tasks. Local.
void make_record(const BegunSave& begun, format::SaveHead head, const Gathered& messages) {
  std::vector<format::SaveSlot> slots;
  for (std::span<const std::byte> message : messages.pieces()) {
    const auto task = take<CapturedTask>(message);
    slots.push_back({.task = static_cast<int32_t>(task.task), .bytes = task.bytes});
    for (int64_t i = 0; i < task.marks; ++i) {
      format::CompletionMark mark;
      mark.file = take<int32_t>(message);
      mark.at = take<int64_t>(message);
      mark.pointer = take<decltype(mark.pointer)>(message);
      head.marks.push_back(mark);
    }
  }
  head.tasks = static_cast<int32_t>(slots.size());
  create_record(*begun.store->store_below(), format::save_record_name(begun.temporary, begun.host), head,
                slots);
}

std::vector<std::byte> message_of(const BegunSave& begun, int task,
                                  std::span<const format::CompletionMark> marks) {
  const CapturedTask own{task, begun.store->batch()->captured(), std::ssize(marks)};
  std::vector<std::byte> message = joined({value_bytes(own)});
  for (const format::CompletionMark& mark : marks)
    for (const auto part : {value_bytes(mark.file), value_bytes(mark.at), value_bytes(mark.pointer)})
      message.insert(message.end(), part.begin(), part.end());
  return message;
}

// Properties of the closed multifile, combined over all tasks.
struct ClosedFacts {
  std::array<uint32_t, 4> identity{};  // zeros on tasks without marks
  bool shares_files = false;           // a task shares its file with other hosts
  constexpr void combine(auto& by) { by.max(identity).any(shares_files); }
};

// Captures the save after the close of the multifile has succeeded on all tasks, and begins the work in the
// background. Collective; throws on all tasks alike, and then removes the files.
std::shared_ptr<TaskSave> capture(Comm& comm, BegunSave& begun, ClosedSet closed) {
  if (begun.skips) {
    give_up(begun, closed.nfiles);
    return std::make_shared<SkippedSave>(begun.path);
  }
  Comm& tasks = *begun.host_tasks;
  format::SaveHead head{.number = format::parse_temporary_name(begun.temporary).value().number,
                        .nfiles = closed.nfiles,
                        .host = begun.host,
                        .hosts = begun.hosts,
                        .since = microseconds_now(),
                        .marks = {}};
  const format::Identity& identity =
      closed.deferred ? closed.deferred->identity() : closed.completion.identity;
  ClosedFacts facts{std::bit_cast<std::array<uint32_t, 4>>(identity), closed.shares_files};
  reduce(comm, facts);
  head.identity = std::bit_cast<format::Identity>(facts.identity);
  head.shares_files = facts.shares_files;
  std::vector<std::byte> message;
  auto problem = attempt([&] { message = message_of(begun, comm.rank(), closed.completion.marks); });
  const Gathered messages = tasks.gather(message, 0);
  // The record must exist before any task of the host opens it.
  if (tasks.rank() == 0) attempt(problem, [&] { make_record(begun, head, messages); });
  tasks.barrier();
  std::shared_ptr<SavePart> part;
  if (!problem)
    problem = attempt([&] {
      part = std::make_shared<SavePart>(SaveTerms{.store = begun.store->store_below(),
                                                  .path = begun.path,
                                                  .temporary = begun.temporary,
                                                  .nfiles = closed.nfiles,
                                                  .identity = head.identity,
                                                  .host = begun.host,
                                                  .hosts = begun.hosts,
                                                  .slot = tasks.rank() + 1,
                                                  .task = comm.rank(),
                                                  .shares_files = facts.shares_files,
                                                  .is_local = begun.is_local,
                                                  .leads = comm.rank() == 0,
                                                  .fails_exit = begun.how.fails_exit},
                                        LeadDuties{std::move(closed.ownership), begun.after, begun.how.keep},
                                        closed.deferred, begun.store->writer(), begun.store->batch());
      begun.store->batch()->require_sound();
    });
  try {
    agree(comm, problem);
    closed.deferred.reset();  // it may own `comm`
    begun.saves->add(part);
    SavePart::begin(part, [&saves = *begun.saves](SavePart& ended) { saves.forget_durable(ended); });
  } catch (...) {
    if (part) begun.saves->forget(*part);
    give_up(begun, closed.nfiles);
    throw;
  }
  begun.store->keep();
  if (begun.store->writer().is_synchronous()) part->finish_own_work();
  return part;
}

}  // namespace

std::shared_ptr<TaskSave> close_captured(BegunSave& begun, multifile::Writer& writer,
                                         std::shared_ptr<multifile::Ownership> ownership,
                                         const std::function<std::unique_ptr<multifile::Writer>()>& release) {
  ClosedSet closed{.nfiles = writer.facts().nfiles,
                   .shares_files = writer.shares_files_with_hosts(),
                   .ownership = std::move(ownership)};
  Comm& comm = *writer.comm();
  try {
    if (writer.captures_frames())
      closed.deferred = multifile::DeferredClose::begin(writer, *begun.host_tasks);
    if (!closed.deferred) {
      writer.close();
      closed.completion = writer.take_deferred();
    }
  } catch (...) {
    give_up(begun, closed.nfiles);
    throw;
  }
  // No thread of the background may release communicators.
  multifile::SetComms comms;
  if (closed.deferred) comms = closed.deferred->adopt(release(), begun.store);
  return capture(comm, begun, std::move(closed));
}

void give_up(BegunSave& begun, int32_t nfiles) {
  if (!begun.skips) begun.store->batch()->give_up();
  if (begun.host_tasks->rank() != 0) return;
  remove_save(*begun.store->store_below(), begun.temporary, nfiles, begun.hosts);
}

}  // namespace sheaf::saves
