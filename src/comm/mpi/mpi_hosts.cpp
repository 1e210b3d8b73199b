#include "comm/mpi/mpi_hosts.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "comm/helpers.hpp"
#include "comm/mpi/constants.hpp"
#include "comm/mpi/mpi_calls.hpp"
#include "comm/mpi/mpi_split_cache.hpp"
#include "comm/mpi/mpi_timeout.hpp"
#include "comm/reduce.hpp"

namespace sheaf::mpi {
namespace {

struct HostsFound {
  bool several = false;  // a host has several tasks
  bool apart = false;    // a host has several tasks that cannot share memory
  constexpr void combine(auto& by) { by.any(several).any(apart); }
};

}  // namespace

void reduce_by_messages(MPI_Comm comm, Reduction how, std::span<int64_t> values, size_t largest) {
  const bool before = how == Reduction::exclusive_scan;
  in_parts(values, std::max<size_t>(1, largest / sizeof(int64_t)), [&](std::span<int64_t> part) {
    with_retries(before ? "MPI_Iexscan" : "MPI_Iallreduce", [&](MPI_Request* request) {
      return (before ? MPI_Iexscan : MPI_Iallreduce)(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()),
                                                     MPI_INT64_T, how == Reduction::max ? MPI_MAX : MPI_SUM,
                                                     comm, request);
    });
  });
  if (before && rank_in(comm) == 0) std::ranges::fill(values, 0);  // undefined after MPI_Exscan
}

void reduce_by_collective(MPI_Comm comm, ReductionMethod method, Reduction how, std::span<int64_t> values,
                          size_t largest) {
  SHEAF_ASSERT(method != ReductionMethod::hosts && how != Reduction::exclusive_scan);
  const auto tasks = static_cast<size_t>(size_of(comm));
  in_parts(values, std::max<size_t>(1, largest / sizeof(int64_t)), [&](std::span<int64_t> part) {
    const auto count = static_cast<int>(part.size());
    if (method == ReductionMethod::allreduce)
      return check(MPI_Allreduce(MPI_IN_PLACE, part.data(), count, MPI_INT64_T,
                                 how == Reduction::max ? MPI_MAX : MPI_SUM, comm),
                   "MPI_Allreduce");
    std::vector<int64_t> all(part.size() * tasks);
    check(MPI_Allgather(part.data(), count, MPI_INT64_T, all.data(), count, MPI_INT64_T, comm),
          "MPI_Allgather");
    combine_rows(how, all, part);
  });
}

void HostsReduction::free() { free_own(firsts_); }

void HostsReduction::find_hosts() {
  const int rank = rank_in(comm_);
  const auto how = host_ < 0 ? SplitCommCache::How::shared_memory : SplitCommCache::How::split;
  const MPI_Comm host = SplitCommCache::make(comm_, {how, std::max(host_, 0), rank});
  firsts_ = SplitCommCache::make(comm_, {SplitCommCache::How::split, rank_in(host) == 0 ? 0 : -1, rank});
  barrier_ = MpiBarrier::several(host, 1, comm_).front();
  const bool alone = size_of(host) == 1;
  HostsFound found{!alone, !alone && !barrier_};
  as_words(found, [&](auto all) { reduce_by_messages(comm_, Reduction::max, all); });
  meets_ = found.several && !found.apart;
  free_own(host);
}

bool HostsReduction::reduce(Reduction how, std::span<int64_t> values) {
  std::array<int64_t, ShmBarrier::max_bytes / sizeof(int64_t)> told;  // the values and a failure flag
  if (values.size() >= told.size() || how == Reduction::exclusive_scan) return false;
  if (calls_ < reductions_worth_hosts && ++calls_ == reductions_worth_hosts) find_hosts();
  if (!meets_) return false;
  if (barrier_) barrier_->reduce(how, values);
  std::optional<Error> problem;
  if (firsts_ != MPI_COMM_NULL) problem = attempt([&] { reduce_by_messages(firsts_, how, values); });
  if (barrier_) {
    const auto all = std::span(told).first(values.size() + 1);
    std::ranges::copy(values, all.begin());
    all.back() = problem.has_value();
    barrier_->broadcast(std::as_writable_bytes(all), 0);
    if (all.back() != 0 && !problem)
      problem = Error(Code::io, "a reduction failed; the first task of this host tells why");
    std::ranges::copy(all.first(values.size()), values.begin());
  }
  if (problem) throw *problem;
  return true;
}

}  // namespace sheaf::mpi
