// storage/retries: retries calls with names on file systems that several hosts share. A host may not see for
// a while what another host has just created, removed or recreated. Its calls fail with ENOENT, with ESTALE,
// or with EEXIST although they allow an existing file.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/os/backoff.hpp"
#include "storage/constants.hpp"
#include "storage/file.hpp"

namespace sheaf {

// Timeout for names that another host has created, until this host sees them.
inline constexpr std::chrono::seconds name_timeout{5};
// Timeout for names that another file lists. It is short, because such a file may have been lost.
inline constexpr std::chrono::milliseconds member_timeout{100};
// Timeout for the creator of a file to write its first bytes. Then the waiting task writes them itself.
inline constexpr std::chrono::milliseconds creator_timeout{500};

// Calls attempt(last), the second time at once, then with a backoff, until it returns a file or the timeout
// expires. The final call gets last = true; with_retries() returns its result or throws its exception.
template <class Attempt>
std::shared_ptr<File> with_retries(std::chrono::milliseconds timeout, Attempt attempt) {
  const Deadline deadline(timeout);
  Backoff backoff(storage_constants::name_backoff);
  for (bool repeats_at_once = true;; repeats_at_once = false) {
    const bool last = deadline.expired();
    if (auto file = attempt(last); file || last) return file;
    if (!repeats_at_once) backoff.wait(deadline);
  }
}

// Opens a file that is known to exist because another task has opened it, or that several tasks may create at
// once (Access::create). Retries for at most `timeout` while the name is not yet visible. Throws the last
// error of Store::open.
std::shared_ptr<File> open_with_retries(Store& store, const std::string& path, Access access,
                                        std::chrono::milliseconds timeout = name_timeout);

// Prior knowledge about a name to be opened.
enum class NameExpectation : uint8_t {
  unverified,  // fails at once if it is missing or, for Access::fresh, if it exists
  existing,    // another task has opened it
};

// Like open_with_retries(), for hosts with separate caches, some of which open files that no longer exist on
// the server. Checks the opened file on the server (File::revalidate) and opens it again if it is gone.
// Access::create and fresh are allowed.
std::shared_ptr<File> open_revalidated(Store& store, const std::string& path, Access access,
                                       NameExpectation name,
                                       std::chrono::milliseconds timeout = name_timeout);

}  // namespace sheaf
