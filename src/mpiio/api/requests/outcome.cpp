#include "mpiio/api/requests/outcome.hpp"

#include <array>
#include <mutex>
#include <unordered_map>

#include "mpiio/api/errors.hpp"

namespace sheaf::mpiio {
namespace {

// Converts a request, which is a number or an address, to a number.
uint64_t number_of(MPI_Request request) { return (uint64_t)request; }

// The table of watched requests. Most requests that are looked up are not watched. Therefore each group of
// request numbers has a counter of its watched requests; if it is 0, a lookup needs no lock.
struct WatchedRequests {
  static constexpr size_t groups = 1024;
  static constexpr int group_bits = 10;
  static_assert(groups == size_t{1} << group_bits);

  std::atomic<uint32_t>& group(MPI_Request request) {
    constexpr uint64_t golden = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
    return counts[(number_of(request) * golden) >> (64 - group_bits)];
  }

  std::array<std::atomic<uint32_t>, groups> counts{};
  std::mutex mutex;
  std::unordered_map<uint64_t, SharedOutcome> outcomes;
};

WatchedRequests& watched() {
  static auto* const all = new WatchedRequests;  // requests may complete while the process ends
  return *all;
}

}  // namespace

int RequestOutcome::deliver() const {
  if (result == MPI_SUCCESS) return MPI_SUCCESS;
  remember_message(message, result);
  const FilePointer open = file.lock();
  return open ? open->errors.call(open->handle(), result, message.c_str())
              : default_errhandling().call(MPI_FILE_NULL, result, message.c_str());
}

void watch(const SharedOutcome& outcome) {
  WatchedRequests& all = watched();
  const std::scoped_lock lock(all.mutex);
  all.outcomes[number_of(outcome->request)] = outcome;
  ++all.group(outcome->request);
  ++watched_requests;
}

void no_longer_watch(const RequestOutcome& outcome) {
  WatchedRequests& all = watched();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.outcomes.find(number_of(outcome.request));
  if (found == all.outcomes.end() || found->second.get() != &outcome) return;
  all.outcomes.erase(found);
  --all.group(outcome.request);
  --watched_requests;
}

SharedOutcome find_outcome(MPI_Request request) {
  WatchedRequests& all = watched();
  if (all.group(request).load(std::memory_order_relaxed) == 0) return nullptr;
  const std::scoped_lock lock(all.mutex);
  const auto found = all.outcomes.find(number_of(request));
  return found == all.outcomes.end() ? nullptr : found->second;
}

}  // namespace sheaf::mpiio
