#include "simulation/taping_comm.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "comm/shared_memory.hpp"
#include "simulation/aliased_memory.hpp"

namespace sheaf::simulation {

namespace {

int64_t bytes_of(const std::vector<Outgoing>& outgoing) {
  int64_t bytes = 0;
  for (const Outgoing& message : outgoing) bytes += std::ssize(message.bytes);
  return bytes;
}

class TapingExchange final : public Exchange {
 public:
  // `messages`: number of messages that this task receives one by one.
  // `finished`: the step that it records, except its bytes; `scale`: times their number.
  TapingExchange(std::unique_ptr<Exchange> exchange, SimulationTape& tape, int task, SimulationStep finished,
                 int64_t scale)
      : exchange_(std::move(exchange)), tape_(tape), task_(task), finished_(finished), scale_(scale) {}

  std::vector<int64_t> finish() override {
    std::vector<int64_t> received = exchange_->finish();
    for (const int64_t one : received) finished_.length += one * scale_;
    tape_.note(task_, finished_);
    return received;
  }

 private:
  std::unique_ptr<Exchange> exchange_;
  SimulationTape& tape_;
  int task_;
  SimulationStep finished_;
  int64_t scale_;
};

class TapingComm final : public Comm {
 public:
  TapingComm(std::unique_ptr<Comm> comm, SimulationTape& tape, int task, int64_t scale)
      : comm_(std::move(comm)), tape_(tape), task_(task), scale_(scale) {
    int64_t group = comm_->rank() == 0 ? tape_.new_group(comm_->size()) : 0;
    comm_->broadcast(std::as_writable_bytes(std::span(&group, 1)), 0);
    group_ = static_cast<int32_t>(group);
  }

  int rank() const override { return comm_->rank(); }
  int size() const override { return comm_->size(); }
  int grain() const override { return comm_->grain(); }
  void barrier() override {
    note_barrier(0);
    comm_->barrier();
  }
  void broadcast(std::span<std::byte> data, int root) override {
    note_barrier(std::ssize(data));
    comm_->broadcast(data, root);
  }
  void reduce(Reduction how, std::span<int64_t> values) override {
    note_barrier(std::ssize(values) * 8);
    comm_->reduce(how, values);
  }
  void prefix_sum_and_total(std::span<int64_t> values, std::span<int64_t> totals) override {
    note_barrier(std::ssize(values) * 16);
    comm_->prefix_sum_and_total(values, totals);
  }
  void reduce_by(ReductionMethod method, Reduction how, std::span<int64_t> values) override {
    const int64_t bytes = std::ssize(values) * 8;
    method == ReductionMethod::allgather ? exchanged(bytes * size(), SimulationStepKind::gather)
                                         : note_barrier(bytes);
    comm_->reduce_by(method, how, values);
  }
  // Data sent to the root pass its port.
  Gathered gather(std::span<const std::byte> mine, int root) override {
    Gathered all = comm_->gather(mine, root);
    exchanged(rank() == root ? std::ssize(all.bytes) : std::ssize(mine));
    return all;
  }
  std::vector<std::byte> scatter(const Gathered& pieces, int root) override {
    std::vector<std::byte> mine = comm_->scatter(pieces, root);
    exchanged(rank() == root ? std::ssize(pieces.bytes) : std::ssize(mine));
    return mine;
  }
  void scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root) override {
    exchanged(rank() == root ? std::ssize(mine) * size() : std::ssize(mine));
    comm_->scatter_equal(pieces, mine, root);
  }
  std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing,
                                     std::vector<Incoming> incoming) override {
    if (std::ssize(incoming) > 0 || !outgoing.empty()) free_zero_pages(task_);
    const int64_t in = std::ssize(incoming);
    const int32_t number = note_begin(std::ssize(outgoing), bytes_of(outgoing));
    return taped(comm_->exchange(std::move(outgoing), std::move(incoming)), number, in);
  }
  // In a collective exchange no task sends or receives messages one by one.
  std::unique_ptr<Exchanger> exchanger(ExchangeMethod method, std::span<const int> peers,
                                       int64_t largest) override {
    if (method == ExchangeMethod::messages) return Comm::exchanger(method, peers, largest);
    note_barrier(8);
    return std::make_unique<TapingExchanger>(comm_->exchanger(method, peers, largest), *this);
  }
  std::unique_ptr<Comm> split(int color, int key) override {
    note_barrier(8);
    return taping_comm(comm_->split(color, key), tape_, task_, scale_);
  }
  std::unique_ptr<Comm> duplicate() override {
    note_barrier(8);
    return taping_comm(comm_->duplicate(), tape_, task_, scale_);
  }
  std::unique_ptr<Comm> split_by_node() override {
    note_barrier(8);
    return taping_comm(comm_->split_by_node(), tape_, task_, scale_);
  }
  std::shared_ptr<SharedMemory> share_memory(size_t bytes) override {
    return size() == 1 ? aliased_memory(task_, bytes) : comm_->share_memory(bytes);
  }
  int node_count() override { return comm_->node_count(); }

 private:
  void note_barrier(int64_t bytes) {
    tape_.note(task_, {.length = bytes, .file = group_, .kind = SimulationStepKind::barrier});
  }
  void exchanged(int64_t bytes, SimulationStepKind kind = SimulationStepKind::exchange) {
    tape_.note(task_, {.length = bytes, .file = group_, .kind = kind});
  }

  class TapingExchanger final : public Exchanger {
   public:
    TapingExchanger(std::unique_ptr<Exchanger> exchanger, TapingComm& comm)
        : exchanger_(std::move(exchanger)), comm_(comm) {}
    std::unique_ptr<Exchange> start(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) override {
      const int32_t number = comm_.note_begin(0, bytes_of(outgoing));
      return comm_.taped(exchanger_->start(std::move(outgoing), std::move(incoming)), number, 0);
    }

   private:
    std::unique_ptr<Exchanger> exchanger_;
    TapingComm& comm_;
  };

  // `messages`: number of messages that this task receives one by one.
  std::unique_ptr<Exchange> taped(std::unique_ptr<Exchange> exchange, int32_t number, int64_t messages) {
    const SimulationStep finished{
        .offset = messages, .file = group_, .place = number, .kind = SimulationStepKind::finish};
    return std::make_unique<TapingExchange>(std::move(exchange), tape_, task_, finished, scale_);
  }

  // Records the start of an exchange. Returns its number.
  int32_t note_begin(int64_t messages, int64_t bytes) {
    tape_.note(task_, {.offset = messages,
                       .length = bytes * scale_,
                       .file = group_,
                       .place = exchanges_,
                       .kind = SimulationStepKind::begin});
    return exchanges_++;
  }

  std::unique_ptr<Comm> comm_;
  SimulationTape& tape_;
  int task_;
  int64_t scale_;
  int32_t group_ = 0;
  int32_t exchanges_ = 0;
};

}  // namespace

std::unique_ptr<Comm> taping_comm(std::unique_ptr<Comm> comm, SimulationTape& tape, int task, int64_t scale) {
  if (!comm) return nullptr;  // the split excludes this task
  return std::make_unique<TapingComm>(std::move(comm), tape, task, scale);
}

}  // namespace sheaf::simulation
