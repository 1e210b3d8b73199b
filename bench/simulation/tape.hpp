// simulation/tape: the requests of a program's tasks to a machine, in the order of each task.
//
// The real library runs with fibers as tasks (support/fibers/fiber_comm.hpp). Its Store and Comm record every
// request on the tape, without modelled time. A modelled machine then executes the tape (replay.hpp). The
// number of requests is therefore that of the real library, and the times follow from the parameters of the
// machine.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace sheaf::simulation {

enum class SimulationStepKind : uint8_t {
  create,  // a new file, in the directory `place`
  open,    // an existing file
  close,
  write,
  read,
  barrier,   // a collective call of a group
  exchange,  // a collective call with `length` bytes at the port of this task
  gather,    // a collective call that gives the data of every task to every task
  begin,     // start of messages within a group, exchange number `place`: `length` bytes in `offset` messages
             // leave this task
  finish,    // their receipt: `length` bytes in `offset` messages
  take,      // waits for a slot of the slots `file`
  release,   // returns the slot
  sync,      // written data are at the servers
  rest,      // `length` nanoseconds of other work
  phase,     // end of phase `place`; a barrier without cost
};

struct SimulationStep {
  int64_t offset = 0;  // bytes; or messages
  int64_t length = 0;  // bytes
  int32_t file = -1;   // or the number of a group, or of slots
  int32_t place = 0;   // a directory or a phase
  SimulationStepKind kind = SimulationStepKind::rest;
};

class SimulationTape {
 public:
  explicit SimulationTape(int tasks) : steps_(static_cast<size_t>(tasks)) {}

  int tasks() const { return static_cast<int>(steps_.size()); }
  void note(int task, const SimulationStep& step) {
    if (task >= 0) steps_[static_cast<size_t>(task)].push_back(step);
  }
  const std::vector<SimulationStep>& of(int task) const { return steps_[static_cast<size_t>(task)]; }

  // Returns the number of a name; a new name gets the next number.
  int32_t file(const std::string& path) { return number(files_, path); }
  int32_t directory_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return number(directories_, slash == std::string::npos ? "" : path.substr(0, slash));
  }
  int32_t files() const { return static_cast<int32_t>(files_.size()); }
  int32_t directories() const { return static_cast<int32_t>(directories_.size()); }

  int32_t new_group(int size) {
    groups_.push_back(size);
    return static_cast<int32_t>(groups_.size()) - 1;
  }
  const std::vector<int>& groups() const { return groups_; }  // their sizes
  int32_t new_slots(int count) {
    slots_.push_back(count);
    return static_cast<int32_t>(slots_.size()) - 1;
  }
  const std::vector<int>& slots() const { return slots_; }  // their numbers

 private:
  using Numbers = std::unordered_map<std::string, int32_t>;
  static int32_t number(Numbers& numbers, const std::string& name) {
    return numbers.emplace(name, static_cast<int32_t>(numbers.size())).first->second;
  }

  std::vector<std::vector<SimulationStep>> steps_;
  Numbers files_;
  Numbers directories_;
  std::vector<int> groups_;
  std::vector<int> slots_;
};

}  // namespace sheaf::simulation
