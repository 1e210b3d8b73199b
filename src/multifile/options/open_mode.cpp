#include "multifile/options/open_mode.hpp"

#include <algorithm>
#include <climits>
#include <functional>
#include <optional>
#include <ranges>

#include "base/error.hpp"
#include "base/os/random.hpp"
#include "base/parse.hpp"
#include "multifile/journal/journal_writer.hpp"

namespace sheaf::multifile {

namespace {

using format::KeyvalMode;

[[noreturn]] void bad_value(std::string_view word, std::string_view expected) {
  throw Error(Code::invalid_argument,
              "open mode: '" + std::string(word) + "' is impossible; expected " + std::string(expected));
}

// Parses the value of a word, a count or a size. Throws an error unless it is a number from `least` to
// `most`.
int64_t number_of(const ModeWord& word, int64_t least, int64_t most, std::string_view expected) {
  const auto number = parse_bytes(word.value);
  if (!number || *number < least || *number > most) bad_value(word.word, expected);
  return *number;
}

void set_files(OpenMode& m, const ModeWord& word) {
  static constexpr std::pair<std::string_view, FilePolicy> named[] = {
      {"auto", FilePolicy::automatic}, {"node", FilePolicy::per_node}, {"ion", FilePolicy::per_io_node}};
  const auto* const policy =
      std::ranges::find(named, word.value, &std::pair<std::string_view, FilePolicy>::first);
  if (policy != std::end(named)) {
    m.file_policy = policy->second;
  } else if (word.value.size() > 1 && word.value.front() == '@') {
    m.file_policy = FilePolicy::table;
    m.table = word.value.substr(1);
  } else {
    m.file_policy = FilePolicy::fixed;
    m.files = static_cast<int32_t>(number_of(
        word, 1, INT32_MAX, "files=auto, files=node, files=ion, files=@TABLE or files=N with N >= 1"));
  }
}

void set_keyval(OpenMode& m, const ModeWord& word) {
  static constexpr std::pair<std::string_view, KeyvalMode> named[] = {{"", KeyvalMode::inline_},
                                                                      {"default", KeyvalMode::inline_},
                                                                      {"inline", KeyvalMode::inline_},
                                                                      {"none", KeyvalMode::none},
                                                                      {"unknown", KeyvalMode::unknown}};
  const auto* const mode =
      std::ranges::find(named, word.value, &std::pair<std::string_view, KeyvalMode>::first);
  if (mode == std::end(named)) bad_value(word.word, "keyval, keyval=inline, keyval=none or keyval=unknown");
  m.keyval = mode->second;
}

// Returns the available compressions, for messages.
std::string possible_compressions() {
  std::string with_levels;
  std::string without;
  for (const codec::Method* const method : codec::methods()) {
    const std::string word = "compress=" + std::string(method->name);
    if (method->has_levels())
      with_levels += word + ", " + word + ":LEVEL with LEVEL from " + std::to_string(method->min_level) +
                     " to " + std::to_string(method->max_level) + ", ";
    else
      without += (without.empty() ? "" : ", ") + word;
  }
  return with_levels + without + " or compress=none";
}

void set_compression(OpenMode& m, const ModeWord& word) {
  codec::Compression& c = m.compression;
  const size_t colon = word.value.find(':');
  c.codec = format::Codec::none;
  c.level = 0;
  if (word.value == "none") return;
  const codec::Method* const method = codec::find(word.value.substr(0, colon));
  if (!method) bad_value(word.word, possible_compressions());
  int64_t level = method->has_levels() ? codec::default_level : 0;
  if (colon != std::string_view::npos) {
    const auto given = parse_number(word.value.substr(colon + 1));
    level = given && method->has_levels() ? *given : INT64_MIN;
  }
  if (!method->level_fits(level)) bad_value(word.word, possible_compressions());
  c.codec = method->codec;
  c.level = static_cast<int8_t>(level);
}

// Words that set a flag. If a word has a value, only the listed values are valid.
struct Switch {
  std::string_view word;
  bool OpenMode::*field;
  bool value;
};
constexpr Switch switches[] = {{"ansi", &OpenMode::posix, false},
                               {"posix", &OpenMode::posix, true},
                               {"fileptr=file", &OpenMode::stream, false},
                               {"fileptr=stream", &OpenMode::stream, true},
                               {"term=flush", &OpenMode::term_flush, true},
                               {"term=default", &OpenMode::term_flush, false},
                               {"durable", &OpenMode::durable, true},
                               {"atomic", &OpenMode::atomic, true},
                               {"steal", &OpenMode::steal, true},
                               {"journal=on", &OpenMode::journal, true},
                               {"journal=off", &OpenMode::journal, false},
                               {"checksums=on", &OpenMode::checksums, true},
                               {"checksums=off", &OpenMode::checksums, false},
                               {"strict", &OpenMode::strict, true}};

std::string_view key_of(std::string_view word) { return word.substr(0, word.find('=')); }

// Returns false if the word is no switch.
bool apply_switch(OpenMode& m, const ModeWord& word) {
  std::string possible;
  for (const auto& [known, field, value] : switches) {
    if (word.word == known) {
      m.*field = value;
      return true;
    }
    if (known != word.key && key_of(known) == word.key)
      possible.append(possible.empty() ? "" : " or ").append(known);
  }
  if (!possible.empty()) bad_value(word.word, possible);
  return false;
}

void set_write(OpenMode& m, const ModeWord&) { m.direction = OpenDirection::write; }

void set_read(OpenMode& m, const ModeWord&) {
  if (m.direction != OpenDirection::write) m.direction = OpenDirection::read;
}

void set_append(OpenMode& m, const ModeWord&) {
  m.direction = OpenDirection::write;
  m.append = true;
}

// These words have no effect, as in the SION API. Existing programs that give them use the FILE* of the file
// between library calls without a flush.
void ignore(OpenMode&, const ModeWord&) {}

constexpr WordAction<OpenMode> actions[] = {
    {"w", set_write},
    {"wb", set_write},
    {"bw", set_write},
    {"r", set_read},
    {"rb", set_read},
    {"br", set_read},
    {"a", set_append},
    {"append", set_append},
    {"sionfwd",
     [](OpenMode&, const ModeWord&) {
       throw Error(Code::invalid_argument,
                   "open mode: 'sionfwd' needs SIONfwd, which this build does not have");
     }},
    {"buffered", ignore},
    {"compress", ignore},
    {"endianness=",
     [](OpenMode& m, const ModeWord& word) {
       m.userdata_order = word.value == "big" ? ByteOrder::big : ByteOrder::little;
     }},
    {"keyval=",
     [](OpenMode& m, const ModeWord& word) {
       if (trimmed(word.value) == word.value)
         set_keyval(m, word);
       else
         m.unknown.emplace_back(word.word);  // the SION API ignores values with blanks
     }},
    {"keyval-default=",
     [](OpenMode& m, const ModeWord& word) {
       if (m.creates() && m.keyval == KeyvalMode::not_set) set_keyval(m, word);
     }},
    {"files=", set_files},
    {"buffer=",
     [](OpenMode& m, const ModeWord& word) {
       m.buffer_bytes = word.value == "block" ? OpenMode::one_block
                                              : number_of(word, 0, int64_t{1} << 30,
                                                          "buffer=block or buffer=BYTES, at most 1G");
     }},
    {"iotasks=",
     [](OpenMode& m, const ModeWord& word) {
       m.io_tasks =
           static_cast<int32_t>(number_of(word, 0, INT32_MAX, "iotasks=K with K >= 0 (0: no limit)"));
     }},
    {"compress=", set_compression},
    {"shuffle=",
     [](OpenMode& m, const ModeWord& word) {
       m.compression.shuffle =
           static_cast<uint8_t>(number_of(word, 0, 255, "shuffle=BYTES of an element, at most 255"));
     }},
    {"frame=",
     [](OpenMode& m, const ModeWord& word) {
       m.compression.frame = static_cast<uint32_t>(
           number_of(word, format::smallest_frame, format::largest_frame, "frame=BYTES from 1k to 16M"));
     }},
    {"compress_threads=", [](OpenMode& m, const ModeWord& word) {
       m.compression.threads =
           word.value == "auto"
               ? codec::Compression::automatic_threads
               : static_cast<int32_t>(
                     number_of(word, 0, 64, "compress_threads=auto or compress_threads=N from 0 to 64"));
     }}};

// Returns true for words of the original SION API, which compares them including blanks.
bool is_classic(std::string_view word) {
  static constexpr std::string_view whole[] = {
      "w",      "wb",     "bw", "r", "rb", "br", "ansi", "posix", "sionfwd", "collective", "collectivemerge",
      "cmerge", "collmsa"};
  static constexpr std::string_view keys[] = {"collsize", "keyval", "endianness", "buddy"};
  return std::ranges::count(whole, word) > 0 || std::ranges::count(keys, key_of(word)) > 0;
}

// Treatment of blanks around the words of a list. `significant`: blanks are significant in classic words and
// trimmed from others. `ignored`: blanks are trimmed from all words.
enum class Blanks : uint8_t { significant, ignored };

void parse_words(OpenMode& m, std::string_view list, Blanks blanks) {
  for (const auto part : std::views::split(list, ',')) {
    const std::string_view given(part.begin(), part.end());
    std::string_view word = trimmed(given);
    if (word.empty()) continue;
    bool known = true;
    if (blanks == Blanks::significant && is_classic(word)) {
      // Blanks after '=' belong to the value.
      known = given.starts_with(key_of(word)) && (given == word || word.find('=') != std::string_view::npos);
      word = given;
    }
    const std::string_view key = key_of(word);
    const ModeWord parts{word, key, key == word ? std::string_view{} : word.substr(key.size() + 1)};
    if (!known || !(apply_word<OpenMode>(m, parts, actions) || apply_switch(m, parts) ||
                    apply_collective_word(m.collective, parts) || apply_async_word(m.async, parts)))
      m.unknown.emplace_back(word);
  }
}

}  // namespace

namespace {

// Sets what saving in the background implies (docs/async.md). A save becomes durable as a generation of its
// own after the close. Physical files are per host unless the mode chooses them, so that hosts need no
// messages after the close.
void imply_async(OpenMode& m) {
  if (!m.is_async()) return;
  m.atomic = m.stream = true;
  m.durable = m.journal = false;
  m.async.chooses_files = m.file_policy == FilePolicy::caller && !m.collective.renumber;
  if (m.async.chooses_files) m.file_policy = FilePolicy::per_node;
}

}  // namespace

OpenMode parse_open_mode(std::string_view mode, std::string_view additions) {
  OpenMode m;
  parse_words(m, mode, Blanks::significant);
  const OpenDirection direction = m.direction;
  const bool append = m.append;
  parse_words(m, additions, Blanks::ignored);
  m.direction = direction;
  m.append = append;
  imply_async(m);
  if (m.creates() && m.compression.on() &&
      ((m.collective.wanted && m.collective.merge) || m.collective.buddies > 0))
    throw Error(Code::invalid_argument,
                "open mode: 'compress=' goes with neither 'cmerge' nor 'buddy', whose tasks write the "
                "streams of others");
  if (m.strict && !m.unknown.empty())
    throw Error(Code::invalid_argument, "open mode: unknown word '" + m.unknown.front() +
                                            "'; the words are " + std::string(known_words()));
  return m;
}

std::optional<format::Extension> OpenMode::extension() const {
  if (!journal && !checksums && !compression.on() && !atomic) return std::nullopt;
  format::Extension e;
  if (journal) e.flags |= format::flag_journal;
  if (checksums) {
    e.flags |= format::flag_checksums;
    e.piece = format::default_piece;
  }
  if (compression.on()) {
    e.flags |= format::flag_compressed;
    e.codec = compression.codec;
    e.level = compression.level;
    e.shuffle = compression.shuffle;
    e.frame = compression.frame;
  }
  e.identity = identity == format::Identity{} ? new_identity() : identity;
  return e;
}

format::Identity new_identity() {
  format::Identity identity;
  for (size_t i = 0; i < identity.size(); i += sizeof(uint64_t))
    store(identity.data() + i, random_number(), ByteOrder::little);
  return identity;
}

std::string_view known_words() {
  return "r|rb|br, w|wb|bw, a|append, ansi, posix, fileptr=file|stream, buffered, durable, atomic, steal, "
         "term=default|flush, journal=on|off, checksums=on|off, strict, endianness=big|little, "
         "keyval[=default|inline|none|unknown], files=auto|node|ion|@TABLE|N, iotasks=N, "
         "buffer=BYTES|block, compress=zstd[:LEVEL]|gzip[:LEVEL]|lz4|none, shuffle=N, frame=BYTES, "
         "compress_threads=auto|N, collective[=auto|off|N], collsize=N, collectors=N, "
         "cmerge|collectivemerge, collmsa, collector-hosts=EXPRESSION, colldebug=N, buddy[=N], "
         "async, async_memory=BYTES, pending=wait|skip|queue, keep=N, async_exit=report|fail";
}

}  // namespace sheaf::multifile
