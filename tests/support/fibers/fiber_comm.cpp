#include "support/fibers/fiber_comm.hpp"

#include <algorithm>
#include <string_view>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/helpers.hpp"
#include "comm/shared_memory.hpp"
#include "support/fibers/fiber_exchange.hpp"
#include "support/fibers/fiber_group.hpp"
#include "support/fibers/fiber_report.hpp"
#include "support/fibers/fiber_scheduler.hpp"

namespace sheaf {
namespace {

using namespace fibers;

thread_local Scheduler* current_scheduler = nullptr;

class FiberComm final : public Comm {
 public:
  // Adopts one reference to the group's family that the caller has already counted.
  FiberComm(FiberBarrierGroup& group, int rank, int task) : group_(&group), rank_(rank), task_(task) {}
  FiberComm(const FiberComm&) = delete;
  FiberComm& operator=(const FiberComm&) = delete;
  ~FiberComm() override { group_->family->release(); }

  int rank() const override { return rank_; }
  int size() const override { return group_->size; }

  void barrier() override {
    come({"barrier"}, 0);
    group_->complete_barrier([] {});
  }

  void broadcast(std::span<std::byte> data, int root) override {
    check_root(root, size());
    const bool is_root = rank_ == root;
    FiberSlot& slot = come({"broadcast", root, std::ssize(data)}, is_root ? data.size() : 0);
    if (is_root) {
      const Billing network(nobody);
      slot.bytes.assign(data.begin(), data.end());
    }
    group_->complete_barrier([] {});
    if (!is_root) std::ranges::copy(slot.bytes, data.begin());
  }

  void reduce(Reduction how, std::span<int64_t> values) override {
    if (how == Reduction::exclusive_scan) return prefixes(values);
    const bool largest = how == Reduction::max;
    FiberSlot& slot = post_contribution(largest ? "all_max" : "all_sum", values, largest);
    group_->complete_barrier([] {});
    std::ranges::copy(slot.values, values.begin());
  }

  void reduce_by(ReductionMethod method, Reduction how, std::span<int64_t> values) override {
    if (method == ReductionMethod::hosts) return reduce(how, values);
    const bool gathers = method == ReductionMethod::allgather;
    FiberSlot& slot = come({gathers ? "allgather" : "allreduce", how == Reduction::max, length_of(values)},
                           values.size_bytes());
    resize(slot.values, values.size() * static_cast<size_t>(size()));
    std::ranges::copy(values, slot.values.begin() + rank_ * std::ssize(values));
    group_->complete_barrier([] {});
    combine_rows(how, slot.values, values);
  }

  Gathered gather(std::span<const std::byte> mine, int root) override {
    check_root(root, size());
    FiberSlot& slot = come({"gather", root}, mine.size());
    FiberTask& offer = scheduler().task(task_);
    offer.data = mine.data();
    offer.length = std::ssize(mine);
    group_->complete_barrier([&] { join(slot.gathered, root); });
    return rank_ == root ? std::exchange(slot.gathered, {}) : Gathered();
  }

  std::vector<std::byte> scatter(const Gathered& pieces, int root) override {
    check_root(root, size());
    const bool is_root = rank_ == root;
    FiberSlot& slot = come({"scatter", root}, is_root ? pieces.bytes.size() : 0);
    if (is_root) {
      slot.pieces = is_consistent(pieces, size()) ? &pieces : nullptr;
      const Billing network(nobody);
      if (slot.pieces) slot.values = pieces.offsets();
    }
    group_->complete_barrier([&] { slot.readers = size(); });
    return take_piece(slot, root);
  }

  void scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root) override {
    check_root(root, size());
    const bool is_root = rank_ == root;
    if (is_root) check_equal_pieces(pieces.size(), mine.size(), size());
    FiberSlot& slot = come({"scatter_equal", root, std::ssize(mine)}, is_root ? pieces.size() : 0);
    if (is_root) {
      const Billing network(nobody);
      slot.bytes.assign(pieces.begin(), pieces.end());
    }
    group_->complete_barrier([] {});
    std::copy_n(slot.bytes.begin() + rank_ * std::ssize(mine), mine.size(), mine.begin());
  }

