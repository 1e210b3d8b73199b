// cli/partest/progress: shows the progress of the first task on stderr, if that is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace sheaf::partest {

class Progress {
 public:
  Progress(std::string what, int64_t total, bool mine);
  ~Progress();
  void at(int64_t done);

 private:
  std::string what_;
  int64_t total_;
  bool visible_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace sheaf::partest
