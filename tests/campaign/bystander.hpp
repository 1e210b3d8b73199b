// bystander: a file beside the files of a program. No call of the program may change it.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace sheaf::test::campaign {

inline const std::string bystander_text = "not of this program";

inline void make_bystander(const std::filesystem::path& directory) {
  std::ofstream(directory / "bystander") << bystander_text;
}

inline void require_bystander(const std::filesystem::path& directory) {
  std::ifstream in(directory / "bystander");
  if (std::string(std::istreambuf_iterator<char>(in), {}) != bystander_text)
    throw std::runtime_error("another file has changed");
}

}  // namespace sheaf::test::campaign