  std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing,
                                     std::vector<Incoming> incoming) override {
    check_exchange(outgoing, incoming, size());
    return std::make_unique<FiberExchange>(*this, "exchange", std::move(outgoing), std::move(incoming));
  }

  std::unique_ptr<Exchanger> exchanger(ExchangeMethod method, std::span<const int> peers,
                                       int64_t largest) override {
    if (method == ExchangeMethod::messages) return Comm::exchanger(method, peers, largest);
    check_peers(method, peers, largest);
    return std::make_unique<FiberExchanger>(*this, method, peers, largest);
  }

  std::unique_ptr<Comm> split(int color, int key) override {
    return split_as("split", split_bytes, color, key);
  }

  std::unique_ptr<Comm> split_by_node() override {
    return split_as("split_by_node", 0, task_ / world().ranks_per_node, rank_);
  }

  std::unique_ptr<Comm> duplicate() override {
    FiberSlot& slot = come({"duplicate"}, 0);
    group_->complete_barrier([&] {
      const Billing network(nobody);
      slot.family = make_copy(*group_);
    });
    return std::make_unique<FiberComm>(slot.family->groups[0], rank_, task_);
  }

  std::shared_ptr<SharedMemory> share_memory(size_t bytes) override {
    return node_count() > 1 ? nullptr : share_process_memory(*this, bytes, yield);
  }

 private:
  // Performs the exchange as one rendezvous in finish(): the last task to arrive copies all messages. `call`
  // is the name of the collective call; all except "exchange" require exact lengths.
  class FiberExchange final : public Exchange {
   public:
    FiberExchange(FiberComm& comm, const char* call, std::vector<Outgoing> outgoing,
                  std::vector<Incoming> incoming)
        : comm_(comm), call_(call), lists_{std::move(outgoing), std::move(incoming), {}} {}

    std::vector<int64_t> finish() override {
      FiberSlot& slot = comm_.come({call_}, static_cast<size_t>(bytes_of(lists_.outgoing)));
      {
        const Billing network(nobody);
        slot.lists.resize(static_cast<size_t>(comm_.size()));
      }
      slot.lists[static_cast<size_t>(comm_.rank_)] = &lists_;
      comm_.group_->complete_barrier([&] {
        const Billing network(nobody);
        slot.outcome = attempt([&] {
          deliver(slot.lists);
          if (call_ != std::string_view("exchange")) check_exact(slot.lists);
        });
      });
      if (slot.outcome) throw *slot.outcome;
      return std::move(lists_.received);
    }

   private:
    FiberComm& comm_;
    const char* const call_;
    ExchangeLists lists_;
  };

  // A collective exchange over all tasks or over a graph of peers. It rejects what MPI would reject.
  class FiberExchanger final : public Exchanger {
   public:
    FiberExchanger(FiberComm& comm, ExchangeMethod method, std::span<const int> peers, int64_t largest)
        : comm_(comm),
          call_(method == ExchangeMethod::alltoallv ? "alltoallv" : "neighbour_alltoallw"),
          peers_(peers.begin(), peers.end()),
          largest_(largest) {}

    std::unique_ptr<Exchange> start(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) override {
      check_exchange(outgoing, incoming, comm_.size());
      check_announced(outgoing, &Outgoing::bytes, peers_, largest_);
      check_announced(incoming, &Incoming::room, peers_, largest_);
      return std::make_unique<FiberExchange>(comm_, call_, std::move(outgoing), std::move(incoming));
    }

   private:
    FiberComm& comm_;
    const char* const call_;
    const std::vector<int> peers_;
    const int64_t largest_;
  };

