// api/posix/real: the functions of the C library that ours stand before, found when they are first needed. A
// preload may be called before any constructor has run, from other libraries' constructors, so everything
// here is constant-initialized and takes no lock.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>

namespace sheaf::posix {

// The function of that name behind ours; aborts with a message if there is none, which is a broken C library.
void* next_function(const char* name) noexcept;
// The same; null if there is none, for calls that only some C libraries have.
void* find_next(const char* name) noexcept;

template <class Signature>
class Real;

template <class Result, class... Arguments>
class Real<Result(Arguments...)> {
 public:
  constexpr explicit Real(const char* name) : name_(name) {}
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;

  Result operator()(Arguments... arguments) const { return function()(arguments...); }
  Result (*function() const)(Arguments...) {
    void* found = at_.load(std::memory_order_relaxed);
    if (!found) at_.store(found = next_function(name_), std::memory_order_relaxed);
    return reinterpret_cast<Result (*)(Arguments...)>(found);
  }

 private:
  const char* const name_;
  mutable std::atomic<void*> at_{nullptr};
};

// What this library itself asks the system for; a file of entry points has more of its own.
namespace real {
inline constinit Real<int(const char*, int, mode_t)> open{"open64"};
inline constinit Real<int(int, const char*, int, mode_t)> openat{"openat64"};
inline constinit Real<int(int)> close{"close"};
inline constinit Real<ssize_t(int, void*, size_t)> read{"read"};
inline constinit Real<ssize_t(int, const void*, size_t)> write{"write"};
inline constinit Real<off64_t(int, off64_t, int)> lseek{"lseek64"};
inline constinit Real<int(int, int, long)> fcntl{"fcntl64"};
inline constinit Real<int(int, int)> dup2{"dup2"};
inline constinit Real<int(int, int, int)> dup3{"dup3"};
inline constinit Real<ssize_t(const char*, char*, size_t)> readlink{"readlink"};
inline constinit Real<int(const char*)> unlink{"unlink"};
inline constinit Real<int(const char*, const char*)> rename{"rename"};
}  // namespace real

// Defines the exported function `name` of the C library under a name of our own, so that it meets no
// declaration of a header.
#define SHEAF_ENTRY(result, name, ...)                                                                 \
  extern "C" __attribute__((visibility("default"))) result sheaf_posix_##name(__VA_ARGS__) asm(#name); \
  extern "C" result sheaf_posix_##name(__VA_ARGS__)

// The same with a second name that the C library has for it, as that for offsets of 64 bits, which all have.
#define SHEAF_ENTRY_AND(result, name, twin, ...)                  \
  extern "C" __attribute__((visibility("default"), alias(#name))) \
  result sheaf_posix_##twin(__VA_ARGS__) asm(#twin);              \
  SHEAF_ENTRY(result, name, __VA_ARGS__)

// One more name for an entry point above.
#define SHEAF_ALSO(name, other)                    \
  extern "C" __attribute__((visibility("default"), \
                            alias(#name))) decltype(sheaf_posix_##name) sheaf_posix_##other asm(#other)

}  // namespace sheaf::posix
