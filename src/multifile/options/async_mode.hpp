// multifile/options/async_mode: words of the open mode that request saving in the background
// (docs/async.md).
#pragma once

#include <cstdint>

#include "multifile/options/mode_words.hpp"

namespace sheaf::multifile {

// What an open does if an earlier save under the same name is pending.
enum class WhilePending : uint8_t {
  wait,   // waits until that is durable or has failed
  skip,   // discards what is written
  queue,  // writes, and commits after the earlier one
};

struct AsyncMode {
  bool wanted = false;  // word `async`; applies to opens that create a multifile
  int64_t memory = 0;   // `async_memory=`: bound of the host in bytes; 0: automatic
  WhilePending pending = WhilePending::wait;
  int32_t keep = 0;            // `keep=`: members of the series that stay; 0: all
  bool fails_exit = false;     // `async_exit=fail`
  bool chooses_files = false;  // not a word: physical files are per host because no word chooses them
};

// Applies one word to `mode`. Returns false if the word is not about saving in the background. Throws
// `invalid_argument` for an invalid value.
bool apply_async_word(AsyncMode& mode, const ModeWord& word);

}  // namespace sheaf::multifile
