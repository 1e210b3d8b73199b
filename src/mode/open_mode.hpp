// mode/open_mode: the open-mode string, a comma-separated list of words, and the environment that adds to it.
//
// Words of the SION API (docs/api-sion.md, "Open mode"), in which blanks count, and of Sheaf, which are
// trimmed. A word nobody knows is kept in `unknown`, with its blanks: reported and ignored, or an error under
// `strict`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_order.hpp"
#include "base/export.hpp"
#include "codec/frame_coder.hpp"
#include "format/extension.hpp"
#include "format/header.hpp"
#include "mode/checking.hpp"
#include "mode/collective_mode.hpp"

namespace sheaf {

enum class Direction : uint8_t { none, read, write };

// Who decides the number of physical files (word `files=`).
enum class FilePolicy : uint8_t {
  caller,       // the arguments of the open call
  automatic,    // as many as the writers of a node can fill at once (docs/tuning.md)
  per_node,     // one per group of tasks that share memory
  per_io_node,  // one per I/O node, by the table that SHEAF_TOPOLOGY names (comm/topology)
  fixed,        // OpenMode::files
  table,        // a text file says which file each task is in (creation/file_table.hpp)
};

struct OpenMode {
  static constexpr int64_t default_buffer = 512 << 10;
  static constexpr int64_t one_block = -1;  // of the file that is written
  static int64_t buffer_in_bytes(int64_t wanted, int64_t block) {
    return wanted == one_block ? block : wanted;
  }

  Direction direction = Direction::none;
  bool append = false;  // write on at the ends of the streams of a complete multifile
  bool term_flush =
      false;              // writing: SIGTERM flushes and records what was written before it ends the program
  bool posix = false;     // descriptors instead of FILE*
  bool stream = false;    // the FILE* goes through the library instead of being one of the physical file
  bool durable = false;   // close returns when the data would survive a loss of power
  bool atomic = false;    // the file gets its name when its close has succeeded
  bool steal = false;     // writing: takes the name over from a program that is writing it
  bool journal = true;    // keep a journal from which an unclosed file can be read
  bool checksums = true;  // writing: keep checksums of data and metadata; reading: check those that are there
  bool strict = false;
  ByteOrder userdata_order = native_order;
  format::KeyvalMode keyval = format::KeyvalMode::not_set;
  FilePolicy file_policy = FilePolicy::caller;
  int32_t files = 0;     // for FilePolicy::fixed
  std::string table{};   // for FilePolicy::table: its path
  int32_t io_tasks = 0;  // tasks of a node that transfer at once; 0: all
  // Write-behind and read-ahead buffer of a task; 0: none; or one_block
  int64_t buffer_bytes = default_buffer;
  CollectiveMode collective{};
  codec::Compression compression{};    // of new files
  std::vector<std::string> unknown{};  // words without a meaning
  format::Identity identity{};         // of the files to be made; zeros: none was chosen yet
  uint64_t lease = 0;                  // no word: the id of the lease of what is written; 0: it has none
  bool is_local = false;               // no word: the files are on a file system of one host
  bool replaces = false;               // no word: files that exist make way for new ones (OldFile::set_aside)

  int64_t read_buffer() const { return buffer_in_bytes(buffer_bytes, default_buffer); }
  // What the extension header of a new file says (docs/format.md, section 14.1); nothing if it needs none. A
  // new identity, unless agree_on_call() has given one to all tasks.
  std::optional<format::Extension> extension() const;
  Checking checking() const { return checksums ? Checking::on : Checking::off; }
  bool writes() const { return direction == Direction::write; }
  bool creates() const { return writes() && !append; }
};

// Parses `mode`, then `additions` (words_of_environment(); they may not change the direction).
// Throws invalid_argument for a known word with an impossible value, or any unknown word under `strict`.
SHEAF_EXPORT OpenMode parse_open_mode(std::string_view mode, std::string_view additions = {});

// A random one.
format::Identity new_identity();

// All words there are, for messages: "r|rb|br, w|wb|bw, ...". Capital letters stand for values.
SHEAF_EXPORT std::string_view known_words();

}  // namespace sheaf
