// targets: what the fuzzers run on any bytes, and the ordinary tests on those of the corpus.
//
// A target returns for every input. It throws a Contradiction for an answer that contradicts another one, and aborts when
// an answer takes more memory than the input justifies (memory_bound.hpp); sanitizers find the rest.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sheaf::fuzz {

void fuzz_format(std::span<const std::byte> input);    // headers, pointers, arrays, names, open modes, file tables
void fuzz_metadata(std::span<const std::byte> input);  // packed files: the metadata of each by itself
void fuzz_readers(std::span<const std::byte> input);   // packed files: every way of reading
void fuzz_tools(std::span<const std::byte> input);     // packed files: verify, dump, info, split, defrag, append
void fuzz_extension(std::span<const std::byte> input);  // extension headers, trailers, journal headers and slots
void fuzz_journal(std::span<const std::byte> input);    // records of a journal
void fuzz_keyval(std::span<const std::byte> input);    // a stream of key-value records
void fuzz_frames(std::span<const std::byte> input);    // a stream of frames

struct Target {
  const char* name;
  const char* corpus;  // directory below tests/fuzz/corpus
  void (*run)(std::span<const std::byte>);
};
inline constexpr Target targets[] = {
    {"format", "format", fuzz_format},    {"metadata", "files", fuzz_metadata}, {"readers", "files", fuzz_readers},
    {"tools", "files", fuzz_tools},       {"keyval", "keyval", fuzz_keyval},  {"extension", "extension", fuzz_extension},
    {"journal", "journal", fuzz_journal},    {"frames", "frames", fuzz_frames},
};

// No std::exception: nothing in the library may catch it.
struct Contradiction {
  std::string what;
};
inline void require(bool holds, std::string_view what) {
  if (!holds) throw Contradiction{std::string(what)};
}

}  // namespace sheaf::fuzz
