#include "campaign/sion_program.hpp"

#include <sstream>

#include "base/assert.hpp"
#include "sion.h"

namespace sheaf::test::campaign {

namespace {

using Reaction = Accepted::Reaction;

void require_accepted(bool accepted) {
  if (!accepted) throw Error(Code::io, "the call was refused");
}

// Tells the group that this process is in a call of the library while the object exists.
class InsideCall {
 public:
  explicit InsideCall(ProgramGroup& group) : group_(group) { group_.inside(true); }
  InsideCall(const InsideCall&) = delete;
  InsideCall& operator=(const InsideCall&) = delete;
  ~InsideCall() { group_.inside(false); }

 private:
  ProgramGroup& group_;
};

class Process {
 public:
  Process(ProgramGroup& group, const SionProgram& program, int sid, Accepted& ledger)
      : group_(group),
        program_(program),
        sid_(sid),
        ledger_(ledger),
        task_(static_cast<int64_t>(group.rank()) * program.tasks_each),
        own_(program.seed * 31 + static_cast<uint64_t>(group.rank())),
        common_(program.seed) {}

  void step() {
    if (program_.merged) {
      write_merged();
    } else if (program_.collective) {
      write_collectively();
      if (own_.chance(5)) write_alone();
    } else {
      select_some_task();
      write_alone();
      if (own_.chance(8)) {
        const InsideCall call(group_);
        sion_ensure_free_space(sid_, own_.below(program_.chunk));
      }
    }
    if (own_.chance(5)) flush();
  }

 private:
  int64_t first_task() const { return static_cast<int64_t>(group_.rank()) * program_.tasks_each; }

  void select_some_task() {
    if (program_.tasks_each == 1) return;
    task_ = first_task() + own_.below(program_.tasks_each);
    // The program ignores a failure, because the library refuses further calls until a selection succeeds.
    const InsideCall call(group_);
    sion_seek(sid_, static_cast<int>(task_), SION_CURRENT_BLK, SION_CURRENT_POS);
  }

  bool flushes() {
    const InsideCall call(group_);
    return sion_flush(sid_) == SION_SUCCESS;
  }

  void flush() {
    if (!flushes()) return;
    for (int64_t t = first_task(); t < first_task() + program_.tasks_each; ++t) ledger_.commit(t);
  }

  void write_alone() {
    const auto data = ledger_.next(task_, 1 + own_.below(program_.largest));
    if (!program_.keyval)
      return ledger_.call(task_, data, program_.reaction, [&](std::span<const std::byte> some) {
        const InsideCall call(group_);
        require_accepted(sion_fwrite(some.data(), 1, some.size(), sid_) == some.size());
      });
    const uint64_t head[] = {static_cast<uint64_t>(own_.below(5)), data.size()};
    const auto bytes = std::as_bytes(std::span(head));
    std::vector<std::byte> record(bytes.begin(), bytes.end());
    record.insert(record.end(), data.begin(), data.end());
    ledger_.call(task_, record, program_.reaction, [&](std::span<const std::byte>) {
      const InsideCall call(group_);
      require_accepted(sion_fwrite_key(data.data(), head[0], 1, data.size(), sid_) == data.size());
    });
  }

  bool write_with_others(std::span<const std::byte> data) {
    const InsideCall call(group_);
    return sion_coll_fwrite(data.data(), 1, data.size(), sid_) == data.size();
  }

  // Writes collectively. Repeats the call until it succeeds on all tasks. Tasks whose bytes were accepted
  // repeat the call without data.
  void write_collectively() {
    auto data = ledger_.next(task_, common_.chance(3) ? 0 : own_.below(program_.largest));
    for (int tries = 1;; ++tries) {
      const bool accepted = write_with_others(data);
      if (accepted) {
        ledger_.accept(task_, data);
        data.clear();
      }
      if (!group_.any(!accepted)) return;
      if (program_.reaction == Reaction::ignore || tries == Accepted::max_tries) return ledger_.lack(data);
    }
  }

  // The stream of process 0 receives the bytes of all processes in rank order.
  void write_merged() {
    const auto data = ledger_.next(task_, common_.chance(3) ? 0 : own_.below(program_.largest));
    bool failed = true;
    for (int tries = 1; failed && tries <= Accepted::max_tries; ++tries) {
      failed = group_.any(!write_with_others(data));
      if (program_.reaction == Reaction::ignore) break;
    }
    if (failed) ledger_.lack(data);
    for (int other = 0; other < program_.processes; ++other) {
      const auto bytes = group_.from(other, data);
      if (failed) {
        ledger_.lack(bytes);
      } else if (group_.rank() == 0) {
        ledger_.accept(0, bytes);
      }
    }
  }

