// base/os/heartbeat: calls functions periodically in the background.
//
// One thread of the process makes all calls. The first request starts it. It receives no signals and never
// keeps the process from ending. A forked child does not inherit the thread and makes none of the calls
// requested before the fork.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/non_copyable.hpp"

namespace sheaf {

class Heartbeat : private NonCopyable {
 public:
  // Calls `beat` after `first`, then every `interval`, until the object is destroyed. The destructor waits at
  // most two seconds for a running call, which may outlast the object. `beat` must therefore own everything
  // that it uses. Returns null if the thread cannot be created.
  static std::unique_ptr<Heartbeat> start(std::chrono::milliseconds first, std::chrono::milliseconds interval,
                                          std::function<void()> beat);
  ~Heartbeat();

  struct HeartbeatCall;  // private to the implementation

 private:
  explicit Heartbeat(std::shared_ptr<HeartbeatCall> call) : call_(std::move(call)) {}
  std::shared_ptr<HeartbeatCall> call_;
};

}  // namespace sheaf
