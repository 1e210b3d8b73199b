// base/assert: assertions of preconditions and invariants inside the library.
//
// A failed assertion is a bug of Sheaf. Conditions that the arguments of a program, the content of a file or
// the operating system can violate are no assertions: they throw an Error (base/error.hpp).
#pragma once

#include "base/export.hpp"

namespace sheaf {

// Prints "sheaf: assertion failed: <condition>, <file>:<line> (<function>)" to standard error and aborts the
// process. May be called in a signal handler.
[[noreturn, gnu::cold, gnu::noinline]] SHEAF_EXPORT void assertion_failed(const char* condition,
                                                                          const char* file, int line,
                                                                          const char* function) noexcept;

}  // namespace sheaf

// Aborts the process unless the condition is true. Checked in every build, so the condition must be cheap
// compared with the call that it protects.
#define SHEAF_ASSERT(...)               \
  (__builtin_expect(!!(__VA_ARGS__), 1) \
       ? static_cast<void>(0)           \
       : ::sheaf::assertion_failed(#__VA_ARGS__, __FILE__, __LINE__, static_cast<const char*>(__func__)))

// The same for conditions that are costly or on a hot path. Checked only if the CMake option
// SHEAF_DEBUG_ASSERTIONS is set; always compiled.
#ifdef SHEAF_DEBUG_ASSERTIONS
#define SHEAF_DEBUG_ASSERT(...) SHEAF_ASSERT(__VA_ARGS__)
#else
#define SHEAF_DEBUG_ASSERT(...) static_cast<void>(true || (__VA_ARGS__))
#endif
