// stream_oracle: checks the contents of a multifile after a program has ended.
//
// If the close succeeded, every accepted byte must be in the file, and nothing else may have changed. If the
// close failed or the program died, readers must find the old generation or an unclosed file. They must
// report that the file is unclosed, and it must have all flushed bytes.
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

// Checks the multifile `path`. Throws std::runtime_error with the first violation. `old` is the generation
// that was complete before the program started, if any.
void check_streams(Store& store, const std::string& path, Ending ending, const Promise& promise,
                   const std::optional<Streams>& old, const Accepted& accepted);

// Returns all streams of a multifile. Throws the errors of Reader. If `unclosed` is not null, `*unclosed` is
// set to true if the file is unclosed, and to false otherwise.
Streams read_streams(Store& store, const std::string& path, bool* unclosed = nullptr);

}  // namespace sheaf::test::campaign
