// mode/environment: what the environment adds to the open mode. Read by one task, which tells the others.
#pragma once

#include <string>

namespace sheaf {

// Words for parse_open_mode, "" if the environment says nothing:
//   SION_BUFFERSIZE=N     buffer=N, or buffer=block for -1
//   SION_KEYVALUE_MODE=X  keyval-default=inline|none|unknown|meta|hash, whichever X contains; nothing if none
//   SION_COLLSIZE, SION_COLLNUM, SION_COLLDEBUG, SION_MSA_COLLECTOR_HOSTNAME_REGEX, and _EREGEX, which wins
//                         the words of mode/collective_mode
//   SHEAF_FLAGS=WORDS     the words
// What is not understood leaves a warning (base/setting).
std::string words_of_environment();

}  // namespace sheaf
