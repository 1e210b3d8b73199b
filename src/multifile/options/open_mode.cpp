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

// Parses `value`, a count or a size. Throws an error about `word` unless the value is a number from `least`
// to `most`.
int64_t number_of(std::string_view word, std::string_view value, int64_t least, int64_t most,
                  std::string_view expected) {
  const auto number = parse_bytes(value);
  if (!number || *number < least || *number > most) bad_value(word, expected);
  return *number;
}

void set_files(OpenMode& m, std::string_view word, std::string_view value) {
  static constexpr std::pair<std::string_view, FilePolicy> named[] = {
      {"auto", FilePolicy::automatic}, {"node", FilePolicy::per_node}, {"ion", FilePolicy::per_io_node}};
  const auto* const policy = std::ranges::find(named, value, &std::pair<std::string_view, FilePolicy>::first);
  if (policy != std::end(named)) {
    m.file_policy = policy->second;
  } else if (value.size() > 1 && value.front() == '@') {
    m.file_policy = FilePolicy::table;
    m.table = value.substr(1);
  } else {
    m.file_policy = FilePolicy::fixed;
    m.files = static_cast<int32_t>(number_of(
        word, value, 1, INT32_MAX, "files=auto, files=node, files=ion, files=@TABLE or files=N with N >= 1"));
  }
}

void set_keyval(OpenMode& m, std::string_view word, std::string_view value) {
  if (value.empty() || value == "default" || value == "inline") {
    m.keyval = KeyvalMode::inline_;
  } else if (value == "none") {
    m.keyval = KeyvalMode::none;
  } else if (value == "unknown") {
    m.keyval = KeyvalMode::unknown;
  } else {
    bad_value(word, "keyval, keyval=inline, keyval=none or keyval=unknown");
  }
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

void set_compression(codec::Compression& c, std::string_view word, std::string_view value) {
  const size_t colon = value.find(':');
  const std::string_view name = value.substr(0, colon);
  c.codec = format::Codec::none;
  c.level = 0;
  if (value == "none") return;
  const codec::Method* const method = codec::find(name);
  if (!method) bad_value(word, possible_compressions());
  int64_t level = method->has_levels() ? codec::default_level : 0;
  if (colon != std::string_view::npos) {
    const auto given = parse_number(value.substr(colon + 1));
    level = given && method->has_levels() ? *given : INT64_MIN;
  }
  if (!method->level_fits(level)) bad_value(word, possible_compressions());
  c.codec = method->codec;
  c.level = static_cast<int8_t>(level);
}

// Returns false if the word is not about compression.
bool apply_compression_word(codec::Compression& c, std::string_view word, std::string_view key,
                            std::string_view value) {
  if (key == "compress") {
    set_compression(c, word, value);
  } else if (key == "shuffle") {
    c.shuffle =
        static_cast<uint8_t>(number_of(word, value, 0, 255, "shuffle=BYTES of an element, at most 255"));
  } else if (key == "frame") {
    c.frame = static_cast<uint32_t>(
        number_of(word, value, format::smallest_frame, format::largest_frame, "frame=BYTES from 1k to 16M"));
  } else if (key == "compress_threads") {
    c.threads = value == "auto"
                    ? codec::Compression::automatic_threads
                    : static_cast<int32_t>(number_of(
                          word, value, 0, 64, "compress_threads=auto or compress_threads=N from 0 to 64"));
  } else {
    return false;
  }
  return true;
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
bool apply_switch(OpenMode& m, std::string_view word, std::string_view key) {
  std::string possible;
  for (const auto& [known, field, value] : switches) {
    if (word == known) {
      m.*field = value;
      return true;
    }
    if (known != key && key_of(known) == key) possible.append(possible.empty() ? "" : " or ").append(known);
  }
  if (!possible.empty()) bad_value(word, possible);
  return false;
}

// Applies one word; `key` and `value` are the parts around the first '='. Returns false if the word is
// unknown.
bool apply(OpenMode& m, std::string_view word, std::string_view key, std::string_view value) {
  if (word == "w" || word == "wb" || word == "bw") {
    m.direction = OpenDirection::write;
  } else if (word == "r" || word == "rb" || word == "br") {
    if (m.direction != OpenDirection::write) m.direction = OpenDirection::read;
  } else if (word == "a" || word == "append") {
    m.direction = OpenDirection::write;
    m.append = true;
  } else if (word == "sionfwd") {
    throw Error(Code::invalid_argument, "open mode: 'sionfwd' needs SIONfwd, which this build does not have");
  } else if (word == "buffered" || word == "compress") {
    // These words have no effect, as in the SION API. Existing programs that give them use the FILE* of the
    // file between library calls without a flush.
  } else if (key == "endianness") {
    m.userdata_order = value == "big" ? ByteOrder::big : ByteOrder::little;
  } else if (key == "keyval") {
    if (trimmed(value) != value) return false;  // the SION API ignores values with blanks
    set_keyval(m, word, value);
  } else if (key == "keyval-default") {
    if (m.creates() && m.keyval == KeyvalMode::not_set) set_keyval(m, word, value);
  } else if (key == "files") {
    set_files(m, word, value);
  } else if (key == "buffer") {
    m.buffer_bytes = value == "block" ? OpenMode::one_block
                                      : number_of(word, value, 0, int64_t{1} << 30,
                                                  "buffer=block or buffer=BYTES, at most 1G");
  } else if (key == "iotasks") {
    m.io_tasks =
        static_cast<int32_t>(number_of(word, value, 0, INT32_MAX, "iotasks=K with K >= 0 (0: no limit)"));
  } else {
    return apply_switch(m, word, key) || apply_compression_word(m.compression, word, key, value) ||
           apply_collective_word(m.collective, word, key, value);
  }
  return true;
}

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
    const std::string_view value = key == word ? std::string_view{} : word.substr(key.size() + 1);
    if (!known || !apply(m, word, key, value)) m.unknown.emplace_back(word);
  }
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
         "cmerge|collectivemerge, collmsa, collector-hosts=EXPRESSION, colldebug=N, buddy[=N]";
}

}  // namespace sheaf::multifile
