// stream_oracle: the possible contents of a multifile after a program has ended.
//
// If the close succeeds, every accepted byte is in the file and nothing else has changed. If the close fails
// or the program dies, readers find the old generation, or a file that they report as unclosed and that holds
// all flushed bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/store.hpp"
#include "support/accepted.hpp"

namespace sheaf::test::campaign {

using Streams = std::vector<std::vector<std::byte>>;  // one stream per task

// How a program ended, as far as the file shows.
enum class Ending : uint8_t {
  closed,      // every task's close succeeded
  not_closed,  // the open or the close failed, or the program died
};

// Promises that depend on the open mode.
struct Promise {
  bool atomic = false;   // NAME is the old generation or the complete new one
  bool appends = false;  // every stream begins with the old generation
  bool flushes = true;   // flushed bytes are readable in an unclosed file
  bool frames = false;   // after flushed bytes, an unclosed file may hold bytes of a failed call
};

// Checks the file. Throws std::runtime_error with the violation. `old` is the complete generation before the
// program, if there was one.
void check_streams(Store& store, const std::string& path, Ending ending, const Promise& promise,
                   const std::optional<Streams>& old, const Accepted& accepted);

// Returns all streams of a multifile. Throws the errors of Reader. If `unclosed` is not null, it receives the
// state.
Streams read_streams(Store& store, const std::string& path, bool* unclosed = nullptr);

}  // namespace sheaf::test::campaign
