// base/non_copyable: for classes whose objects stand for something that is there once.
#pragma once

#include "base/export.hpp"

namespace sheaf {

// Derived from it, a class can be neither copied nor moved.
class SHEAF_EXPORT NonCopyable {
 public:
  NonCopyable(const NonCopyable&) = delete;
  NonCopyable& operator=(const NonCopyable&) = delete;

 protected:
  NonCopyable() = default;
  ~NonCopyable() = default;
};

}  // namespace sheaf
