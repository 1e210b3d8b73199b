// The contents of a trace. The events of each thread of each process form one compressed stream, in order.
#pragma once

#include <cstdint>
#include <string>

namespace trace {

enum class Kind : std::uint32_t { enter, leave, send, receive };  // receive: the call began at `time`

struct Event {
  std::uint64_t time = 0;  // nanoseconds of the traced program's clock
  Kind kind = Kind::enter;
  std::uint32_t what = 0;     // region of enter and leave; peer task of a message
  std::uint64_t message = 0;  // number of the message between these two threads; 0 if the event is no message
};
static_assert(sizeof(Event) == 24);

// Returns the name of the multifile for thread number `thread` of all tasks. task_name() names the file of
// one task instead.
inline std::string multifile_name(const std::string& dir, int thread) {
  return dir + "/trace." + std::to_string(thread) + ".sion";
}
inline std::string task_name(const std::string& dir, int thread, int task) {
  return dir + "/trace." + std::to_string(thread) + "." + std::to_string(task);
}

}  // namespace trace
