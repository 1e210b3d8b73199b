// current_directory: a program that changes its current directory while files are open. The fixture has two
// directories, `here` and `elsewhere`. The test fails if the program changes a file in `elsewhere`.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace sheaf::test {

class TwoDirectories {
 public:
  explicit TwoDirectories(const std::filesystem::path& root)
      : before_(std::filesystem::current_path()), here(root / "here"), elsewhere(root / "elsewhere") {
    std::filesystem::create_directories(here);
    std::filesystem::create_directories(elsewhere);
    go_here();
  }
  ~TwoDirectories() { std::filesystem::current_path(before_); }
  TwoDirectories(const TwoDirectories&) = delete;
  TwoDirectories& operator=(const TwoDirectories&) = delete;

  void go_here() const { std::filesystem::current_path(here); }
  void go_elsewhere() const { std::filesystem::current_path(elsewhere); }

  // Creates a file of that name that must survive unchanged.
  void plant(const std::string& name) const { std::ofstream(elsewhere / name) << "precious " << name; }

  static std::map<std::string, std::string> contents(const std::filesystem::path& where) {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(where)) {
      std::ifstream file(entry.path(), std::ios::binary);
      found[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
    }
    return found;
  }
  std::map<std::string, std::string> planted() const { return contents(elsewhere); }

 private:
  const std::filesystem::path before_;

 public:
  const std::filesystem::path here;
  const std::filesystem::path elsewhere;
};

}  // namespace sheaf::test
