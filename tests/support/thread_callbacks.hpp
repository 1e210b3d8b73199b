// thread_callbacks: callbacks of the generic interface over plain pthreads, as a program might write them. On
// request, one of their calls fails.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sion.h"

namespace sheaf::test {

// State shared by the tasks of a group.
struct PthreadGroup {
  explicit PthreadGroup(int tasks) : size(tasks), places(static_cast<size_t>(tasks)), offers(places.size()) {
    pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(tasks));
  }
  ~PthreadGroup() { pthread_barrier_destroy(&barrier); }
  int size;
  pthread_barrier_t barrier;
  std::vector<void*> places;               // address that each task offers
  std::vector<std::atomic<void*>> offers;  // element i: address offered to task i alone
  std::map<int, std::shared_ptr<PthreadGroup>> made;
  std::mutex mutex;
};

// A task's end of a group: the `void*` argument of the callbacks.
struct PthreadEnd {
  std::shared_ptr<PthreadGroup> group;
  int rank = 0;
  // Number of this task's call that returns `result` after its work; -1: none. Either the calls of one
  // callback count, or those of all.
  int fail_at = -1;
  std::string fail_in = {};
  int result = 7;
  int calls = 0;
  std::map<std::string, int> count = {};
  int* freed = nullptr;
};

inline int outcome_of(PthreadEnd* end, const char* callback) {
  ++end->count[callback];
  if (!end->fail_in.empty() && end->fail_in != callback) return 0;
  return end->calls++ == end->fail_at ? end->result : 0;
}

// Returns the bytes of `n` elements. Aborts unless `dtype` is a type of numbers, because existing programs
// pass only these.
inline size_t bytes_of(int dtype, int64_t n) {
  if (dtype != _SION_INT64 && dtype != _SION_INT32) std::abort();
  return static_cast<size_t>(n) * (dtype == _SION_INT64 ? 8u : 4u);
}

inline void wait_for_all(PthreadEnd* end) { pthread_barrier_wait(&end->group->barrier); }

inline void copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

inline int pt_barrier(void* cg) {
  auto* end = static_cast<PthreadEnd*>(cg);
  wait_for_all(end);
  return outcome_of(end, "barrier");
}

inline int pt_bcastr(void* data, void* cg, int dtype, int n, int root) {
  auto* end = static_cast<PthreadEnd*>(cg);
  if (end->rank == root) end->group->places[0] = data;
  wait_for_all(end);
  copy(data, end->group->places[0], bytes_of(dtype, n));
  wait_for_all(end);
  return outcome_of(end, "bcastr");
}

// Copies piece r, of n elements, between the root's joined memory and task r's memory. `gather` selects the
// direction.
inline void pt_move(PthreadEnd* end, void* own, void* joined, int dtype, int n, int root, bool gather) {
  end->group->places[static_cast<size_t>(end->rank)] = own;
  wait_for_all(end);
  if (end->rank == root) {
    char* next = static_cast<char*>(joined);
    for (int r = 0; r < end->group->size; ++r) {
      const size_t bytes = bytes_of(dtype, n);
      void* const other = end->group->places[static_cast<size_t>(r)];
      gather ? copy(next, other, bytes) : copy(other, next, bytes);
      next += bytes;
    }
  }
  wait_for_all(end);
}

inline int pt_gatherr(void* in, void* out, void* cg, int dtype, int n, int root) {
  auto* end = static_cast<PthreadEnd*>(cg);
  pt_move(end, in, out, dtype, n, root, true);
  return outcome_of(end, "gatherr");
}
// These callbacks are never called for existing programs.
inline int pt_gathervr(void*, void*, void*, int, int*, int, int) { std::abort(); }
inline int pt_scattervr(void*, void*, void*, int, int*, int, int) { std::abort(); }
inline int pt_scatterr(void* in, void* out, void* cg, int dtype, int n, int root) {
  auto* end = static_cast<PthreadEnd*>(cg);
  pt_move(end, out, in, dtype, n, root, false);
  return outcome_of(end, "scatterr");
}
inline int pt_allgather(const void* mine, void* all, void* cg, long long nbytes) {
  auto* end = static_cast<PthreadEnd*>(cg);
  end->group->places[static_cast<size_t>(end->rank)] = const_cast<void*>(mine);
  wait_for_all(end);
  for (int r = 0; r < end->group->size; ++r)
    copy(static_cast<char*>(all) + r * nbytes, end->group->places[static_cast<size_t>(r)],
         static_cast<size_t>(nbytes));
  wait_for_all(end);
  return outcome_of(end, "allgather");
}
inline int pt_create(void** lcg, void* gcg, int, int, int lrank, int lsize, int filenumber, int) {
  auto* end = static_cast<PthreadEnd*>(gcg);
  {
    const std::lock_guard lock(end->group->mutex);
    auto& made = end->group->made[filenumber];
    if (!made) made = std::make_shared<PthreadGroup>(lsize);
    *lcg = new PthreadEnd{made, lrank, -1, {}, 7, 0, {}, end->freed};
  }
  wait_for_all(end);
  if (end->rank == 0) end->group->made.clear();
  wait_for_all(end);
  const int result = outcome_of(end, "create");
  if (result) delete static_cast<PthreadEnd*>(*lcg);
  return result;
}

inline int pt_free(void* lcg) {
  auto* end = static_cast<PthreadEnd*>(lcg);
  if (end->freed) ++*end->freed;
  delete end;
  return 0;
}

// Registers a new API of the generic interface with all callbacks and returns its number.
inline int pt_api() {
  char name[] = "pthreads";
  const int aid = sion_generic_create_api(name);
  sion_generic_register_create_local_commgroup_cb(aid, pt_create);
  sion_generic_register_free_local_commgroup_cb(aid, pt_free);
  sion_generic_register_barrier_cb(aid, pt_barrier);
  sion_generic_register_bcastr_cb(aid, pt_bcastr);
  sion_generic_register_gatherr_cb(aid, pt_gatherr);
  sion_generic_register_gathervr_cb(aid, pt_gathervr);
  sion_generic_register_scatterr_cb(aid, pt_scatterr);
  sion_generic_register_scattervr_cb(aid, pt_scattervr);
  return aid;
}

}  // namespace sheaf::test