  // Collective. Throws on all tasks unless all agree on the arguments, and each peer of a task names the
  // task.
  void check_peers(ExchangeMethod method, std::span<const int> peers, int64_t largest) {
    FiberSlot& slot = come({"exchanger", static_cast<int>(method), largest}, peers.size_bytes());
    const auto tasks = static_cast<size_t>(size());
    if (group_->arrived == 1) slot.values.clear();
    resize(slot.values, tasks * tasks);
    for (const int peer : peers) {
      check_root(peer, size());
      slot.values[static_cast<size_t>(rank_) * tasks + static_cast<size_t>(peer)] = 1;
    }
    group_->complete_barrier([&] { slot.outcome = attempt([&] { check_symmetric(slot.values, tasks); }); });
    if (!std::ranges::is_sorted(peers)) throw Error(Code::invalid_argument, "peers must ascend");
    if (slot.outcome) throw *slot.outcome;
  }

  FiberWorld& world() const { return *group_->world; }
  Scheduler& scheduler() const { return *world().scheduler; }

  static int64_t length_of(std::span<const int64_t> values) {
    return static_cast<int64_t>(values.size_bytes());
  }

  FiberSlot& come(const FiberCall& call, size_t contributed) {
    count_collective(scheduler().task(task_).traffic, size(), static_cast<int64_t>(contributed));
    const Billing network(nobody);
    return group_->come(task_, call);
  }

  static void resize(std::vector<int64_t>& values, size_t count) {
    const Billing network(nobody);
    values.resize(count);
  }

  void prefixes(std::span<int64_t> values) {
    const size_t width = values.size();
    FiberSlot& slot = come({"prefix_sum", 0, length_of(values)}, values.size_bytes());
    resize(slot.values, width * static_cast<size_t>(size()));
    const auto mine = slot.values.begin() + rank_ * std::ssize(values);
    std::ranges::copy(values, mine);
    std::vector<int64_t>& all = slot.values;
    group_->complete_barrier([&all, width] {
      for (size_t column = 0; column < width; ++column) {
        int64_t sum = 0;
        for (size_t i = column; i < all.size(); i += width) sum += std::exchange(all[i], sum);
      }
    });
    std::copy_n(slot.values.begin() + rank_ * std::ssize(values), width, values.begin());
  }

  // Joins the reduction with `values`.
  FiberSlot& post_contribution(const char* operation, std::span<const int64_t> values, bool largest) {
    FiberSlot& slot = come({operation, 0, length_of(values)}, values.size_bytes());
    if (group_->arrived == 1) {
      const Billing network(nobody);
      slot.values.assign(values.begin(), values.end());
    } else {
      std::ranges::transform(slot.values, values, slot.values.begin(),
                             [largest](int64_t a, int64_t b) { return largest ? std::max(a, b) : a + b; });
    }
    return slot;
  }

  // Copies the contributions from the members' stacks directly into the root's receive buffers.
  void join(Gathered& to, int root) const {
    const Billing receiver(group_->task_of(root));
    to = {};
    to.sizes.reserve(static_cast<size_t>(size()));
    size_t total = 0;
    for (int rank = 0; rank < size(); ++rank) {
      to.sizes.push_back(scheduler().task(group_->task_of(rank)).length);
      total += static_cast<size_t>(to.sizes.back());
    }
    to.bytes.reserve(total);
    for (int rank = 0; rank < size(); ++rank) {
      const FiberTask& offer = scheduler().task(group_->task_of(rank));
      to.bytes.insert(to.bytes.end(), offer.data, offer.data + offer.length);
    }
  }

  // Copies this task's piece. The root waits until all members have copied theirs.
  std::vector<std::byte> take_piece(FiberSlot& slot, int root) {
    const bool refused = slot.pieces == nullptr;
    std::vector<std::byte> mine;
    if (!refused) {
      const auto offset = slot.values[static_cast<size_t>(rank_)];
      const auto end = slot.values[static_cast<size_t>(rank_) + 1];
      mine.assign(slot.pieces->bytes.begin() + offset, slot.pieces->bytes.begin() + end);
    }
    --slot.readers;
    const int root_task = group_->task_of(root);
    if (rank_ == root && slot.readers > 0) scheduler().wait(&slot, "scatter");
    if (rank_ != root && slot.readers == 0 && scheduler().task(root_task).waits_for == &slot)
      scheduler().wake(root_task);
    if (refused) throw Error(Code::invalid_argument, "the pieces to scatter do not match their sizes");
    return mine;
  }

