#include "mode/open_mode.hpp"

#include <climits>
#include <functional>
#include <optional>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/random.hpp"
#include "journal/journal_writer.hpp"

namespace sheaf {

namespace {

using format::KeyvalMode;

[[noreturn]] void bad_value(std::string_view word, std::string_view expected) {
  throw Error(Code::invalid_argument,
              "open mode: '" + std::string(word) + "' is impossible; expected " + std::string(expected));
}

void set_files(OpenMode& m, std::string_view word, std::string_view value) {
  if (value == "auto") {
    m.file_policy = FilePolicy::automatic;
  } else if (value == "node") {
    m.file_policy = FilePolicy::per_node;
  } else if (value == "ion") {
    m.file_policy = FilePolicy::per_io_node;
  } else if (value.size() > 1 && value.front() == '@') {
    m.file_policy = FilePolicy::table;
    m.table = value.substr(1);
  } else {
    const auto count = parse_bytes(value);
    if (!count || *count < 1 || *count > INT32_MAX)
      bad_value(word, "files=auto, files=node, files=ion, files=@TABLE or files=N with N >= 1");
    m.file_policy = FilePolicy::fixed;
    m.files = static_cast<int32_t>(*count);
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

void set_compression(codec::Compression& c, std::string_view word, std::string_view value) {
  const size_t colon = value.find(':');
  const std::string_view name = value.substr(0, colon);
  c.codec = format::Codec::none;
  for (const auto codec : {format::Codec::zstd, format::Codec::lz4, format::Codec::gzip})
    if (name == codec::name_of(codec)) c.codec = codec;
  int level = codec::has_levels(c.codec) ? codec::default_level : 0;
  bool sound = c.on() || name == "none";
  if (colon != std::string_view::npos) {
    const auto given = parse_number(value.substr(colon + 1));
    sound &= given && *given >= INT_MIN && *given <= INT_MAX && codec::has_levels(c.codec);
    if (sound) level = static_cast<int>(*given);
  }
  if (!sound || !codec::level_fits(c.codec, level))
    bad_value(word,
              "compress=zstd, compress=zstd:LEVEL with LEVEL from -100 to 22, compress=gzip, "
              "compress=gzip:LEVEL with LEVEL from 1 "
              "to 9, compress=lz4 or compress=none");
  c.level = static_cast<int8_t>(level);
}

// False if it is none of the words about compression.
bool apply_compression_word(codec::Compression& c, std::string_view word, std::string_view key,
                            std::string_view value) {
  if (key == "compress") {
    set_compression(c, word, value);
  } else if (key == "shuffle") {
    const auto bytes = parse_bytes(value);
    if (!bytes || *bytes > 255) bad_value(word, "shuffle=BYTES of an element, at most 255");
    c.shuffle = static_cast<uint8_t>(*bytes);
  } else if (key == "frame") {
    const auto bytes = parse_bytes(value);
    if (!bytes || *bytes < format::smallest_frame || *bytes > format::largest_frame)
      bad_value(word, "frame=BYTES from 1k to 16M");
    c.frame = static_cast<uint32_t>(*bytes);
  } else if (key == "compress_threads") {
    const auto threads = value == "auto" ? codec::Compression::automatic_threads : parse_bytes(value);
    if (!threads || *threads > 64)
      bad_value(word, "compress_threads=auto or compress_threads=N from 0 to 64");
    c.threads = static_cast<int32_t>(*threads);
  } else {
    return false;
  }
  return true;
}

// One word; `key` and `value` are its halves around the first '='. False if nobody knows it.
bool apply(OpenMode& m, std::string_view word, std::string_view key, std::string_view value) {
  if (word == "w" || word == "wb" || word == "bw") {
    m.direction = Direction::write;
  } else if (word == "r" || word == "rb" || word == "br") {
    if (m.direction != Direction::write) m.direction = Direction::read;
  } else if (word == "a" || word == "append") {
    m.direction = Direction::write;
    m.append = true;
  } else if (word == "ansi") {
    m.posix = false;
  } else if (word == "posix") {
    m.posix = true;
  } else if (key == "fileptr") {
    if (value != "file" && value != "stream") bad_value(word, "fileptr=file or fileptr=stream");
    m.stream = value == "stream";
  } else if (key == "term") {
    if (value != "flush" && value != "default") bad_value(word, "term=flush or term=default");
    m.term_flush = value == "flush";
  } else if (word == "sionfwd") {
    throw Error(Code::invalid_argument, "open mode: 'sionfwd' needs SIONfwd, which this build does not have");
  } else if (word == "buffered" || word == "compress") {
    // No effect in the API they come from: programs in circulation use the stream between calls without a
    // flush.
  } else if (word == "durable") {
    m.durable = true;
  } else if (word == "atomic") {
    m.atomic = true;
  } else if (key == "journal") {
    if (value != "on" && value != "off") bad_value(word, "journal=on or journal=off");
    m.journal = value == "on";
  } else if (key == "checksums") {
    if (value != "on" && value != "off") bad_value(word, "checksums=on or checksums=off");
    m.checksums = value == "on";
  } else if (word == "strict") {
    m.strict = true;
  } else if (key == "endianness") {
    m.userdata_order = value == "big" ? ByteOrder::big : ByteOrder::little;
  } else if (key == "keyval") {
    if (trimmed(value) != value) return false;  // no effect in the API it comes from
    set_keyval(m, word, value);
  } else if (key == "keyval-default") {
    if (m.creates() && m.keyval == KeyvalMode::not_set) set_keyval(m, word, value);
  } else if (key == "files") {
    set_files(m, word, value);
  } else if (key == "buffer") {
    const auto bytes = value == "block" ? OpenMode::one_block : parse_bytes(value);
    if (!bytes || *bytes > (int64_t{1} << 30)) bad_value(word, "buffer=block or buffer=BYTES, at most 1G");
    m.buffer_bytes = *bytes;
  } else if (key == "iotasks") {
    const auto tasks = parse_bytes(value);
    if (!tasks || *tasks > INT32_MAX) bad_value(word, "iotasks=K with K >= 0 (0: no limit)");
    m.io_tasks = static_cast<int32_t>(*tasks);
  } else {
    return apply_compression_word(m.compression, word, key, value) ||
           apply_collective_word(m.collective, word, key, value);
  }
  return true;
}

std::string_view key_of(std::string_view word) { return word.substr(0, word.find('=')); }

// Words of the SION API as it was, which compares them with their blanks.
bool is_classic(std::string_view word) {
  for (const std::string_view whole : {"w", "wb", "bw", "r", "rb", "br", "ansi", "posix", "sionfwd",
                                       "collective", "collectivemerge", "cmerge", "collmsa"})
    if (word == whole) return true;
  for (const std::string_view key : {"collsize", "keyval", "endianness", "buddy"})
    if (key_of(word) == key) return true;
  return false;
}

// What blanks around the words of a list are: part of the classic ones, or nothing.
enum class Blanks : uint8_t { count, vanish };

void parse_words(OpenMode& m, std::string_view list, Blanks blanks) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view given = list.substr(0, comma);
    std::string_view word = trimmed(given);
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    if (word.empty()) continue;
    bool known = true;
    if (blanks == Blanks::count && is_classic(word)) {
      // Blanks behind a '=' are of the value.
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
  parse_words(m, mode, Blanks::count);
  const Direction direction = m.direction;
  const bool append = m.append;
  parse_words(m, additions, Blanks::vanish);
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
  if (!journal && !checksums && !compression.on()) return std::nullopt;
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
  return "r, w, append, ansi, posix, fileptr=file|stream, buffered, durable, atomic, term=default|flush, "
         "journal=on|off, checksums=on|off, strict, endianness=big|little, keyval[=inline|none|unknown], "
         "files=auto|node|ion|@TABLE|N, iotasks=K, buffer=BYTES|block, collective[=auto|off|N], collsize=N, "
         "collectors=N, cmerge, "
         "collmsa, collector-hosts=EXPRESSION, buddy[=N]";
}

}  // namespace sheaf
