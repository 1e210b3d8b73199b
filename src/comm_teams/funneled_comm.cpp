#include "comm_teams/funneled_comm.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "comm/helpers.hpp"

namespace sheaf {

namespace {

struct ColorKey {
  int32_t color;
  int32_t key;
};

template <class T>
std::vector<T> values_of(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// Contributions of some tasks as one: their sizes, then their bytes.
std::vector<std::byte> flat(const Gathered& g) {
  std::vector<std::byte> bytes;
  append(bytes, std::as_bytes(std::span(g.sizes)));
  append(bytes, g.bytes);
  return bytes;
}

// Adds what flat() made of `count` contributions.
void unflatten(std::span<const std::byte> bytes, int count, Gathered& to) {
  const size_t head = static_cast<size_t>(count) * sizeof(int64_t);
  for (const int64_t size : values_of<int64_t>(bytes.first(head))) to.sizes.push_back(size);
  append(to.bytes, bytes.subspan(head));
}

}  // namespace

FunneledComm::FunneledComm(std::unique_ptr<Comm> processes, std::unique_ptr<Comm> threads)
    : processes_(std::move(processes)), threads_(std::move(threads)) {
  on_master([&] {
    process_ = processes_->rank();
    nprocesses_ = processes_->size();
    int64_t team[2] = {threads_->size(), -threads_->size()};
    processes_->all_max(team);
    if (team[0] != -team[1])
      throw Error(Code::mismatch, "the processes have teams of different sizes, " + std::to_string(-team[1]) +
                                      " to " + std::to_string(team[0]) + " threads");
  });
  share(process_);
  share(nprocesses_);
}

void FunneledComm::barrier() {
  threads_->barrier();
  on_master([&] { processes_->barrier(); });
}

void FunneledComm::broadcast(std::span<std::byte> data, int root) {
  check_root(root, size());
  if (process_of(root) == process_) threads_->broadcast(data, thread_of(root));
  on_master([&] { processes_->broadcast(data, process_of(root)); });
  if (process_of(root) != process_) threads_->broadcast(data, 0);
}

void FunneledComm::all_max(std::span<int64_t> values) {
  threads_->all_max(values);
  on_master([&] { processes_->all_max(values); });
  threads_->broadcast(std::as_writable_bytes(values), 0);
}

void FunneledComm::all_sum(std::span<int64_t> values) {
  threads_->all_sum(values);
  on_master([&] { processes_->all_sum(values); });
  threads_->broadcast(std::as_writable_bytes(values), 0);
}

void FunneledComm::prefix_sum(std::span<int64_t> values) {
  std::vector<int64_t> before(values.begin(), values.end());
  threads_->all_sum(before);
  threads_->prefix_sum(values);
  on_master([&] { processes_->prefix_sum(before); });
  threads_->broadcast(std::as_writable_bytes(std::span(before)), 0);
  for (size_t i = 0; i < values.size(); ++i) values[i] += before[i];
}

Gathered FunneledComm::gather(std::span<const std::byte> mine, int root) {
  check_root(root, size());
  const Gathered own = threads_->gather(mine, 0);
  Gathered* joined = nullptr;  // made by thread 0, for the root in the same process
  on_master([&] {
    const Gathered packed = processes_->gather(flat(own), process_of(root));
    if (process_of(root) != process_) return;
    auto result = std::make_unique<Gathered>();
    const std::vector<int64_t> offsets = packed.offsets();
    for (size_t p = 0; p < packed.sizes.size(); ++p)
      unflatten(std::span(packed.bytes)
                    .subspan(static_cast<size_t>(offsets[p]), static_cast<size_t>(packed.sizes[p])),
                threads_->size(), *result);
    joined = result.release();
  });
  if (process_of(root) == process_) share(joined);
  if (rank() != root) return {};
  const std::unique_ptr<Gathered> taken(joined);
  return std::move(*taken);
}

std::vector<std::byte> FunneledComm::scatter(const Gathered& pieces, int root) {
  check_root(root, size());
  // Thread 0 of the root's process looks at the root's pieces in place.
  const Gathered* given = rank() == root ? &pieces : nullptr;
  if (process_of(root) == process_)
    threads_->broadcast(std::as_writable_bytes(std::span(&given, 1)), thread_of(root));
  Gathered own;
  on_master([&] {
    Gathered packed;  // one piece per process; none if they do not match, which all refuse
    const auto threads = static_cast<size_t>(threads_->size());
    if (given && is_consistent(*given, size())) {
      const std::vector<int64_t> offsets = given->offsets();
      for (size_t first = 0; first < given->sizes.size(); first += threads) {
        const auto sizes = std::as_bytes(std::span(given->sizes).subspan(first, threads));
        const auto bytes = std::span(given->bytes)
                               .subspan(static_cast<size_t>(offsets[first]),
                                        static_cast<size_t>(offsets[first + threads] - offsets[first]));
        append(packed.bytes, sizes);
        append(packed.bytes, bytes);
        packed.sizes.push_back(static_cast<int64_t>(sizes.size() + bytes.size()));
      }
    }
    unflatten(processes_->scatter(packed, process_of(root)), threads_->size(), own);
  });
  return threads_->scatter(own, 0);
}

void FunneledComm::scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root) {
  check_root(root, size());
  if (rank() == root) check_equal_pieces(pieces.size(), mine.size(), size());
  const std::byte* given = pieces.data();
  if (process_of(root) == process_)
    threads_->broadcast(std::as_writable_bytes(std::span(&given, 1)), thread_of(root));
  std::vector<std::byte> own;
  const size_t length = mine.size();
  on_master([&] {
    own.resize(length * static_cast<size_t>(threads_->size()));
    const std::span<const std::byte> all = process_of(root) == process_
                                               ? std::span(given, length * static_cast<size_t>(size()))
                                               : std::span<const std::byte>();
    processes_->scatter_equal(all, own, process_of(root));
  });
  threads_->scatter_equal(own, mine, 0);
}

// Thread 0 looks at the lists of all threads in place, copies what stays inside, and sends the rest. Messages
// between two processes are in the order of (sending thread, receiving thread), which both sides can tell.
class FunneledComm::FunneledExchange final : public Exchange {
 public:
  FunneledExchange(FunneledComm& comm, std::vector<Outgoing> outgoing, std::vector<Incoming> incoming)
      : comm_(comm), lists_{std::move(outgoing), std::move(incoming), {}} {}

