#include "comm/mpi/mpi_comm.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"
#include "base/non_copyable.hpp"
#include "comm/collective_call.hpp"
#include "comm/helpers.hpp"
#include "comm/mpi/constants.hpp"
#include "comm/mpi/mpi_calls.hpp"
#include "comm/mpi/mpi_comm_cache.hpp"
#include "comm/mpi/mpi_exchange.hpp"
#include "comm/mpi/mpi_presence.hpp"
#include "comm/mpi/mpi_shared_memory.hpp"
#include "comm/mpi/mpi_split_cache.hpp"
#include "comm/mpi/mpi_timeout.hpp"
#include "comm/reduce.hpp"

namespace sheaf {
namespace {

using mpi::check;
using mpi::with_retries;

// State that a Comm shares with the groups split from it on the same task.
struct Family : private NonCopyable {
  Family(MPI_Comm program_comm, int largest_message)
      : program(program_comm),
        cache(mpi::CommCache::of(program)),
        number(mpi::rank_in(program)),
        largest(largest_message) {}
  ~Family() {
    if (spare.comm != MPI_COMM_NULL) cache->give_back(spare);
  }

  const MPI_Comm program;  // passed to mpi_comm()
  std::shared_ptr<mpi::CommCache> cache;
  mpi::CommCache::Spare spare;  // communicator of the first group; null before its first collective call
  const int number;             // rank in `program`
  const int largest;            // maximum bytes per message
  // Tasks per host requested by SHEAF_TOPOLOGY of rank 0. 0: not set; -1: not a number.
  int per_node = 0;
};

// Returns the tasks per node of SHEAF_TOPOLOGY; 0: not set, -1: not a number.
int given_topology() {
  try {
    return topology_by_hand();
  } catch (const Error&) {
    return -1;
  }
}

// Fields of the first reduction of a group, besides the values of the caller.
struct FirstFacts {
  mpi::CommCache::TakenFlags taken{};
  bool outside_world = false;    // a task cannot use the cache of MPI_COMM_WORLD
  int64_t per_node = INT64_MIN;  // given_topology() of rank 0
  constexpr void combine(auto& by) { by.max(taken).any(outside_world).max(per_node); }
};

bool is_initialized() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  return initialized != 0;
}

JobEnd job_end_of(int rank, int size) {
  if (size == 1) return {};
  return {.now = [] { MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE); }, .task = rank};
}

class MpiComm final : public Comm, private NonCopyable {
 public:
  // If `part` >= 0, `comm` is the cached part `part` of `from`, and the destructor returns it to `from`.
  // Otherwise the destructor frees `comm`. `on_node` is true if all tasks are on one host.
  MpiComm(MPI_Comm comm, std::shared_ptr<Family> family, mpi::SplitCommCache* from, int part, bool on_node)
      : comm_(comm),
        on_node_(on_node),
        part_(static_cast<int8_t>(part)),
        family_(std::move(family)),
        from_(part < 0 ? nullptr : from),
        rank_(mpi::rank_in(comm)),
        size_(mpi::size_of(comm)) {}

  // Creates the first group of a family. Its first collective call acquires a communicator, which the family
  // owns.
  explicit MpiComm(std::shared_ptr<Family> family)
      : first_(true),
        family_(std::move(family)),
        rank_(family_->number),
        size_(mpi::size_of(family_->program)) {}

