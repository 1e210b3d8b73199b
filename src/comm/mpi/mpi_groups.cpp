#include "comm/mpi/mpi_groups.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.hpp"
#include "base/non_copyable.hpp"
#include "comm/mpi/mpi_calls.hpp"
#include "comm/reduce.hpp"

namespace sheaf {
namespace {

class MpiGroup : private NonCopyable {
 public:
  explicit MpiGroup(MPI_Comm comm) { MPI_Comm_group(comm, &group_); }
  ~MpiGroup() { MPI_Group_free(&group_); }
  operator MPI_Group() const { return group_; }

 private:
  MPI_Group group_ = MPI_GROUP_NULL;
};

struct MembersDigest {
  int64_t hash = 0;     // hash of the ranks in `whole`; 40 bits, so that a million can be added
  int64_t outside = 0;  // members that are not in `whole`
  constexpr void combine(auto& by) { by.sum(hash).sum(outside); }
};

MembersDigest members_of(MPI_Comm part, MPI_Comm whole, int size) {
  const MpiGroup group(part);
  const MpiGroup all(whole);
  MembersDigest found;
  uint64_t hash = 0;
  std::array<int, 1024> ranks;
  std::array<int, 1024> translated;
  for (int first = 0; first < size; first += static_cast<int>(ranks.size())) {
    const int count = std::min(size - first, static_cast<int>(ranks.size()));
    std::iota(ranks.begin(), ranks.begin() + count, first);
    MPI_Group_translate_ranks(group, count, ranks.data(), all, translated.data());
    found.outside += std::count(translated.begin(), translated.begin() + count, MPI_UNDEFINED);
    hash = XXH3_64bits_withSeed(translated.data(), sizeof(int) * static_cast<size_t>(count), hash);
  }
  found.hash = static_cast<int64_t>(hash >> 24) | 1;
  return found;
}

}  // namespace

void check_partition(Comm& comm, MPI_Comm whole, MPI_Comm part) {
  // Every member of a group adds its hash; the first member subtracts it once per member of the group. The
  // sum is 0 only if, for every group, exactly its members have passed it as `part`. `outside` counts tasks.
  MembersDigest sums;
  if (part != MPI_COMM_NULL) {
    const int size = mpi::size_of(part);
    const MembersDigest mine = members_of(part, whole, size);
    sums = {mine.hash - (mpi::rank_in(part) == 0 ? size * mine.hash : 0), mine.outside > 0};
  }
  reduce(comm, sums);
  if (sums.outside != 0)
    throw Error(Code::mismatch, "the local communicators of " + std::to_string(sums.outside) +
                                    " tasks reach beyond the global one; each must be a part of it");
  if (sums.hash != 0)
    throw Error(
        Code::mismatch,
        "the local communicators are no partition of the global one: a task is in the communicator of "
        "another, but has named a different one");
}

}  // namespace sheaf