  std::unique_ptr<Comm> split_as(const char* operation, int64_t contributed, int color, int key) {
    FiberSlot& slot = come({operation}, static_cast<size_t>(contributed));
    resize(slot.values, static_cast<size_t>(size()));
    slot.values[static_cast<size_t>(rank_)] = pack(color, key);
    group_->complete_barrier([&] {
      const Billing network(nobody);
      slot.family = make_family(*group_, slot.values);
    });
    const int64_t place = slot.values[static_cast<size_t>(rank_)];
    if (place < 0) return nullptr;
    return std::make_unique<FiberComm>(slot.family->groups[static_cast<size_t>(high(place))], low(place),
                                       int{task_});
  }

  FiberBarrierGroup* group_;
  int rank_;
  int task_;
};

static_assert(sizeof(FiberComm) <= 24, "one of these exists per task and group");

// Makes `scheduler` the target of yield() for a scope.
class Current {
 public:
  explicit Current(Scheduler& scheduler) : outer_(std::exchange(current_scheduler, &scheduler)) {}
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() { current_scheduler = outer_; }

 private:
  Scheduler* outer_;
};

GroupFamily* make_first_family(FiberWorld& world, int tasks) {
  auto family = std::make_unique<GroupFamily>();
  family->comms = tasks;
  FiberBarrierGroup& all = family->groups.emplace_back();
  all.world = &world;
  all.family = family.get();
  all.size = tasks;
  return family.release();
}

}  // namespace

std::vector<std::exception_ptr> run_fibers_collect(const FiberOptions& options,
                                                   const std::function<void(Comm&)>& body,
                                                   FiberReport* report) {
  if (options.ranks < 1 || options.ranks_per_node < 1)
    throw Error(Code::invalid_argument, "fibers need at least one rank, and one per node");
  FiberWorld world;
  FiberBarrierGroup* all = nullptr;
  Scheduler scheduler(options.ranks, options.stack_bytes, options.seed, [&](int task) {
    FiberComm comm(*all, task, task);
    body(comm);
  });
  world.scheduler = &scheduler;
  world.ranks_per_node = options.ranks_per_node;
  all = &make_first_family(world, options.ranks)->groups[0];

  const Current current(scheduler);
  std::string deadlock;
  while (!scheduler.run()) {
    deadlock = "deadlock: " + who_waits(scheduler.tasks()) + who_threw(scheduler.outcomes());
    scheduler.fail(std::make_exception_ptr(Error(Code::mismatch, deadlock)));
  }
  if (report) {
    *report = report_of(scheduler);
    report->deadlock = deadlock;
  }
  return std::move(scheduler.outcomes());
}

FiberReport run_fibers(const FiberOptions& options, const std::function<void(Comm&)>& body) {
  FiberReport report;
  const std::vector<std::exception_ptr> outcomes = run_fibers_collect(options, body, &report);
  if (!report.deadlock.empty()) throw Error(Code::mismatch, report.deadlock);
  for (const std::exception_ptr& outcome : outcomes)
    if (outcome) std::rethrow_exception(outcome);
  return report;
}

void yield() {
  if (current_scheduler && current_scheduler->is_running()) current_scheduler->yield();
}

Traffic traffic_of_this_task() { return current_scheduler->task(current_scheduler->running()).traffic; }

int memory_owner() {
  if (!current_scheduler || !current_scheduler->is_running()) return -1;
  return fibers::billed ? *fibers::billed : current_scheduler->running();
}

}  // namespace sheaf