  std::vector<int64_t> finish() override {
    ExchangeLists* own = &lists_;
    const auto all =
        values_of<ExchangeLists*>(comm_.threads_->gather(std::as_bytes(std::span(&own, 1)), 0).bytes);
    comm_.on_master([&] { carry_out(all); });
    return std::move(lists_.received);
  }

 private:
  // A message of one of the threads.
  struct Part {
    int process;
    int sender, receiver;  // threads
    ExchangeLists* lists;  // of the thread here
    size_t index;
    auto order() const { return std::tuple(process, sender, receiver); }
  };

  void carry_out(std::span<ExchangeLists* const> threads) {
    std::vector<Part> sent;
    std::vector<Part> wanted;
    for (size_t t = 0; t < threads.size(); ++t) {
      const int thread = static_cast<int>(t);
      threads[t]->received.assign(threads[t]->incoming.size(), 0);
      for (size_t i = 0; i < threads[t]->outgoing.size(); ++i) {
        const int peer = threads[t]->outgoing[i].peer;
        sent.push_back({comm_.process_of(peer), thread, comm_.thread_of(peer), threads[t], i});
      }
      for (size_t i = 0; i < threads[t]->incoming.size(); ++i) {
        const int peer = threads[t]->incoming[i].peer;
        wanted.push_back({comm_.process_of(peer), comm_.thread_of(peer), thread, threads[t], i});
      }
    }
    const auto inside = attempt([&] { deliver_inside(threads, sent, wanted); });
    std::ranges::stable_sort(sent, {}, &Part::order);
    std::ranges::stable_sort(wanted, {}, &Part::order);
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    for (const Part& part : sent) outgoing.push_back({part.process, part.lists->outgoing[part.index].bytes});
    for (const Part& part : wanted) incoming.push_back({part.process, part.lists->incoming[part.index].room});
    const std::vector<int64_t> received =
        comm_.processes_->exchange(std::move(outgoing), std::move(incoming))->finish();
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i].lists->received[wanted[i].index] = received[i];
    if (inside) throw *inside;
  }

