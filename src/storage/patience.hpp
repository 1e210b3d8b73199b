// storage/patience: retries calls with names on file systems that several hosts share. A host may not see for
// a while what another host has just created, removed or recreated. Its calls fail with ENOENT, with ESTALE,
// or with EEXIST although they allow an existing file.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "storage/file.hpp"

namespace sheaf {

// Timeout for names that another host has created, until this host sees them.
inline constexpr std::chrono::seconds patience_with_names{5};
// Timeout for names that another file lists. It is short, because such a file may have been lost.
inline constexpr std::chrono::milliseconds patience_with_members{100};
// Timeout for the creator of a file to write its first bytes. Then the waiting task writes them itself.
inline constexpr std::chrono::milliseconds patience_with_makers{500};

// Calls attempt(last) with a backoff until it returns a file or the timeout expires. The final call gets last
// = true; patiently() returns its result or throws its exception.
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

// Opens a file that is known to exist because another task has opened it, or that several tasks may create at
// once (Access::create). Retries for at most `patience` while the name is not yet visible. Throws the last
// error of Store::open.
std::shared_ptr<File> open_patiently(Store& store, const std::string& path, Access access,
                                     std::chrono::milliseconds patience = patience_with_names);

// Prior knowledge about a name to be opened.
enum class Name : uint8_t {
  may_be_there,  // fails at once if it is missing or, for Access::fresh, if it exists
  is_there,      // another task has opened it
};

// Like open_patiently(), for hosts with separate caches, some of which open files that no longer exist on the
// server. Checks the opened file on the server (File::renew) and opens it again if it is gone. Access::create
// and fresh are allowed.
std::shared_ptr<File> open_at_server(Store& store, const std::string& path, Access access, Name name,
                                     std::chrono::milliseconds patience = patience_with_names);

}  // namespace sheaf
