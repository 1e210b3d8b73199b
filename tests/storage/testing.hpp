// Shared by the storage tests: bytes, temporary directories, and a readable expectation for sheaf::Error.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "storage/file.hpp"

namespace sheaf::testing {

using Bytes = std::vector<std::byte>;

inline Bytes bytes(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

inline std::string text(std::span<const std::byte> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

// Returns `count` bytes that differ from their neighbours and from those of another seed.
inline Bytes pattern(size_t count, unsigned seed = 1) {
  Bytes data(count);
  for (auto& byte : data) byte = static_cast<std::byte>((seed = seed * 1103515245 + 12345) >> 16);
  return data;
}

inline std::string read_text(File& file, int64_t offset, size_t count) {
  Bytes buffer(count, std::byte{'?'});
  buffer.resize(file.read_at(buffer, offset));
  return text(buffer);
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "sheaf_storage_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw os_error("cannot create", name, errno);
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Returns the code of the Error that `call` throws. If it throws none, the expectation fails and the result
// is Code::ok.
template <class Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(Code::ok, "nothing was thrown");
}

}  // namespace sheaf::testing