  ~MpiComm() override {
    if (from_) {
      from_->give_back(part_);
    } else if (!first_) {
      mpi::free_own(comm_);
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void barrier() override {
    if (mpi::MpiBarrier* tasks = host_barrier()) return tasks->barrier();
    with_retries("MPI_Ibarrier", [&](MPI_Request* request) { return MPI_Ibarrier(comm(), request); });
  }

  void broadcast(std::span<std::byte> data, int root) override {
    check_root(root, size_);
    if (mpi::MpiBarrier* tasks = host_barrier(); tasks && tasks->broadcast(data, root)) return;
    mpi::in_parts(data, largest(), [&](std::span<std::byte> part) {
      with_retries("MPI_Ibcast", [&](MPI_Request* request) {
        return MPI_Ibcast(part.data(), static_cast<int>(part.size()), MPI_BYTE, root, comm(), request);
      });
    });
  }

  void reduce(Reduction how, std::span<int64_t> values) override {
    if (how == Reduction::max && comm_ == MPI_COMM_NULL && values.size() <= mpi::max_on_first_barrier)
      return first_reduction(values);
    if (mpi::MpiBarrier* tasks = host_barrier(); tasks && tasks->reduce(how, values)) return;
    if (mpi::HostsReduction* hosts = first_ ? family_->spare.hosts.get() : nullptr;
        hosts && hosts->reduce(how, values))
      return;
    mpi::reduce_by_messages(comm(), how, values, largest());
  }

  void prefix_sum_and_total(std::span<int64_t> values, std::span<int64_t> totals) override {
    if (mpi::MpiBarrier* tasks = host_barrier(); tasks && tasks->prefix_sum_and_total(values, totals)) return;
    Comm::prefix_sum_and_total(values, totals);
  }

  void reduce_by(ReductionMethod method, Reduction how, std::span<int64_t> values) override {
    if (method == ReductionMethod::hosts) return reduce(how, values);
    collective_call(job_end(), "reduction",
                    [&] { mpi::reduce_by_collective(comm(), method, how, values, largest()); });
  }

  Gathered gather(std::span<const std::byte> mine, int root) override {
    check_root(root, size_);
    return collective_call(job_end(), "gather", [&] {
      Gathered all;
      mpi::MpiBarrier* const tasks = host_barrier();
      if (!tasks || !tasks->gather(mine, all, root)) mpi::gather_pieces(comm(), mine, all, root, largest());
      return all;
    });
  }

  std::vector<std::byte> scatter(const Gathered& pieces, int root) override {
    check_root(root, size_);
    return collective_call(job_end(), "scatter", [&] {
      // The root reports inconsistent pieces to all tasks as length -1, so that every task throws and none
      // waits for it.
      Gathered refusal;
      if (rank_ == root && !is_consistent(pieces, size_))
        refusal.sizes.assign(static_cast<size_t>(size_), -1);
      const Gathered& given = refusal.sizes.empty() ? pieces : refusal;
      std::vector<std::byte> mine;
      int64_t length = 0;
      mpi::MpiBarrier* const tasks = host_barrier();
      if (!tasks || !tasks->scatter(given, length, mine, root))
        length = mpi::scatter_pieces(comm(), given, mine, root, largest());
      if (length < 0) throw Error(Code::invalid_argument, "the pieces to scatter do not match their sizes");
      return mine;
    });
  }

  void scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root) override {
    check_root(root, size_);
    if (rank_ == root) check_equal_pieces(pieces.size(), mine.size(), size_);
    if (mpi::MpiBarrier* tasks = host_barrier(); tasks && tasks->scatter_equal(pieces, mine, root)) return;
    if (mine.size() > INT_MAX) throw Error(Code::invalid_argument, "equal pieces may have 2 GiB at most");
    const auto length = static_cast<int>(mine.size());
    with_retries("MPI_Iscatter", [&](MPI_Request* request) {
      return MPI_Iscatter(pieces.data(), length, MPI_BYTE, mine.data(), length, MPI_BYTE, root, comm(),
                          request);
    });
  }

  Presence wait_for_all(bool ready, std::chrono::milliseconds timeout) override {
    return comm_ == MPI_COMM_NULL ? Presence::unknown : mpi::wait_for_all(comm_, ready, timeout);
  }

  std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing,
                                     std::vector<Incoming> incoming) override {
    check_exchange(outgoing, incoming, size_);
    return collective_call(job_end(), "exchange", [&] {
      return mpi::start_exchange(comm(), mpi::exchange_tag, outgoing, incoming);
    });
  }

  std::unique_ptr<Exchanger> exchanger(ExchangeMethod method, std::span<const int> peers,
                                       int64_t largest_exchange) override {
    if (method == ExchangeMethod::messages) return Comm::exchanger(method, peers, largest_exchange);
    return collective_call(job_end(), "exchanger", [&] {
      return mpi::make_exchanger(comm(), method, peers, largest_exchange, largest());
    });
  }

  std::unique_ptr<Comm> split(int color, int key) override {
    return part({mpi::SplitCommCache::How::split, color, key});
  }

  std::unique_ptr<Comm> duplicate() override { return part({mpi::SplitCommCache::How::duplicate, 0, 0}); }

  std::unique_ptr<Comm> split_by_node() override {
    if (const int per_node = tasks_per_node_by_hand())
      return part({mpi::SplitCommCache::How::split, family_->number / per_node, rank_}, true);
    return part({mpi::SplitCommCache::How::shared_memory, 0, rank_}, true);
  }

  JobEnd job_end() const override { return job_end_of(rank_, size_); }

  int node_count() override {
    if (on_node_) return 1;
    if (!first_) return Comm::node_count();
    if (const int per_node = tasks_per_node_by_hand()) return (size_ + per_node - 1) / per_node;
    return family_->cache->nodes;
  }

  // Shares memory only within one host. Groups defined by SHEAF_TOPOLOGY=node=K stand for several hosts, so
  // they share no memory with each other.
  std::shared_ptr<SharedMemory> share_memory(size_t bytes) override {
    if (node_count() > 1) return nullptr;
    std::shared_ptr<SharedMemory> none;
    std::shared_ptr<SharedMemory>& kept = first_ ? family_->spare.memory : none;
    if (kept && kept->bytes().size() >= bytes) {
      kept->give_again();
    } else {
      kept = mpi::share_memory(comm(), bytes);
    }
    return kept;
  }

 private:
  // Returns the communicator of this group.
  MPI_Comm comm() {
    if (comm_ == MPI_COMM_NULL) first_reduction({});
    return comm_;
  }

  // Returns the barrier for small contributions, or null if they must be sent as messages.
  mpi::MpiBarrier* host_barrier() {
    if (!first_) return nullptr;
    comm();  // makes the first reduction
    return family_->spare.barrier.get();
  }

