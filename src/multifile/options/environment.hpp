// multifile/options/environment: words that the environment adds to the open mode. One task reads the
// environment and broadcasts the result.
#pragma once

#include <string>

namespace sheaf::multifile {

// Returns words for parse_open_mode; "" if no variable is set:
//   SION_BUFFERSIZE=N     buffer=N, or buffer=block for -1
//   SION_KEYVALUE_MODE=X  keyval-default=inline|none|unknown|meta|hash, whichever X contains, if any
//   SION_COLLSIZE, SION_COLLNUM, SION_COLLDEBUG, SION_MSA_COLLECTOR_HOSTNAME_REGEX and _EREGEX
//                         the words of multifile/options/collective_mode; _EREGEX takes precedence over
//                         _REGEX
//   SHEAF_FLAGS=WORDS     the words
// Invalid values cause a warning (base/setting).
std::string words_of_environment();

}  // namespace sheaf::multifile