  ProgramGroup& group_;
  const SionProgram& program_;
  const int sid_;
  Accepted& ledger_;
  int64_t task_;
  Random own_, common_;  // common_: the same draws on all processes
};

}  // namespace

const char* name_of(Interface interface) {
  switch (interface) {
    case Interface::serial:
      return "serial";
    case Interface::parallel:
      return "parallel";
    case Interface::mapped:
      return "mapped";
    case Interface::collective:
      return "collective";
    case Interface::merged:
      return "merged";
    case Interface::keyval:
      return "keyval";
    case Interface::compressed:
      return "compressed";
  }
  return "unknown";
}

SionProgram draw_program(Interface interface, uint64_t seed, int processes) {
  using OpenForm = SionProgram::OpenForm;
  Random random(seed * 7919 + static_cast<uint64_t>(interface));
  SionProgram p;
  p.seed = seed;
  p.collective = interface == Interface::collective || interface == Interface::merged ||
                 (interface == Interface::compressed && random.chance(4));
  p.merged = interface == Interface::merged;
  p.keyval = interface == Interface::keyval;
  p.open = interface == Interface::serial   ? OpenForm::serial
           : interface == Interface::mapped ? OpenForm::mapped
           : p.collective || interface == Interface::parallel
               ? OpenForm::parallel
               : random.pick({OpenForm::serial, OpenForm::parallel, OpenForm::mapped});
  if (processes > 0 && p.open == OpenForm::serial) p.open = OpenForm::parallel;
  p.processes = p.open == OpenForm::serial ? 1
                : processes > 0            ? processes
                                           : 1 + static_cast<int>(random.below(5));
  p.tasks_each = p.open == OpenForm::parallel ? 1 : 1 + static_cast<int>(random.below(3));
  if (p.open != OpenForm::serial && !p.merged)
    p.files = 1 + static_cast<int>(random.below(std::min(3, p.ntasks())));
  p.chunk = random.chance(3) ? 64 + random.below(200) : 300 + random.below(3000);
  p.largest = random.chance(3) ? 3 * p.chunk : random.chance(2) ? p.chunk / 2 + 1 : 40;
  p.calls = 3 + static_cast<int>(random.below(12));
  p.reaction = random.pick({Reaction::ignore, Reaction::repeat, Reaction::repeat});
  if (!p.keyval && !p.collective && random.chance(3)) p.reaction = Reaction::repeat_in_halves;

  if (interface == Interface::compressed)
    p.words +=
        random.pick({",compress=lz4,frame=1k,compress_threads=0", ",compress=zstd,compress_threads=0"});
  if (p.keyval) p.words += ",keyval=inline";
  if (p.collective) p.words += ",collective";
  if (p.merged)
    p.words += ",cmerge,collsize=" + std::to_string(p.processes);
  else if (p.collective && random.chance(2))
    p.words += ",collsize=2";
  if (random.chance(3)) p.words += ",durable";
  if (random.chance(4)) p.words += ",checksums=off";
  if (random.chance(4)) p.words += ",buffer=0";
  p.promise.frames = interface == Interface::compressed;
  p.replaces = random.chance(2);
  switch (random.below(4)) {
    case 0:
      p.promise.atomic = true;
      p.words += ",atomic";
      break;
    case 1:
      p.promise.appends = p.replaces = !p.collective;
      break;
    case 2:
      p.promise.flushes = false;
      p.words += ",journal=off";
      break;
    default:
      break;
  }
  return p;
}

void save_in_background(SionProgram& p) {
  SHEAF_ASSERT(!p.promise.appends);
  Random random(p.seed + 3);
  p.async = p.promise.atomic = true;
  p.promise.flushes = false;
  if (p.files > 1) p.words += ",files=" + std::to_string(p.files);
  if (random.chance(3)) p.words += ",async_memory=2M";
}

SionProgram SionProgram::before() const {
  SionProgram p = *this;
  p.seed = seed + 500'000'000;
  p.promise.appends = p.promise.atomic = p.replaces = p.async = false;
  if (const size_t at = p.words.find(",atomic"); at != std::string::npos) p.words.erase(at, 7);
  return p;
}

std::string SionProgram::describe() const {
  std::ostringstream out;
  out << processes << " processes, " << tasks_each << " tasks each, " << files << " files, mode \"" << mode()
      << "\", chunk " << chunk << ", " << calls << " calls of at most " << largest << " bytes"
      << (replaces ? ", over a complete file" : "")
      << (reaction == Reaction::ignore ? ", failures are ignored" : ", failed calls are repeated");
  return out.str();
}

ProgramResult run_program(ProgramGroup& group, const SionProgram& program, const std::string& path,
                          Accepted& ledger, const std::function<void(int call)>& before_call) {
  ProgramResult ended;
  const int sid = group.open(program, path);
  ended.opened = !group.any(sid < 0);
  if (!ended.opened) return ended;
  Process process(group, program, sid, ledger);
  for (int call = 0; call < program.calls; ++call) {
    if (before_call && group.rank() == 0) before_call(call);
    process.step();
    yield();
  }
  if (before_call && group.rank() == 0) before_call(program.calls);
  ended.closed = group.close(sid) == SION_SUCCESS;
  return ended;
}

}  // namespace sheaf::test::campaign
