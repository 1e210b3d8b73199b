// base/os/heartbeat: periodic calls in the background.
//
// One thread of the process makes all calls. It is started with the first one, receives no signals, and never
// keeps the process from ending. A forked child does not inherit it: calls requested before the fork are not
// made there.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/non_copyable.hpp"

namespace sheaf {

class Heartbeat : private NonCopyable {
 public:
  // Calls `beat` after `first`, then every `interval`, until the object is destroyed. The destructor waits
  // for a running call, but at most two seconds. Everything that `beat` uses must therefore live as long as
  // `beat` itself. Returns null if the thread cannot be created.
  static std::unique_ptr<Heartbeat> start(std::chrono::milliseconds first, std::chrono::milliseconds interval,
                                          std::function<void()> beat);
  ~Heartbeat();

  struct Call;  // private to the implementation

 private:
  explicit Heartbeat(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  std::shared_ptr<Call> call_;
};

}  // namespace sheaf
