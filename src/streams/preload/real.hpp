// streams/preload/real: the C library functions that our entry points replace. Each is looked up on first
// use. Constructors of other libraries may call a preloaded library before its own constructors have run.
// Therefore all objects of this file are constant-initialized, and no function takes a lock.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>

#include "base/non_copyable.hpp"

namespace sheaf::preload {

// Returns the function `name` that follows ours in lookup order. Aborts with a message if none exists,
// because the process cannot work without it.
void* next_function(const char* name) noexcept;

template <class Signature>
class Real;

template <class Result, class... Arguments>
class Real<Result(Arguments...)> : private NonCopyable {
 public:
  constexpr explicit Real(const char* name) : name_(name) {}

  Result operator()(Arguments... arguments) const { return function()(arguments...); }
  // Returns a function without parameters that calls this one with `arguments`.
  auto with(Arguments... arguments) const {
    return [this, arguments...] { return (*this)(arguments...); };
  }
  Result (*function() const)(Arguments...) {
    void* found = at_.load(std::memory_order_relaxed);
    if (!found) at_.store(found = next_function(name_), std::memory_order_relaxed);
    return reinterpret_cast<Result (*)(Arguments...)>(found);
  }

 private:
  const char* const name_;
  mutable std::atomic<void*> at_{nullptr};
};

// Functions that this library calls for itself. Each file of entry points defines the others that it forwards
// to, most of them by SHEAF_REPLACED.
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

// The name of a descriptor of this process in /proc, for readlink and open.
struct DescriptorPath {
  explicit DescriptorPath(int fd) noexcept { snprintf(text, sizeof text, "/proc/self/fd/%d", fd); }
  char text[40];
};

// Defines the exported C library function `name` under an internal name, so that it cannot conflict with a
// declaration in a header.
#define SHEAF_ENTRY(result, name, ...)                                                                 \
  extern "C" __attribute__((visibility("default"))) result sheaf_posix_##name(__VA_ARGS__) asm(#name); \
  extern "C" result sheaf_posix_##name(__VA_ARGS__)

// Like SHEAF_ENTRY, with a second C library name for the same function, such as the one for 64-bit offsets.
// The two names are equivalent because this library is compiled with 64-bit offsets.
#define SHEAF_ENTRY_AND(result, name, twin, ...)                  \
  extern "C" __attribute__((visibility("default"), alias(#name))) \
  result sheaf_posix_##twin(__VA_ARGS__) asm(#twin);              \
  SHEAF_ENTRY(result, name, __VA_ARGS__)

// Like SHEAF_ENTRY, and defines next::name, the function of the C library that the entry point replaces.
#define SHEAF_REPLACED(result, name, ...)          \
  namespace {                                      \
  namespace next {                                 \
  constinit Real<result(__VA_ARGS__)> name{#name}; \
  }                                                \
  }                                                \
  SHEAF_ENTRY(result, name, __VA_ARGS__)

// Like SHEAF_ENTRY_AND, and defines next::name, the function of the C library with 64-bit offsets that the
// entry point replaces; `twin` is its name.
#define SHEAF_REPLACED_AND(result, name, twin, ...) \
  namespace {                                       \
  namespace next {                                  \
  constinit Real<result(__VA_ARGS__)> name{#twin};  \
  }                                                 \
  }                                                 \
  SHEAF_ENTRY_AND(result, name, twin, __VA_ARGS__)

// Body of a variadic function: calls `call` with the list of arguments after `last`.
#define SHEAF_WITH_ARGUMENTS(last, call) \
  va_list arguments;                     \
  va_start(arguments, last);             \
  const int result = call;               \
  va_end(arguments);                     \
  return result

// Adds another name for an entry point defined above.
#define SHEAF_ALSO(name, other)                    \
  extern "C" __attribute__((visibility("default"), \
                            alias(#name))) decltype(sheaf_posix_##name) sheaf_posix_##other asm(#other)

}  // namespace sheaf::preload
