#include "multifile/environment.hpp"

#include <cstdlib>
#include <string_view>

#include "multifile/collective_mode.hpp"

namespace sheaf {

std::string words_of_environment() {
  std::string words;
  const auto add = [&](const std::string& word) { words += (words.empty() ? "" : ",") + word; };
  if (const char* const size = std::getenv("SION_BUFFERSIZE"); size && *size)
    add(std::string("buffer=") + (std::string_view(size) == "-1" ? "block" : size));
  if (const char* const set = std::getenv("SION_KEYVALUE_MODE")) {
    for (const char* const mode : {"inline", "meta", "hash", "none", "unknown"}) {
      if (std::string_view(set).find(mode) == std::string_view::npos) continue;
      add(std::string("keyval-default=") + mode);
      break;
    }
  }
  if (const std::string collective = collective_environment(); !collective.empty()) add(collective);
  if (const char* const flags = std::getenv("SHEAF_FLAGS"); flags && *flags) add(flags);
  return words;
}

}  // namespace sheaf
