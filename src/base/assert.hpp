// base/assert: assertions of preconditions and invariants inside the library.
//
// A failed assertion is a bug of Sheaf. Conditions that the arguments of a program, the content of a file or
// the operating system can violate must not be asserted; they throw an Error (base/error.hpp).
#pragma once

#include <type_traits>

#include "base/export.hpp"

namespace sheaf {

// True if this build checks debug assertions (CMake option SHEAF_DEBUG_ASSERTIONS).
SHEAF_EXPORT extern const bool debug_assertions;

// Prints "sheaf: assertion failed: <condition>, <file>:<line> (<function>)" to standard error and aborts the
// process. May be called in a signal handler.
[[noreturn, gnu::cold, gnu::noinline]] SHEAF_EXPORT void assertion_failed(const char* condition,
                                                                          const char* file, int line,
                                                                          const char* function) noexcept;

}  // namespace sheaf

// Aborts the process if the condition is false. Every build evaluates it, so it must cost little compared
// with the function that it guards.
#define SHEAF_ASSERT(...)               \
  (__builtin_expect(!!(__VA_ARGS__), 1) \
       ? static_cast<void>(0)           \
       : ::sheaf::assertion_failed(#__VA_ARGS__, __FILE__, __LINE__, static_cast<const char*>(__func__)))

// Like SHEAF_ASSERT, for conditions that are costly or on a hot path. Evaluated only if debug_assertions is
// set, and not in constant expressions.
#define SHEAF_DEBUG_ASSERT(...)                                                      \
  (std::is_constant_evaluated() || !::sheaf::debug_assertions ? static_cast<void>(0) \
                                                              : SHEAF_ASSERT(__VA_ARGS__))
