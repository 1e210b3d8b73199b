// api/sion/array_out: arrays that an open returns to its caller.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/non_copyable.hpp"

namespace sheaf::api {

// An output array with three cases. If `to` is null, no array is returned. If *to is set, the caller's array
// is filled. If *to is null, the object allocates an array with malloc, which give() hands to the caller
// after all steps of the open have succeeded.
template <class T>
class ArrayOut : private NonCopyable {
 public:
  ArrayOut(T** to, size_t count) : to_(to) {
    if (!to_ || *to_) return;
    made_ = static_cast<T*>(std::malloc(sizeof(T) * std::max<size_t>(count, 1)));
    if (!made_) throw std::bad_alloc();
  }
  ~ArrayOut() { std::free(made_); }
  void set(size_t i, int64_t value) {
    if (to_) (made_ ? made_ : *to_)[i] = static_cast<T>(value);
  }
  void give() {
    if (made_) *to_ = std::exchange(made_, nullptr);
  }

 private:
  T** to_;
  T* made_ = nullptr;
};

}  // namespace sheaf::api
