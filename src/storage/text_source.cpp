#include "storage/text_source.hpp"

#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/error.hpp"

namespace sheaf {

namespace {

constexpr std::string_view file_word = "file:";
constexpr std::string_view program_word = "cmd:";

std::string read_all(std::FILE* stream, const std::string& name) {
  std::string text;
  std::array<char, 4096> piece;
  while (const size_t n = std::fread(piece.data(), 1, piece.size(), stream)) {
    text.append(piece.data(), n);
    if (text.size() > max_source_bytes)
      throw Error(Code::invalid_argument,
                  "'" + name + "' has more than " + std::to_string(max_source_bytes) + " bytes");
  }
  if (std::ferror(stream)) throw os_error("cannot read", name, errno);
  return text;
}

}  // namespace

bool is_text_source(std::string_view word) {
  return word.starts_with(file_word) || word.starts_with(program_word);
}

std::string read_text_source(std::string_view word) {
  const bool program = word.starts_with(program_word);
  const std::string name(word.substr(program ? program_word.size() : file_word.size()));
  const auto end = [program](std::FILE* stream) { return program ? pclose(stream) : std::fclose(stream); };
  std::unique_ptr<std::FILE, decltype(end)> stream(
      program ? popen(name.c_str(), "re") : std::fopen(name.c_str(), "re"), end);
  if (!stream) throw os_error(program ? "cannot run" : "cannot open", name, errno);
  std::string text = read_all(stream.get(), name);
  if (const int status = end(stream.release()); program && status != 0)
    throw Error(Code::io,
                "'" + name + "' ended with " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : 128));
  return text;
}

}  // namespace sheaf
