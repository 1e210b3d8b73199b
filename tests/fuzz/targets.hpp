// targets: functions that the fuzzers call with arbitrary bytes, and ordinary tests with the corpus.
//
// A target must return for every input. It throws a Contradiction if two results contradict each other, and
// aborts if a result takes more memory than the input justifies (memory_bound.hpp). Sanitizers detect other
// errors.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sheaf::fuzz {

// These targets parse single structures in memory, about a hundred thousand inputs per second.
void fuzz_header(std::span<const std::byte> input);   // META1, extension, pointers, arrays, stripe identities
void fuzz_trailer(std::span<const std::byte> input);  // footer, table of sections, groups
void fuzz_mapping(std::span<const std::byte> input);  // arrays, block table, mapping and their checksums
void fuzz_slots(std::span<const std::byte> input);    // header and slots of journals
void fuzz_frames(std::span<const std::byte> input);   // heads, tables, indices, codecs
void fuzz_records(std::span<const std::byte> input);  // key-value records of a recipe
void fuzz_words(
    std::span<const std::byte> input);  // names, open modes, hints, tables of files, names of striped files
void fuzz_messages(std::span<const std::byte> input);  // requests to I/O listeners, lists of pieces
// These targets read streams and whole files.
void fuzz_keyval(std::span<const std::byte> input);     // a stream of key-value records
void fuzz_streams(std::span<const std::byte> input);    // a stream of frames
void fuzz_journal(std::span<const std::byte> input);    // an unclosed file and its journal
void fuzz_container(std::span<const std::byte> input);  // a container with resealed records
void fuzz_metadata(std::span<const std::byte> input);   // packed files: the metadata of each by itself
void fuzz_readers(std::span<const std::byte> input);    // packed files: every way of reading
void fuzz_tools(std::span<const std::byte> input);  // packed files: verify, dump, info, split, defrag, append

struct FuzzTarget {
  const char* name;
  const char* corpus;  // directory below tests/fuzz/corpus
  void (*run)(std::span<const std::byte>);
};
inline constexpr FuzzTarget targets[] = {
    {"header", "header", fuzz_header},
    {"trailer", "trailer", fuzz_trailer},
    {"mapping", "mapping", fuzz_mapping},
    {"slots", "slots", fuzz_slots},
    {"frames", "frames", fuzz_frames},
    {"records", "records", fuzz_records},
    {"words", "words", fuzz_words},
    {"messages", "messages", fuzz_messages},
    {"keyval", "keyval", fuzz_keyval},
    {"streams", "streams", fuzz_streams},
    {"journal", "journal", fuzz_journal},
    {"metadata", "files", fuzz_metadata},
    {"readers", "files", fuzz_readers},
    {"tools", "files", fuzz_tools},
    {"container", "container", fuzz_container},
};

// Reports that two results contradict each other. It is not derived from std::exception, so that no code of
// the library catches it.
struct Contradiction {
  std::string what;
};
inline void require(bool holds, std::string_view what) {
  if (!holds) throw Contradiction{std::string(what)};
}

}  // namespace sheaf::fuzz