  // Takes the messages between threads of this process out of both lists.
  void deliver_inside(std::span<ExchangeLists* const> threads, std::vector<Part>& sent,
                      std::vector<Part>& wanted) {
    std::vector<ExchangeLists> lists(threads.size());
    std::vector<Part> found;  // in the order of `lists`
    for (const Part& part : sent)
      if (part.process == comm_.process_)
        lists[static_cast<size_t>(part.sender)].outgoing.push_back(
            {part.receiver, part.lists->outgoing[part.index].bytes});
    for (const Part& part : wanted)
      if (part.process == comm_.process_) {
        lists[static_cast<size_t>(part.receiver)].incoming.push_back(
            {part.sender, part.lists->incoming[part.index].room});
        found.push_back(part);
      }
    const auto stays = [this](const Part& part) { return part.process == comm_.process_; };
    std::erase_if(sent, stays);
    std::erase_if(wanted, stays);
    std::vector<ExchangeLists*> all;
    for (ExchangeLists& one : lists) all.push_back(&one);
    deliver(all);
    auto next = found.begin();
    for (const ExchangeLists& one : lists)
      for (const int64_t bytes : one.received) {
        next->lists->received[next->index] = bytes;
        ++next;
      }
  }

  FunneledComm& comm_;
  ExchangeLists lists_;
};

std::unique_ptr<Exchange> FunneledComm::exchange(std::vector<Outgoing> outgoing,
                                                 std::vector<Incoming> incoming) {
  check_exchange(outgoing, incoming, size());
  return std::make_unique<FunneledExchange>(*this, std::move(outgoing), std::move(incoming));
}

FunneledComm::Shape FunneledComm::shape_of_split(int color, int key, std::unique_ptr<Comm>& processes) {
  const ColorKey mine{color, key};
  const auto own = values_of<ColorKey>(threads_->gather(std::as_bytes(std::span(&mine, 1)), 0).bytes);
  auto shape = Shape::irregular;
  on_master([&] {
    int64_t divided =
        !(std::ranges::all_of(own, [&](const ColorKey& o) { return o.color == own[0].color; }) &&
          std::ranges::is_sorted(own, {}, &ColorKey::key));
    processes_->all_max(std::span(&divided, 1));
    if (!divided) {
      processes = processes_->split(own[0].color, own[0].key);
      // Whole processes follow each other if their ranges of keys do; equal keys order by rank.
      int64_t overlap = 0;
      if (processes) {
        const int64_t row[3] = {own.front().key, own.back().key, process_};
        const auto rows = values_of<int64_t>(processes->gather(std::as_bytes(std::span(row)), 0).bytes);
        for (size_t r = 3; r < rows.size(); r += 3)
          if (rows[r - 2] > rows[r] || (rows[r - 2] == rows[r] && rows[r - 1] > rows[r + 2])) overlap = 1;
      }
      processes_->all_max(std::span(&overlap, 1));
      if (overlap) processes.reset();
      shape = overlap ? Shape::irregular : Shape::whole_processes;
      return;
    }
    std::vector<int32_t> colors;
    for (const ColorKey& o : own)
      if (o.color >= 0) colors.push_back(o.color);
    std::ranges::sort(colors);
    colors.erase(std::ranges::unique(colors).begin(), colors.end());
    auto all = values_of<int32_t>(processes_->gather(std::as_bytes(std::span(colors)), 0).bytes);
    std::ranges::sort(all);
    int64_t shared = std::ranges::adjacent_find(all) != all.end();
    processes_->all_max(std::span(&shared, 1));
    shape = shared ? Shape::irregular : Shape::within_processes;
  });
  share(shape);
  return shape;
}

std::unique_ptr<Comm> FunneledComm::split(int, int) {
  throw Error(Code::unsupported, "hybrid groups are split by hybrid_comm");
}

std::unique_ptr<Comm> FunneledComm::duplicate() {
  std::unique_ptr<Comm> processes;
  on_master([&] { processes = processes_->duplicate(); });
  return std::make_unique<FunneledComm>(std::move(processes), threads_->duplicate());
}

std::unique_ptr<Comm> FunneledComm::split_by_node() {
  std::unique_ptr<Comm> processes;
  on_master([&] { processes = processes_->split_by_node(); });
  return std::make_unique<FunneledComm>(std::move(processes), threads_->duplicate());
}

}  // namespace sheaf
