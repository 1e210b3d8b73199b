// simulation/tape: what the tasks of a program ask of a machine, in the order in which each of them asks.
//
// The real library runs with fibers as tasks (support/fibers/fiber_comm.hpp) over a Store and a Comm that
// note every request here; no time passes meanwhile. Then a modelled machine carries the tape out
// (replay.hpp). So the requests are counted, and the times follow from them and from the numbers of the
// machine.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace sheaf::simulation {

enum class Kind : uint8_t {
  create,  // a new file, in the directory `place`
  open,    // a file that is there
  close,
  write,
  read,
  meet,      // a collective call of a group: nobody goes on before all have come
  exchange,  // the same, with `length` bytes at the port of this task
  gather,    // the same, with something of every task
  begin,     // of messages between the tasks of a group, number `place` of that group: `length` bytes in
             // `offset` messages leave this task
  finish,    // they have come: `length` bytes in `offset` messages
  sync,      // what was written is at the servers
  rest,      // `length` nanoseconds of something else
  phase,     // the end of phase `place`; all tasks meet, at no cost
};

struct Step {
  int64_t offset = 0;  // bytes; or messages
  int64_t length = 0;  // bytes
  int32_t file = -1;   // or the number of a group
  int32_t place = 0;   // a directory or a phase
  Kind kind = Kind::rest;
};

class Tape {
 public:
  explicit Tape(int tasks) : steps_(static_cast<size_t>(tasks)) {}

  int tasks() const { return static_cast<int>(steps_.size()); }
  void note(int task, const Step& step) {
    if (task >= 0) steps_[static_cast<size_t>(task)].push_back(step);
  }
  const std::vector<Step>& of(int task) const { return steps_[static_cast<size_t>(task)]; }

  // Numbers of names; a name that is new gets the next one.
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

 private:
  using Numbers = std::unordered_map<std::string, int32_t>;
  static int32_t number(Numbers& numbers, const std::string& name) {
    return numbers.emplace(name, static_cast<int32_t>(numbers.size())).first->second;
  }

  std::vector<std::vector<Step>> steps_;
  Numbers files_;
  Numbers directories_;
  std::vector<int> groups_;
};

}  // namespace sheaf::simulation
