#include "simulation/replay.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "simulation/file_system.hpp"

namespace sheaf::simulation {

namespace {

// The tasks and the events they wait for.
class TapeReplay {
 public:
  TapeReplay(const SimulationTape& tape, const Machine& machine)
      : tape_(tape),
        machine_(machine),
        clients_((tape.tasks() + machine.tasks_per_client - 1) / machine.tasks_per_client),
        files_(machine, clients_, tape.files(), tape.directories()),
        cursors_(static_cast<size_t>(tape.tasks())),
        groups_(tape.groups().size()),
        slots_(tape.slots().begin(), tape.slots().end()) {}

  ReplayOutcome run() {
    for (int task = 0; task < tape_.tasks(); ++task) go_on(task, 0);
    while (!ready_.empty()) {
      const auto [when, task] = ready_.top();
      ready_.pop();
      step(task, when);
    }
    files_.count(outcome_.counts);
    return std::move(outcome_);
  }

 private:
  struct Cursor {
    size_t step = 0;
    int64_t done = 0;   // bytes of the current step
    bool ends = false;  // a transfer ends when the next step begins
  };
  struct WaitingGroup {
    std::vector<int> waiting;
    double last = 0;
    int64_t bytes = 0;
  };
  struct WaitingSlots {
    explicit WaitingSlots(int count) : free(count) {}
    int free;
    std::deque<int> waiting;  // tasks, in the order of their arrival
  };
  // Tasks that are ready at the same time continue in pseudorandom order. In rank order, all tasks of one
  // physical file would precede those of the next file.
  struct Ready {
    double when;
    int task;
    uint32_t order() const { return static_cast<uint32_t>(task) * 2654435761u; }
    bool operator<(const Ready& other) const {
      return when != other.when ? when > other.when : order() > other.order();
    }
  };

  void go_on(int task, double when) {
    if (cursors_[static_cast<size_t>(task)].step < tape_.of(task).size()) {
      ready_.push({when, task});
    } else {
      outcome_.end = std::max(outcome_.end, when);
    }
  }

  void step(int task, double now) {
    Cursor& cursor = cursors_[static_cast<size_t>(task)];
    const SimulationStep& step = tape_.of(task)[cursor.step];
    const int client = machine_.client_of(task, clients_);
    if (std::exchange(cursor.ends, false)) files_.set_active(client, -1);
    ReplayCounts& counts = outcome_.counts;
    switch (step.kind) {
      case SimulationStepKind::write:
      case SimulationStepKind::read:
        if (cursor.done == 0) files_.set_active(client, 1);
        if (cursor.done == 0) ++(step.kind == SimulationStepKind::write ? counts.writes : counts.reads);
        return transfer(task, cursor, step, client, now);
      case SimulationStepKind::barrier:
      case SimulationStepKind::exchange:
      case SimulationStepKind::gather:
      case SimulationStepKind::phase:
        return complete_barrier(task, cursor, step, now);
      case SimulationStepKind::take:
        return take(task, cursor, step, now);
      case SimulationStepKind::begin:
        return begin(task, cursor, step, now);
      case SimulationStepKind::finish:
        return finish(task, cursor, step, now);
      default:
        break;
    }
    ++cursor.step;
    go_on(task, complete_alone(step, client, now));
  }

  // Completes a step that waits for no other task. Returns its end.
  double complete_alone(const SimulationStep& step, int client, double now) {
    switch (step.kind) {
      case SimulationStepKind::release:
        release(slots_[static_cast<size_t>(step.file)], now);
        return now;
      case SimulationStepKind::sync:
        return files_.sync(client, now);
      case SimulationStepKind::create:
        ++outcome_.counts.creates;
        return files_.create(client, step.file, step.place, now);
      case SimulationStepKind::open:
        return files_.open(client, step.file, now);
      case SimulationStepKind::close:
        return files_.close(client, step.file, now);
      default:  // rest
        return now + 1e-9 * static_cast<double>(step.length);
    }
  }

  // Transfers one piece of a call: at most one block, and at most the client's fragment size.
  void transfer(int task, Cursor& cursor, const SimulationStep& step, int client, double now) {
    const int64_t offset = step.offset + cursor.done;
    int64_t length = std::min(step.length - cursor.done, machine_.block - offset % machine_.block);
    if (machine_.fragment > 0) length = std::min(length, machine_.fragment - cursor.done % machine_.fragment);
    const bool writes = step.kind == SimulationStepKind::write;
    now += static_cast<double>(length) / machine_.task;
    const bool first = cursor.done == 0 || machine_.fragment > 0;
    now = writes ? files_.write(client, step.file, offset, length, first, now)
                 : files_.read(client, task, step.file, offset, first, now);
    (writes ? outcome_.counts.bytes_written : outcome_.counts.bytes_read) += length;
    cursor.done += length;
    if (cursor.done == step.length) cursor = {cursor.step + 1, 0, true};
    go_on(task, now);
  }

