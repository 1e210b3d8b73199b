// base/thread_value: per-thread values that are destroyed when the thread ends.
//
// A thread_local object with a destructor is registered at its first use in a thread. If the C library has no
// memory for that, it terminates the program. These values use a pthread key instead, because its functions
// report the lack of memory. Values of the main thread are never destroyed. A shared library with such values
// must be linked with -z nodelete: a thread that ends after a dlclose would otherwise call code that is
// unmapped.
#pragma once

#include <pthread.h>

#include <atomic>
#include <exception>

namespace sheaf {

// Holds a pointer per thread.
class ThreadKey {
 public:
  // When a thread with a pointer that is not null ends, the C library passes the pointer to `destroy`.
  constexpr explicit ThreadKey(void (*destroy)(void*)) noexcept : destroy_(destroy) {}
  ThreadKey(const ThreadKey&) = delete;
  ThreadKey& operator=(const ThreadKey&) = delete;
  // Does not destroy pointers that are still set. Other destructors of the program may run later and call
  // set(), which then creates a new key.
  ~ThreadKey() {
    if (const int key = key_.exchange(none); key != none)
      ::pthread_key_delete(static_cast<pthread_key_t>(key));
  }

  // Returns the pointer that this thread has set; null if it has set none.
  void* get() const noexcept {
    const int key = key_.load(std::memory_order_acquire);
    return key == none ? nullptr : ::pthread_getspecific(static_cast<pthread_key_t>(key));
  }

  // Sets this thread's pointer. Returns false, and changes nothing, if memory or the keys of the process are
  // exhausted.
  bool set(void* pointer) noexcept {
    int key = key_.load(std::memory_order_acquire);
    if (key == none) {
      pthread_key_t made = 0;
      if (::pthread_key_create(&made, destroy_) != 0) return false;
      if (key_.compare_exchange_strong(key, static_cast<int>(made))) {
        key = static_cast<int>(made);
      } else {
        ::pthread_key_delete(made);  // another thread has created the key
      }
    }
    return ::pthread_setspecific(static_cast<pthread_key_t>(key), pointer) == 0;
  }

 private:
  static constexpr int none = -1;

  void (*destroy_)(void*);
  std::atomic<int> key_{none};
};

// Holds a T per thread, created when the thread first calls get().
template <class T>
class ThreadValue {
 public:
  // Returns this thread's value; null if memory is exhausted.
  T* get() noexcept {
    if (T* const value = find()) return value;
    try {
      T* const value = new T;
      if (key_.set(value)) return value;
      delete value;
    } catch (const std::exception&) {
      return nullptr;
    }
    return nullptr;
  }

  // Returns null if this thread has no value yet.
  T* find() const noexcept { return static_cast<T*>(key_.get()); }

 private:
  ThreadKey key_{[](void* value) { delete static_cast<T*>(value); }};
};

}  // namespace sheaf
