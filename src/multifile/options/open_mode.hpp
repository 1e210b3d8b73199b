// multifile/options/open_mode: parses the open-mode string, a comma-separated list of words, and the
// additions from the environment.
//
// Blanks are significant in words of the SION API (docs/api-sion.md, "Open mode") and are trimmed from words
// of Sheaf. Unknown words are kept in `unknown`, with their blanks. They are reported and ignored, or cause
// an error under `strict`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_order.hpp"
#include "base/export.hpp"
#include "format/codec/frame_coder.hpp"
#include "format/extension.hpp"
#include "format/header.hpp"
#include "multifile/options/async_mode.hpp"
#include "multifile/options/checking.hpp"
#include "multifile/options/collective_mode.hpp"

namespace sheaf::multifile {

enum class OpenDirection : uint8_t { none, read, write };

// Source of the number of physical files (word `files=`).
enum class FilePolicy : uint8_t {
  caller,       // the arguments of the open call
  automatic,    // as many as the writers of a host can saturate at once (docs/tuning.md)
  per_node,     // one per group of tasks that share memory
  per_io_node,  // one per I/O node, according to the table named by SHEAF_TOPOLOGY (comm/topology)
  fixed,        // OpenMode::files
  table,        // a text file that assigns a file to each task (multifile/create/file_table.hpp)
};

struct OpenMode {
  static constexpr int64_t default_buffer = 512 << 10;
  static constexpr int64_t one_block = -1;  // one block of the file that is written
  static int64_t buffer_in_bytes(int64_t wanted, int64_t block) {
    return wanted == one_block ? block : wanted;
  }

  OpenDirection direction = OpenDirection::none;
  bool append = false;  // continue writing at the ends of the streams of a complete multifile
  // Writing: SIGTERM flushes and records the data written so far, then ends the program.
  bool term_flush = false;
  bool posix = false;     // file descriptors instead of FILE*
  bool stream = false;    // the FILE* is served by the library instead of the physical file
  bool durable = false;   // close returns when the data would survive a loss of power
  bool atomic = false;    // the file gets its name only when its close has succeeded
  bool steal = false;     // writing: take over a file that another program is writing
  bool journal = true;    // keep a journal from which an unclosed file can be read
  bool checksums = true;  // writing: store checksums of data and metadata; reading: verify existing checksums
  bool strict = false;
  ByteOrder userdata_order = native_order;
  format::KeyvalMode keyval = format::KeyvalMode::not_set;
  FilePolicy file_policy = FilePolicy::caller;
  int32_t files = 0;     // for FilePolicy::fixed
  std::string table{};   // path for FilePolicy::table
  int32_t io_tasks = 0;  // tasks of a host that transfer at once; 0: all
  // Write-behind and read-ahead buffer of a task in bytes; 0: none; or one_block.
  int64_t buffer_bytes = default_buffer;
  CollectiveMode collective{};
  AsyncMode async{};                   // saving in the background
  codec::Compression compression{};    // for new files
  std::vector<std::string> unknown{};  // words without a meaning
  format::Identity identity{};         // identity for new files; zeros: not chosen yet
  uint64_t lease = 0;                  // not a word: id of the lease of the file that is written; 0: no lease
  bool is_local = false;               // not a word: the files are on a file system of one host
  bool replaces = false;               // not a word: existing files are renamed (OldFile::set_aside)

  int64_t read_buffer() const { return buffer_in_bytes(buffer_bytes, default_buffer); }
  // Returns the extension header of a new file (docs/format.md, section 14.1); nothing if it needs none. The
  // identity is random, unless agree_on_call() has given the same one to all tasks.
  std::optional<format::Extension> extension() const;
  Checking checking() const { return checksums ? Checking::on : Checking::off; }
  bool writes() const { return direction == OpenDirection::write; }
  bool creates() const { return writes() && !append; }
  bool is_async() const { return async.wanted && creates(); }
};

// Parses `mode`, then `additions` (words_of_environment()). Ignores words for the direction in `additions`.
// Throws `invalid_argument` for a known word with an invalid value, or under `strict` for any unknown word.
SHEAF_EXPORT OpenMode parse_open_mode(std::string_view mode, std::string_view additions = {});

// Returns a random identity.
format::Identity new_identity();

// Returns all known words for messages: "r|rb|br, w|wb|bw, ...". Capital letters represent values.
SHEAF_EXPORT std::string_view known_words();

}  // namespace sheaf::multifile
