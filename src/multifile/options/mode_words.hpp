// multifile/options/mode_words: tables of the words of an open mode. The module that acts on a word has its
// table.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace sheaf::multifile {

// One word of a list, and its parts before and after the first '='.
struct ModeWord {
  std::string_view word;
  std::string_view key;
  std::string_view value;
};

// The effect of a word. `apply` throws `invalid_argument` for an invalid value.
template <class Mode>
struct WordAction {
  std::string_view name;  // a whole word or, if it ends in '=', a key; the word has a value or none
  void (*apply)(Mode& mode, const ModeWord& word);
};

// Applies `word` to `mode`. An entry with the whole word takes precedence over one with its key. Returns
// false if the table has neither.
template <class Mode>
bool apply_word(Mode& mode, const ModeWord& word, std::span<const WordAction<Mode>> table) {
  auto found = std::ranges::find(table, word.word, &WordAction<Mode>::name);
  if (found == table.end())
    found = std::ranges::find(table, std::string(word.key) + '=', &WordAction<Mode>::name);
  if (found == table.end()) return false;
  found->apply(mode, word);
  return true;
}

}  // namespace sheaf::multifile
