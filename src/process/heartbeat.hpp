// process/heartbeat: what is to happen again and again while the program does other things.
//
// One thread of the process makes all calls. It is begun with the first one, takes no signals, and never
// keeps the process from ending. A forked child has none of it: calls that were asked for before the fork are
// not made there.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/non_copyable.hpp"

namespace sheaf {

class Heartbeat : private NonCopyable {
 public:
  // Calls `beat` when `first` has passed, and then every `interval`, until the object is destroyed. Then a
  // call that is at work is waited for, two seconds at most; what it uses must live as long as `beat` does,
  // therefore. Null if there can be no thread.
  static std::unique_ptr<Heartbeat> start(std::chrono::milliseconds first, std::chrono::milliseconds interval,
                                          std::function<void()> beat);
  ~Heartbeat();

  struct Call;  // private to the implementation

 private:
  explicit Heartbeat(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  std::shared_ptr<Call> call_;
};

}  // namespace sheaf
