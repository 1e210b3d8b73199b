// base/non_copyable: base of classes that own a unique resource.
#pragma once

#include "base/export.hpp"

namespace sheaf {

// Makes derived classes neither copyable nor movable.
class SHEAF_EXPORT NonCopyable {
 public:
  NonCopyable(const NonCopyable&) = delete;
  NonCopyable& operator=(const NonCopyable&) = delete;

 protected:
  NonCopyable() = default;
  ~NonCopyable() = default;
};

}  // namespace sheaf
