#include "comm_mpi/mpi_comm.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"
#include "base/non_copyable.hpp"
#include "comm/helpers.hpp"
#include "comm_mpi/constants.hpp"
#include "comm_mpi/mpi_comm_pieces.hpp"
#include "comm_mpi/mpi_exchange.hpp"
#include "comm_mpi/mpi_parts.hpp"
#include "comm_mpi/mpi_patience.hpp"
#include "comm_mpi/mpi_spares.hpp"

namespace sheaf {
namespace {

using mpi::check;
using mpi::patiently;

// What a Comm shares with those split from it on the same task.
struct Family : private NonCopyable {
  explicit Family(MPI_Comm program_comm) : program(program_comm), spares(mpi::Spares::of(program)) {}
  ~Family() {
    if (spare.comm != MPI_COMM_NULL) spares->give_back(spare);
  }

  const MPI_Comm program;  // what mpi_comm() was given
  std::shared_ptr<mpi::Spares> spares;
  mpi::Spares::Spare spare;  // what the first of them talks on; null before their first meeting
  int number = 0;            // rank in `program`
  int largest = 0;           // bytes per message
  int per_node =
      0;  // tasks per node that the environment of rank 0 asks for: 0 none, -1 something that is no number
};

// A communicator that is Sheaf's own; freed at the end unless it is a spare, which the family gives back.
class Handle {
 public:
  enum class End : uint8_t { free, keep };
  explicit Handle(MPI_Comm comm, End end = End::free) : comm_(comm), end_(end) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(end_, other.end_);
    return *this;
  }
  Handle(Handle&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)), end_(other.end_) {}
  ~Handle() {
    if (end_ == End::free && comm_ != MPI_COMM_NULL) mpi::free_own(comm_);
  }
  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_;
  End end_;
};

