#include "multifile/options/environment.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/setting.hpp"
#include "multifile/options/collective_mode.hpp"

namespace sheaf::multifile {

std::string words_of_environment() {
  std::string words;
  const auto add = [&](const std::string& word) { words += (words.empty() ? "" : ",") + word; };
  if (const char* const size = setting("SION_BUFFERSIZE"))
    add(std::string("buffer=") + (std::string_view(size) == "-1" ? "block" : size));
  if (const char* const set = setting("SION_KEYVALUE_MODE")) {
    const auto modes = {"inline", "meta", "hash", "none", "unknown"};
    const auto named = std::ranges::find_if(
        modes, [&](const char* mode) { return std::string_view(set).find(mode) != std::string_view::npos; });
    if (named != modes.end()) {
      add(std::string("keyval-default=") + *named);
    } else {
      tell_not_understood("SION_KEYVALUE_MODE", set, "inline, meta, hash, none or unknown");
    }
  }
  // All tasks read these variables; only this task warns about invalid values.
  for (const char* const number :
       {"SION_HINTS", "SION_SERBLOCKSIZE", "SION_ERROR_MSG_RANK", "SION_ERROR_MSG_THREAD"})
    number_setting(number);
  if (const auto tasks = number_setting("SION_COLLSIZE", INT64_MIN, INT32_MAX))
    add("collective=" + (*tasks == 0 ? "off" : *tasks < 0 ? "auto" : std::to_string(*tasks)));
  for (const auto& [name, word] :
       {std::pair{"SION_COLLNUM", "collectors="}, std::pair{"SION_COLLDEBUG", "colldebug="}})
    if (const auto number = number_setting(name, INT64_MIN, INT32_MAX); number && *number > 0)
      add(word + std::to_string(*number));
  for (const auto& [name, word] : {std::pair{"SION_MSA_COLLECTOR_HOSTNAME_REGEX", "collector-hosts-basic="},
                                   std::pair{"SION_MSA_COLLECTOR_HOSTNAME_EREGEX", "collector-hosts="}})
    if (const char* const set = setting(name)) {
      std::string pattern = word + std::string(set);
      std::ranges::replace(pattern, ',', comma_in_words);
      add(pattern);
    }
  if (const char* const flags = setting("SHEAF_FLAGS")) add(flags);
  return words;
}

}  // namespace sheaf::multifile
