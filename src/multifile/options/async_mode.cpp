#include "multifile/options/async_mode.hpp"

#include "base/error.hpp"
#include "base/parse.hpp"

namespace sheaf::multifile {

namespace {

[[noreturn]] void refuse(const ModeWord& word, const char* expected) {
  throw Error(Code::invalid_argument,
              "open mode: '" + std::string(word.word) + "' is impossible; expected " + expected);
}

void set_pending(AsyncMode& mode, const ModeWord& word) {
  static constexpr std::pair<std::string_view, WhilePending> named[] = {
      {"wait", WhilePending::wait}, {"skip", WhilePending::skip}, {"queue", WhilePending::queue}};
  const auto* const found =
      std::ranges::find(named, word.value, &std::pair<std::string_view, WhilePending>::first);
  if (found == std::end(named)) refuse(word, "pending=wait, pending=skip or pending=queue");
  mode.pending = found->second;
}

constexpr WordAction<AsyncMode> async_words[] = {
    {"async", [](AsyncMode& mode, const ModeWord&) { mode.wanted = true; }},
    {"async_memory=",
     [](AsyncMode& mode, const ModeWord& word) {
       const auto bytes = parse_bytes(word.value);
       if (!bytes || *bytes < 1) refuse(word, "async_memory=BYTES");
       mode.memory = *bytes;
     }},
    {"pending=", set_pending},
    {"keep=",
     [](AsyncMode& mode, const ModeWord& word) {
       const auto count = parse_number(word.value);
       if (!count || *count < 1 || *count > INT32_MAX) refuse(word, "keep=N with N >= 1");
       mode.keep = static_cast<int32_t>(*count);
     }},
    {"async_exit=report", [](AsyncMode& mode, const ModeWord&) { mode.fails_exit = false; }},
    {"async_exit=fail", [](AsyncMode& mode, const ModeWord&) { mode.fails_exit = true; }},
    {"async_exit=",
     [](AsyncMode&, const ModeWord& word) { refuse(word, "async_exit=report or async_exit=fail"); }}};

}  // namespace

bool apply_async_word(AsyncMode& mode, const ModeWord& word) {
  return apply_word<AsyncMode>(mode, word, async_words);
}

}  // namespace sheaf::multifile