  size_t largest() const { return static_cast<size_t>(family_->largest); }

  // Makes the only collective call on the program's communicator, one reduction. It determines which
  // duplicates are free on all tasks, whether all tasks can use the cache of MPI_COMM_WORLD, and the topology
  // set on rank 0. The same reduction computes the maxima of `values` for the caller.
  void first_reduction(std::span<int64_t> values) {
    constexpr size_t own = FieldWords::of<FirstFacts>().count();
    const auto world = family_->cache->in_use() ? nullptr : mpi::CommCache::of_world(family_->program);
    FirstFacts facts{(world ? world : family_->cache)->offer(), !world};
    if (rank_ == 0) facts.per_node = given_topology();
    std::array<int64_t, own + mpi::max_on_first_barrier> words;
    std::ranges::copy(values, words.begin() + own);
    as_words<FirstFacts>(std::span(&facts, 1), std::span(words).first(own), [&](auto) {
      const auto used = std::span(words).first(own + values.size());
      mpi::MpiBarrier* const tasks = family_->cache->barrier.get();
      if (!tasks || !tasks->reduce(Reduction::max, used))
        mpi::reduce_by_messages(family_->program, Reduction::max, used, largest());
    });
    std::ranges::copy_n(words.begin() + own, std::ssize(values), values.begin());
    family_->per_node = static_cast<int>(facts.per_node);
    if (!facts.outside_world) {
      mpi::CommCache::join(family_->program, world);
      family_->cache = world;
    } else if (world) {
      facts.taken.fill(true);  // no duplicate matches: some tasks offered those of MPI_COMM_WORLD
    }
    family_->spare = family_->cache->take(family_->program, facts.taken);
    comm_ = family_->spare.comm;
    if (family_->cache->nodes == 0) family_->cache->nodes = count_nodes();
  }

  // Counts the hosts by shared memory, regardless of SHEAF_TOPOLOGY.
  int count_nodes() {
    if (size_ == 1 || family_->cache->barrier) return 1;
    const auto node = part({mpi::SplitCommCache::How::shared_memory, 0, rank_}, true);
    if (node->size() == size_) return 1;
    int64_t first = node->rank() == 0;
    all_sum(std::span(&first, 1));
    return static_cast<int>(first);
  }

  // Returns the cache of groups split from this one; null if they cannot be cached.
  mpi::SplitCommCache* parts() const {
    if (first_) return family_->spare.parts.get();
    return from_ ? &from_->of(part_) : nullptr;
  }

  // Returns the group that `request` describes: a cached one of an earlier open, or a new one.
  std::unique_ptr<Comm> part(const mpi::SplitCommCache::SplitCommRequest& request, bool on_node = false) {
    return collective_call(job_end(), "split", [&]() -> std::unique_ptr<Comm> {
      const MPI_Comm own = comm();
      mpi::SplitCommCache* const kept = parts();
      mpi::SplitCommCache::SplitOffer offer;
      int number = -1;
      if (kept && !kept->empty()) {
        offer = kept->offer(request);
        sheaf::reduce(*this, offer);
        number = kept->take(offer);
      }
      MPI_Comm found = MPI_COMM_NULL;
      if (number >= 0) {
        found = kept->comm(number);
      } else {
        found = mpi::SplitCommCache::make(own, request);
        if (kept) number = kept->keep(request, found, offer);
      }
      if (found == MPI_COMM_NULL) return nullptr;
      return std::make_unique<MpiComm>(found, family_, kept, number, on_node);
    });
  }

  int tasks_per_node_by_hand() {
    comm();  // makes the first reduction
    if (family_->per_node < 0)
      throw Error(Code::invalid_argument, "SHEAF_TOPOLOGY: the tasks per node must be a number > 0");
    return family_->per_node;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;  // null before the first collective call
  const bool first_ = false;
  const bool on_node_ = false;
  const int8_t part_ = -1;
  std::shared_ptr<Family> family_;
  mpi::SplitCommCache* const from_ = nullptr;  // null if the group is not cached
  const int rank_;
  const int size_;
};

static_assert(sizeof(MpiComm) <= 64, "one of these exists per task and group");

}  // namespace

std::unique_ptr<Comm> mpi_comm(MPI_Comm comm, int largest_message) {
  if (!is_initialized()) throw Error(Code::invalid_argument, "MPI_Init has not been called");
  if (comm == MPI_COMM_NULL) throw Error(Code::invalid_argument, "the global communicator is MPI_COMM_NULL");
  if (largest_message < 1) throw Error(Code::invalid_argument, "mpi_comm: messages need at least one byte");
  return std::make_unique<MpiComm>(std::make_shared<Family>(comm, largest_message));
}

JobEnd mpi_job_end(MPI_Comm comm) {
  return is_initialized() && comm != MPI_COMM_NULL ? job_end_of(mpi::rank_in(comm), mpi::size_of(comm))
                                                   : JobEnd();
}

}  // namespace sheaf