class MpiComm final : public Comm, private NonCopyable {
 public:
  // `part` >= 0: it is that of `from`, which gets it back.
  // `on_node`: its tasks are on one node.
  MpiComm(Handle comm, std::shared_ptr<Family> family, mpi::Parts* from, int part, bool on_node)
      : own_(std::move(comm)),
        on_node_(on_node),
        part_(static_cast<int8_t>(part)),
        family_(std::move(family)),
        from_(part < 0 ? nullptr : from) {
    check(MPI_Comm_set_errhandler(own_.get(), MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    rank_ = mpi::rank_in(own_.get());
    size_ = mpi::size_of(own_.get());
  }

  // The first of a family, which finds its communicator at its first collective call.
  explicit MpiComm(std::shared_ptr<Family> family)
      : own_(MPI_COMM_NULL, Handle::End::keep), first_(true), family_(std::move(family)) {
    family_->number = rank_ = mpi::rank_in(family_->program);
    size_ = mpi::size_of(family_->program);
  }

  ~MpiComm() override {
    if (from_) from_->give_back(part_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void barrier() override {
    if (mpi::Meeting* tasks = meeting()) return tasks->barrier();
    patiently("MPI_Ibarrier", [&](MPI_Request* request) { return MPI_Ibarrier(comm(), request); });
  }

  void broadcast(std::span<std::byte> data, int root) override {
    check_root(root, size_);
    if (mpi::Meeting* tasks = meeting(); tasks && tasks->broadcast(data, root)) return;
    mpi::broadcast(group(), data, root);
  }

  void reduce(Reduction how, std::span<int64_t> values) override {
    if (how == Reduction::max && own_.get() == MPI_COMM_NULL && values.size() <= mpi::most_on_first_meeting)
      return meet_first(values);
    if (mpi::Meeting* tasks = meeting(); tasks && tasks->reduce(how, values)) return;
    if (how != Reduction::sum_before)
      return all_reduce(comm(), values, how == Reduction::max ? MPI_MAX : MPI_SUM);
    in_pieces(values, [&](std::span<int64_t> piece) {
      patiently("MPI_Iexscan", [&](MPI_Request* request) {
        return MPI_Iexscan(MPI_IN_PLACE, piece.data(), static_cast<int>(piece.size()), MPI_INT64_T, MPI_SUM,
                           comm(), request);
      });
    });
    if (rank_ == 0) std::ranges::fill(values, 0);  // MPI leaves it undefined there
  }

  void prefix_sum_and_total(std::span<int64_t> values, std::span<int64_t> totals) override {
    mpi::Meeting* const tasks = meeting();
    if (!tasks || values.size_bytes() > SharedMeeting::most_bytes)
      return Comm::prefix_sum_and_total(values, totals);
    tasks->prefix_sum_and_total(values, totals);
  }

  Gathered gather(std::span<const std::byte> mine, int root) override {
    check_root(root, size_);
    Gathered result;
    if (mpi::Meeting* tasks = meeting(); tasks && tasks->gather(mine, result, root)) return result;
    if (rank_ == root) result.sizes.resize(static_cast<size_t>(size_));
    const int64_t length = std::ssize(mine);
    patiently("MPI_Igather", [&](MPI_Request* request) {
      return MPI_Igather(&length, 1, MPI_INT64_T, result.sizes.data(), 1, MPI_INT64_T, root, comm(), request);
    });
    if (rank_ == root) result.bytes.resize(static_cast<size_t>(result.offsets().back()));
    mpi::gather(group(), mine, result.bytes, result.sizes, root);
    return result;
  }

  std::vector<std::byte> scatter(const Gathered& pieces, int root) override {
    check_root(root, size_);
    const bool is_root = rank_ == root;
    // Pieces that do not match are told to all as length -1: every task throws and none waits for the root.
    std::vector<int64_t> refusal;
    if (is_root && !is_consistent(pieces, size_)) refusal.assign(static_cast<size_t>(size_), -1);
    const std::vector<int64_t>& sizes = refusal.empty() ? pieces.sizes : refusal;
    int64_t length = 0;
    std::vector<std::byte> mine;
    mpi::Meeting* const tasks = meeting();
    const bool met = tasks && tasks->scatter(sizes, pieces.bytes, length, mine, root);
    if (!met)
      patiently("MPI_Iscatter", [&](MPI_Request* request) {
        return MPI_Iscatter(is_root ? sizes.data() : nullptr, 1, MPI_INT64_T, &length, 1, MPI_INT64_T, root,
                            comm(), request);
      });
    if (length < 0) throw Error(Code::invalid_argument, "the pieces to scatter do not match their sizes");
    if (met) return mine;
    mine.resize(static_cast<size_t>(length));
    mpi::scatter(group(), mine, pieces.bytes, pieces.sizes, root);
    return mine;
  }

  void scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root) override {
    check_root(root, size_);
    if (rank_ == root) check_equal_pieces(pieces.size(), mine.size(), size_);
    if (mpi::Meeting* tasks = meeting(); tasks && tasks->scatter_equal(pieces, mine, root)) return;
    if (mine.size() > INT_MAX) throw Error(Code::invalid_argument, "equal pieces may have 2 GiB at most");
    const auto length = static_cast<int>(mine.size());
    patiently("MPI_Iscatter", [&](MPI_Request* request) {
      return MPI_Iscatter(pieces.data(), length, MPI_BYTE, mine.data(), length, MPI_BYTE, root, comm(),
                          request);
    });
  }

  std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing,
                                     std::vector<Incoming> incoming) override {
    check_exchange(outgoing, incoming, size_);
    return mpi::start_exchange(comm(), std::move(outgoing), std::move(incoming));
  }

  std::unique_ptr<Comm> split(int color, int key) override {
    return part({mpi::Parts::How::split, color, key});
  }

  std::unique_ptr<Comm> duplicate() override { return part({mpi::Parts::How::duplicate, 0, 0}); }

  std::unique_ptr<Comm> split_by_node() override {
    if (const int per_node = tasks_per_node_by_hand())
      return part({mpi::Parts::How::split, family_->number / per_node, rank_}, true);
    return part({mpi::Parts::How::by_memory, 0, rank_}, true);
  }

  int node_count() override {
    if (on_node_) return 1;
    if (!is_first()) return Comm::node_count();
    meet_once();
    if (const int per_node = tasks_per_node_by_hand()) return (size_ + per_node - 1) / per_node;
    return family_->spares->nodes;
  }

  // Only where messages within the node would do the same: a topology by hand stands for several machines.
  std::unique_ptr<SharedMemory> share_memory(size_t bytes) override {
    if (node_count() > 1) return nullptr;
    std::shared_ptr<SharedMemory> none;
    std::shared_ptr<SharedMemory>& kept = is_first() ? family_->spare.memory : none;
    const bool fresh = !kept || kept->bytes().size() < bytes;
    if (fresh) {
      const auto everywhere = [this](bool here) {
        int64_t missing = !here;
        all_max(std::span(&missing, 1));
        return missing == 0;
      };
      kept = mpi::share_memory({[this](std::span<std::byte> name) { broadcast(name, 0); }, everywhere}, rank_,
                               bytes);
    }
    if (!kept) return nullptr;
    kept->set_label(0);
    return std::make_unique<KeptMemory>(kept, fresh);
  }

  // Before the first collective call there is none.
  std::unique_ptr<SharedMemory> kept_memory() override {
    return is_first() && family_->spare.memory ? std::make_unique<KeptMemory>(family_->spare.memory)
                                               : nullptr;
  }

 private:
  // What the group talks on.
  MPI_Comm comm() {
    meet_once();
    return own_.get();
  }

  // Where small contributions meet; null: they travel by messages.
  mpi::Meeting* meeting() {
    if (!is_first()) return nullptr;
    meet_once();
    return family_->spare.meeting.get();
  }

  // Whether these are all tasks that mpi_comm() was given.
  bool is_first() const { return first_; }

  void meet_once() {
    if (own_.get() == MPI_COMM_NULL) meet_first({});
  }

  mpi::Group group() { return {comm(), rank_, size_, family_->largest}; }

  // The only meeting on the program's communicator: which of its duplicates is free everywhere, whether those
  // kept for all tasks of the program can be had, what topology rank 0 asks for, and, as this takes a
  // reduction anyway, the maxima that the caller needs.
  void meet_first(std::span<int64_t> values) {
    constexpr size_t offered = mpi::most_spares;
    constexpr size_t own = offered + 2;
    const auto world = family_->spares->in_use() ? nullptr : mpi::Spares::of_world(family_->program);
    std::array<int64_t, own + mpi::most_on_first_meeting> all;
    std::ranges::copy((world ? world : family_->spares)->offer(), all.begin());
    all[offered] = !world;
    all[offered + 1] = rank_ == 0 ? topology_by_hand() : INT64_MIN;
    std::ranges::copy(values, all.begin() + own);
    const auto used = std::span(all).first(own + values.size());
    mpi::Meeting* const tasks = family_->spares->meeting.get();
    if (!tasks || !tasks->reduce(Reduction::max, used)) all_reduce(family_->program, used, MPI_MAX);
    std::ranges::copy_n(all.begin() + own, std::ssize(values), values.begin());
    family_->per_node = static_cast<int>(all[offered + 1]);
    if (all[offered] == 0) {
      mpi::Spares::join(family_->program, world);
      family_->spares = world;
    } else if (world) {
      std::fill_n(all.begin(), offered, 1);  // what some have offered is not this communicator's
    }
    family_->spare = family_->spares->take(family_->program, std::span(all).first<offered>());
    own_ = Handle(family_->spare.comm, Handle::End::keep);
  }

  template <typename Call>
  void in_pieces(std::span<int64_t> values, Call call) {
    const size_t most = std::max<size_t>(1, static_cast<size_t>(family_->largest) / sizeof(int64_t));
    for (; !values.empty(); values = values.subspan(std::min(most, values.size())))
      call(values.first(std::min(most, values.size())));
  }

  void all_reduce(MPI_Comm tasks, std::span<int64_t> values, MPI_Op operation) {
    in_pieces(values, [&](std::span<int64_t> piece) {
      patiently("MPI_Iallreduce", [&](MPI_Request* request) {
        return MPI_Iallreduce(MPI_IN_PLACE, piece.data(), static_cast<int>(piece.size()), MPI_INT64_T,
                              operation, tasks, request);
      });
    });
  }

  // The parts made from this group that are kept; null if none can be.
  mpi::Parts* parts() const {
    if (first_) return family_->spare.parts.get();
    return from_ ? &from_->of(part_) : nullptr;
  }

  // One that an earlier open has left behind, or a new one.
  std::unique_ptr<Comm> part(const mpi::Parts::Wish& wish, bool on_node = false) {
    const MPI_Comm own = comm();
    mpi::Parts* const kept = parts();
    mpi::Parts::Offer offer{};
    int number = -1;
    if (kept && !kept->empty()) {
      offer = kept->offer(wish);
      all_max(offer);
      number = kept->take(offer);
    }
    MPI_Comm found = MPI_COMM_NULL;
    if (number >= 0) {
      found = kept->comm(number);
    } else {
      mpi::meet(own);
      found = mpi::Parts::make(own, wish);
      if (kept) number = kept->keep(wish, found, offer);
    }
    if (found == MPI_COMM_NULL) return nullptr;
    return std::make_unique<MpiComm>(Handle(found, number < 0 ? Handle::End::free : Handle::End::keep),
                                     family_, kept, number, on_node);
  }

  static int topology_by_hand() {
    const char* const topology = std::getenv("SHEAF_TOPOLOGY");
    try {
      return topology ? tasks_per_node(topology) : 0;
    } catch (const Error&) {
      return -1;
    }
  }

  int tasks_per_node_by_hand() {
    meet_once();
    if (family_->per_node < 0)
      throw Error(Code::invalid_argument, "SHEAF_TOPOLOGY: the tasks per node must be a number > 0");
    return family_->per_node;
  }

  Handle own_;  // null before the first meeting
  const bool first_ = false;
  const bool on_node_ = false;
  const int8_t part_ = -1;
  std::shared_ptr<Family> family_;
  mpi::Parts* const from_ = nullptr;  // null: nobody keeps it
  int rank_ = 0;
  int size_ = 0;
};

static_assert(sizeof(MpiComm) <= 64, "one of these exists per task and group");

}  // namespace

std::unique_ptr<Comm> mpi_comm(MPI_Comm comm, int largest_message) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) throw Error(Code::invalid_argument, "MPI_Init has not been called");
  if (comm == MPI_COMM_NULL) throw Error(Code::invalid_argument, "the global communicator is MPI_COMM_NULL");
  if (largest_message < 1) throw Error(Code::invalid_argument, "mpi_comm: messages need at least one byte");
  auto family = std::make_shared<Family>(comm);
  family->largest = largest_message;
  return std::make_unique<MpiComm>(std::move(family));
}

}  // namespace sheaf
