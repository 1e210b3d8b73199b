#include "comm_mpi/mpi_hosts.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "comm/agree.hpp"
#include "comm_mpi/mpi_calls.hpp"
#include "comm_mpi/mpi_parts.hpp"
#include "comm_mpi/mpi_patience.hpp"

namespace sheaf::mpi {

std::shared_ptr<HostsMeeting> HostsMeeting::make(MPI_Comm comm, int host) {
  const int rank = rank_in(comm);
  const auto how = host < 0 ? Parts::How::by_memory : Parts::How::split;
  const MPI_Comm tasks = Parts::make(comm, {how, std::max(host, 0), rank});
  const MPI_Comm firsts = Parts::make(comm, {Parts::How::split, rank_in(tasks) == 0 ? 0 : -1, rank});
  std::shared_ptr<HostsMeeting> made(new HostsMeeting(tasks, firsts));
  made->meeting_ = Meeting::several(tasks, 1).front();
  const bool alone = size_of(tasks) == 1;
  std::array<int64_t, 2> found{!alone, !alone && !made->meeting_};
  reduce_by_messages(comm, Reduction::max, found);
  if (found[0] != 0 && found[1] == 0) return made;
  made->free();
  return nullptr;
}

void HostsMeeting::free() {
  free_own(firsts_);
  free_own(host_);
}

bool HostsMeeting::reduce(Reduction how, std::span<int64_t> values) {
  std::array<int64_t, SharedMeeting::most_bytes / sizeof(int64_t)> told;  // values, and whether that failed
  if (values.size() >= told.size() || how == Reduction::sum_before) return false;
  if (meeting_) meeting_->reduce(how, values);
  std::optional<Error> problem;
  if (firsts_ != MPI_COMM_NULL) problem = attempt([&] { reduce_by_messages(firsts_, how, values); });
  if (meeting_) {
    const auto all = std::span(told).first(values.size() + 1);
    std::ranges::copy(values, all.begin());
    all.back() = problem.has_value();
    meeting_->broadcast(std::as_writable_bytes(all), 0);
    if (all.back() != 0 && !problem)
      problem = Error(Code::io, "the first task of this host could not reduce");
    std::ranges::copy(all.first(values.size()), values.begin());
  }
  if (problem) throw *problem;
  return true;
}

}  // namespace sheaf::mpi