  void take(int task, Cursor& cursor, const SimulationStep& step, double now) {
    WaitingSlots& slots = slots_[static_cast<size_t>(step.file)];
    ++cursor.step;
    if (slots.free == 0) return slots.waiting.push_back(task);
    --slots.free;
    go_on(task, now);
  }

  void release(WaitingSlots& slots, double now) {
    if (slots.waiting.empty()) {
      ++slots.free;
      return;
    }
    const int next = slots.waiting.front();
    slots.waiting.pop_front();
    go_on(next, now);
  }

  // The messages of an exchange start when the last task has sent its own. What the tasks do until they
  // finish the exchange has no effect on them.
  struct Exchanged {
    int begun = 0;
    double last = 0;
    int64_t bytes = 0;
    std::vector<std::pair<int, const SimulationStep*>> waiting;  // tasks, and the messages they receive
    int finished = 0;
  };

  double levels(int size) const { return machine_.latency * std::ceil(std::log2(std::max(size, 1))); }

  double messages(const SimulationStep& step) const {
    return machine_.message * static_cast<double>(step.offset);
  }

  // Returns the time at which a task has received all its messages, if it requested them at `now`.
  double arrival(const Exchanged& one, const SimulationStep& step, double now) const {
    const double there = one.last + levels(tape_.groups()[static_cast<size_t>(step.file)]) +
                         static_cast<double>(std::max(one.bytes, step.length)) / machine_.port;
    return std::max(now, there) + messages(step);
  }

  void begin(int task, Cursor& cursor, const SimulationStep& step, double now) {
    Exchanged& one = exchanges_[{step.file, step.place}];
    now += messages(step);
    one.last = std::max(one.last, now);
    one.bytes = std::max(one.bytes, step.length);
    ++cursor.step;
    if (++one.begun == tape_.groups()[static_cast<size_t>(step.file)]) {
      ++outcome_.counts.barriers;
      for (const auto& [other, asked] : one.waiting) go_on(other, arrival(one, *asked, 0));
      one.waiting.clear();
    }
    go_on(task, now);
  }

  void finish(int task, Cursor& cursor, const SimulationStep& step, double now) {
    const std::pair<int32_t, int32_t> key{step.file, step.place};
    Exchanged& one = exchanges_[key];
    ++cursor.step;
    const int size = tape_.groups()[static_cast<size_t>(step.file)];
    if (one.begun < size) {
      one.waiting.push_back({task, &step});
    } else {
      go_on(task, arrival(one, step, now));
    }
    if (++one.finished == size && one.begun == size) exchanges_.erase(key);
  }

  void complete_barrier(int task, Cursor& cursor, const SimulationStep& step, double now) {
    const bool phase = step.kind == SimulationStepKind::phase;
    const int size = phase ? tape_.tasks() : tape_.groups()[static_cast<size_t>(step.file)];
    WaitingGroup& group = phase ? all_ : groups_[static_cast<size_t>(step.file)];
    ++cursor.step;
    group.waiting.push_back(task);
    group.last = std::max(group.last, now);
    group.bytes = std::max(group.bytes, step.length);
    if (static_cast<int>(group.waiting.size()) < size) return;
    double end = group.last;
    if (phase) {
      outcome_.phases.resize(std::max(outcome_.phases.size(), static_cast<size_t>(step.place) + 1));
      outcome_.phases[static_cast<size_t>(step.place)] = end;
    } else {
      ++outcome_.counts.barriers;
      const bool in_turn = step.kind == SimulationStepKind::gather && machine_.broadcast > 0;
      end += in_turn ? machine_.broadcast * size
                     : levels(size) + static_cast<double>(group.bytes) / machine_.port;
    }
    std::vector<int> tasks;
    tasks.swap(group.waiting);
    group = {};
    for (const int one : tasks) go_on(one, end);
  }

  const SimulationTape& tape_;
  const Machine& machine_;
  const int clients_;
  ModelledFiles files_;
  std::vector<Cursor> cursors_;
  std::vector<WaitingGroup> groups_;
  WaitingGroup all_;
  std::vector<WaitingSlots> slots_;
  std::map<std::pair<int32_t, int32_t>, Exchanged> exchanges_;
  std::priority_queue<Ready> ready_;
  ReplayOutcome outcome_;
};

}  // namespace

ReplayOutcome replay(const SimulationTape& tape, const Machine& machine) {
  return TapeReplay(tape, machine).run();
}

}  // namespace sheaf::simulation
