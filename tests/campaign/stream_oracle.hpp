// stream_oracle: what a multifile may hold after a program has ended.
//
// A close that succeeds means that every accepted byte is there and nothing else has changed. A close that
// fails, and a program that dies, leave the old generation, or a file that readers report as unclosed and
// that holds all flushed bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/store.hpp"
#include "support/accepted.hpp"

namespace sheaf::test::campaign {

using Streams = std::vector<std::vector<std::byte>>;  // one per task

// How a program ended, as far as the file shows.
enum class Ending : uint8_t {
  closed,      // every task's close succeeded
  not_closed,  // the open or the close failed, or the program died
};

// Promises that depend on the open mode.
struct Promise {
  bool atomic = false;   // NAME is the old generation or the complete new one
  bool appends = false;  // the old generation is the beginning of every stream
  bool flushes = true;   // flushed bytes can be read from an unclosed file
  bool frames = false;   // behind flushed bytes, an unclosed file may hold bytes of a call that failed
};

// Throws std::runtime_error with the violation. `old`: the complete generation that was there before.
void check_streams(Store& store, const std::string& path, Ending ending, const Promise& promise,
                   const std::optional<Streams>& old, const Accepted& accepted);

// All streams of a multifile. Throws what Reader throws; `unclosed`, if not null, receives its state.
Streams read_streams(Store& store, const std::string& path, bool* unclosed = nullptr);

}  // namespace sheaf::test::campaign
