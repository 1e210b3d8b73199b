// storage/patience: names on file systems that several hosts share. What one host has just made, or removed
// and made anew, another one may not know for a while: ENOENT, ESTALE, or EEXIST from a call that would not
// mind.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "storage/file.hpp"

namespace sheaf {

inline constexpr std::chrono::seconds patience_with_names{5};
// With those that another file names, which may have been lost since.
inline constexpr std::chrono::milliseconds patience_with_members{100};
// With who has made a file and is about to write its first bytes, which others can write as well.
inline constexpr std::chrono::milliseconds patience_with_makers{500};

// What attempt(last) returns, which is asked for until it is something or time is over (`last`); then what it
// throws or returns counts.
template <class Attempt>
std::shared_ptr<File> patiently(std::chrono::milliseconds patience, Attempt attempt) {
  using std::chrono::milliseconds;
  const auto until = std::chrono::steady_clock::now() + patience;
  for (milliseconds pause{0};; pause = std::clamp(2 * pause, milliseconds(1), milliseconds(100))) {
    const bool last = std::chrono::steady_clock::now() + pause > until;
    if (auto file = attempt(last); file || last) return file;
    std::this_thread::sleep_for(pause);
  }
}

// Opens what is known to be there, because another task has opened it, or may be made by several at once
// (Access::create): tries again while the name is only just not known right, but not longer than `patience`.
// Throws what Store::open throws last.
std::shared_ptr<File> open_patiently(Store& store, const std::string& path, Access access,
                                     std::chrono::milliseconds patience = patience_with_names);

// What is known of a name to be opened.
enum class Name : uint8_t {
  may_be_there,  // that it is missing is an error at once; Access::fresh: that it is there as well
  is_there,      // another task has opened it
};

// The same for file systems that several hosts see through caches of their own, some of which open what is
// gone at the server: what was opened is asked for at the server (File::renew), and opened again if it is
// gone. Access::create and fresh may be among them.
std::shared_ptr<File> open_at_server(Store& store, const std::string& path, Access access, Name name,
                                     std::chrono::milliseconds patience = patience_with_names);

}  // namespace sheaf
