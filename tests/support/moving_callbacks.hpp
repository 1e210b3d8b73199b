// moving_callbacks: data-moving callbacks of the generic interface over plain pthreads. The collector reads
// each sender's data from that sender's memory, in pieces of at most a block, as the interface specifies.
#pragma once

#include <algorithm>
#include <atomic>

#include "support/thread_callbacks.hpp"

namespace sheaf::test {

inline std::atomic<int> pieces_written{0};
inline std::atomic<int> pieces_read{0};
inline std::atomic<int> movers_called{0};
// Rank in the local group at which the mover returns a failure after its work; -1: none.
inline std::atomic<int> failing_mover{-1};

struct MoveOffer {
  void* data;
  sion_int64* spec;
  std::atomic<bool> done = false;
};

// Calls visit(offer) at the collector once per sender, while that sender waits. Groups of other collectors do
// not participate.
template <class Visit>
int pt_serve(void* lcg, void* data, sion_int64* spec, int collector, int first, int last, Visit visit) {
  auto* end = static_cast<PthreadEnd*>(lcg);
  auto& offers = end->group->offers;
  ++movers_called;
  int result = 0;
  if (end->rank == collector) {
    for (int sender = first; sender <= last; ++sender) {
      void* found = nullptr;
      while (!(found = offers[static_cast<size_t>(sender)].exchange(nullptr))) std::this_thread::yield();
      if (visit(*static_cast<MoveOffer*>(found)) != 0) result = 1;
      static_cast<MoveOffer*>(found)->done = true;
    }
  } else {
    MoveOffer mine{data, spec};
    offers[static_cast<size_t>(end->rank)] = &mine;
    while (!mine.done) std::this_thread::yield();
  }
  return end->rank == failing_mover ? 5 : result;
}

// Calls process(data, spec) for pieces of at most a block.
template <class Data, class Process>
int in_blocks(Data* data, const sion_int64* spec, sion_int64 block, Process process) {
  int result = 0;
  for (sion_int64 done = 0; done < spec[1];) {
    sion_int64 piece[2] = {spec[0] + done, std::min(block, spec[1] - done)};
    if (process(data + done, piece) != 0) result = 1;
    done += piece[1];
  }
  return result;
}

inline int pt_gather_and_execute(const void* data, sion_int64* spec, int length, sion_int64 block, void* lcg,
                                 int collector, int first, int last, int sid,
                                 int process(const void*, sion_int64*, int)) {
  if (length != 2 || block <= 0) return 9;
  return pt_serve(lcg, const_cast<void*>(data), spec, collector, first, last, [&](const MoveOffer& offer) {
    return in_blocks(static_cast<const char*>(offer.data), offer.spec, block,
                     [&](const char* at, sion_int64* piece) {
                       ++pieces_written;
                       return process(at, piece, sid);
                     });
  });
}

inline int pt_execute_and_scatter(void* data, sion_int64* spec, int length, sion_int64 block, void* lcg,
                                  int collector, int first, int last, int sid,
                                  int process(void*, sion_int64*, int)) {
  if (length != 2 || block <= 0) return 9;
  return pt_serve(lcg, data, spec, collector, first, last, [&](const MoveOffer& offer) {
    return in_blocks(static_cast<char*>(offer.data), offer.spec, block, [&](char* at, sion_int64* piece) {
      ++pieces_read;
      return process(at, piece, sid);
    });
  });
}

inline int pt_capability(void*) { return 50; }

}  // namespace sheaf::test
