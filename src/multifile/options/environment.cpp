#include "multifile/options/environment.hpp"

#include <algorithm>
#include <string_view>

#include "base/setting.hpp"
#include "multifile/options/collective_mode.hpp"

namespace sheaf::multifile {

namespace {

// The following functions return the word that the variable `name` adds to the open mode; "" if it adds none.
// `key` is the beginning of the word.

std::string buffer_word(const char* name, const std::string& key) {
  const char* const size = setting(name);
  return size ? key + (std::string_view(size) == "-1" ? "block" : size) : "";
}

std::string keyval_word(const char* name, const std::string& key) {
  const char* const set = setting(name);
  if (!set) return "";
  for (const char* const mode : {"inline", "meta", "hash", "none", "unknown"})
    if (std::string_view(set).find(mode) != std::string_view::npos) return key + mode;
  tell_not_understood(name, set, "inline, meta, hash, none or unknown");
  return "";
}

// All tasks read the variable; only this task warns about an invalid value.
std::string checked_number(const char* name, const std::string&) {
  number_setting(name);
  return "";
}

std::string collective_word(const char* name, const std::string& key) {
  const auto tasks = number_setting(name, INT64_MIN, INT32_MAX);
  return !tasks ? "" : key + (*tasks == 0 ? "off" : *tasks < 0 ? "auto" : std::to_string(*tasks));
}

std::string positive_word(const char* name, const std::string& key) {
  const auto number = number_setting(name, INT64_MIN, INT32_MAX);
  return number && *number > 0 ? key + std::to_string(*number) : "";
}

std::string any_word(const char* name, const std::string& key) {
  const char* const set = setting(name);
  return set ? key + set : "";
}

std::string pattern_word(const char* name, const std::string& key) {
  std::string pattern = any_word(name, key);
  std::ranges::replace(pattern, ',', comma_in_words);
  return pattern;
}

constexpr struct {
  const char* name;
  std::string (*word_of)(const char* name, const std::string& key);
  const char* key = "";
} variables[] = {{"SION_BUFFERSIZE", buffer_word, "buffer="},
                 {"SION_KEYVALUE_MODE", keyval_word, "keyval-default="},
                 {"SION_HINTS", checked_number},
                 {"SION_SERBLOCKSIZE", checked_number},
                 {"SION_ERROR_MSG_RANK", checked_number},
                 {"SION_ERROR_MSG_THREAD", checked_number},
                 {"SION_COLLSIZE", collective_word, "collective="},
                 {"SION_COLLNUM", positive_word, "collectors="},
                 {"SION_COLLDEBUG", positive_word, "colldebug="},
                 {"SION_MSA_COLLECTOR_HOSTNAME_REGEX", pattern_word, "collector-hosts-basic="},
                 {"SION_MSA_COLLECTOR_HOSTNAME_EREGEX", pattern_word, "collector-hosts="},
                 {"SHEAF_FLAGS", any_word}};

}  // namespace

std::string words_of_environment() {
  std::string words;
  for (const auto& [name, word_of, key] : variables)
    if (const std::string word = word_of(name, key); !word.empty())
      words += (words.empty() ? "" : ",") + word;
  return words;
}

}  // namespace sheaf::multifile
