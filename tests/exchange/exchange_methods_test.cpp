// Random collective transfers of several hosts by every method of exchange, with optimisations switched off.
// All bytes written and read are those of a model.
#include "exchange/exchange_method.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "comm/agree.hpp"
#include "comm/reduce.hpp"
#include "exchange/collective_executor.hpp"
#include "exchange/pieces/constants.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/forwarding_comm.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::exchange::exchange_methods_test {
namespace {

using layout::TypeMap;

class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}
  int64_t in(int64_t from, int64_t to) { return std::uniform_int_distribution<int64_t>(from, to)(engine_); }
  bool once_in(int64_t n) { return in(1, n) == 1; }

 private:
  std::mt19937_64 engine_;
};

constexpr int64_t cell = 64;  // bytes; tasks own cells of the file

// The owner of each cell. Runs of cells of one owner; some tasks own nothing.
std::vector<int> any_owners(Draw& draw, int tasks, int64_t cells) {
  const int64_t longest = draw.once_in(3) ? cells : draw.in(1, 40);
  const int64_t first = draw.in(0, tasks - 1), last = draw.once_in(3) ? draw.in(first, tasks - 1) : tasks - 1;
  std::vector<int> owners;
  while (std::ssize(owners) < cells)
    owners.insert(owners.end(), static_cast<size_t>(draw.in(1, longest)),
                  draw.once_in(8) ? -1 : static_cast<int>(draw.in(first, last)));
  owners.resize(static_cast<size_t>(cells));
  return owners;
}

std::byte content(int64_t at, int64_t call) {
  return static_cast<std::byte>(at * 7 + at / 251 + call * 31 + 1);
}

struct MethodsCase {
  int tasks = 0, per_host = 1;
  bool any_thread = false;  // value in the traits of the file
  CollectiveOptions how;
  std::vector<std::vector<int>> owners;  // of each call
  std::vector<bool> reads_all;           // after each call: every task reads everything, and beyond the end
};

MethodsCase any_case(Draw& draw) {
  MethodsCase one;
  one.tasks = static_cast<int>(draw.in(3, 14));
  one.per_host = static_cast<int>(draw.in(1, std::min(4, one.tasks - 1)));
  CollectiveOptions& how = one.how;
  how.exchange = CollectiveOptions::Buffering::enabled;
  how.aggregators = draw.once_in(3) ? 0 : draw.in(1, 9);
  how.block = int64_t{1} << draw.in(0, 14);
  how.buffer = draw.once_in(2) ? 0 : draw.in(1, 1 << 18);
  if (draw.once_in(4)) how.unit = int64_t{4096} << draw.in(0, 3);
  TransferSwitches& on = how.switches;
  for (bool* flag : {&on.shared, &on.overlap, &on.reuse, &on.psets, &on.aligned, &on.alltoall, &on.allreduce})
    *flag = !draw.once_in(4);
  if (!draw.once_in(4)) how.methods.data = static_cast<ExchangeMethod>(draw.in(0, 2));
  if (draw.once_in(2)) how.methods.ranges = ReductionMethod::allreduce;
  one.any_thread = draw.once_in(2);
  const int64_t cells = draw.once_in(3) ? draw.in(1, 60) : draw.in(1000, 12000);
  for (int64_t calls = draw.in(1, 3); calls > 0; --calls) {
    one.owners.push_back(one.owners.empty() || draw.once_in(2) ? any_owners(draw, one.tasks, cells)
                                                               : one.owners.back());
    one.reads_all.push_back(draw.once_in(2));
  }
  return one;
}

// The cells of `task`, as a file type.
TypeMap type_of(const std::vector<int>& owners, int task) {
  std::vector<int64_t> places;
  for (size_t i = 0; i < owners.size(); ++i)
    if (owners[i] == task) places.push_back(static_cast<int64_t>(i) * cell);
  return TypeMap::indexed_block(1, places, TypeMap::bytes(cell));
}

class RequestedFile final : public ForwardingFile {
 public:
  RequestedFile(std::shared_ptr<File> inner, bool any_thread)
      : ForwardingFile(std::move(inner)), any_thread_(any_thread) {}
  FileTraits traits() override { return {.any_thread = any_thread_}; }

 private:
  const bool any_thread_;
};

void play(Comm& comm, const MethodsCase& one, MemoryStore& store, std::vector<std::byte>& model) {
  RequestedFile file(store.open("a", Access::write), one.any_thread);
  CollectiveExecutor transfers(comm);
  IoCounters counters;
  for (size_t call = 0; call < one.owners.size(); ++call) {
    const std::vector<int>& owners = one.owners[call];
    const TypeMap type = type_of(owners, comm.rank());
    std::vector<std::byte> data;
    for (size_t i = 0; i < owners.size(); ++i)
      for (int64_t at = static_cast<int64_t>(i) * cell;
           owners[i] == comm.rank() && at < static_cast<int64_t>(i + 1) * cell; ++at) {
        data.push_back(content(at, static_cast<int64_t>(call)));
        if (std::ssize(model) <= at) model.resize(static_cast<size_t>(at) + 1);
        model[static_cast<size_t>(at)] = data.back();
      }
    transfers.write(file, {0, &type, 0, std::ssize(data), data.data(), &contiguous_bytes()}, one.how,
                    std::nullopt, counters);
    comm.barrier();
    ASSERT_EQ(store.contents("a"), model) << "call " << call;
    std::vector<std::byte> back(one.reads_all[call] ? owners.size() * cell + 100'000 : data.size());
    const FileAccess access{0,           one.reads_all[call] ? &contiguous_bytes() : &type,
                            0,           std::ssize(back),
                            back.data(), &contiguous_bytes()};
    const int64_t got = transfers.read(file, access, one.how, std::nullopt, counters);
    if (one.reads_all[call]) {
      ASSERT_EQ(got, std::ssize(model)) << "call " << call;
      ASSERT_TRUE(std::ranges::equal(std::span(back).first(model.size()), model)) << "call " << call;
    } else {
      ASSERT_EQ(got, std::ssize(data)) << "call " << call;
      ASSERT_EQ(back, data) << "call " << call;
    }
    comm.barrier();
  }
}

TEST(ExchangeMethods, TransferTheBytesOfAModel) {
  for (uint64_t seed = 1; seed <= 200 && !::testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Draw draw(seed);
    const MethodsCase one = any_case(draw);
    MemoryStore store;
    store.open("a", Access::fresh);
    std::vector<std::byte> model;
    run_fibers({.ranks = one.tasks, .stack_bytes = 256 << 10, .seed = seed, .ranks_per_node = one.per_host},
               [&](Comm& comm) { play(comm, one, store, model); });
  }
}

// Counts calls by their method, over all groups.
struct MethodCounts {
  std::map<ExchangeMethod, int> exchangers;
  std::map<ReductionMethod, int> reductions;
  std::map<ReductionMethod, std::vector<size_t>> lengths;
};
class CountedMethods final : public test::ForwardingComm {
 public:
  CountedMethods(std::unique_ptr<Comm> comm, MethodCounts& counts)
      : ForwardingComm(std::move(comm)), counts_(counts) {}
  std::unique_ptr<Exchanger> exchanger(ExchangeMethod method, std::span<const int> peers,
                                       int64_t largest) override {
    counts_.exchangers[method] += rank() == 0;
    return ForwardingComm::exchanger(method, peers, largest);
  }
  void reduce_by(ReductionMethod method, Reduction how, std::span<int64_t> values) override {
    counts_.reductions[method] += rank() == 0;
    if (rank() == 0) counts_.lengths[method].push_back(values.size());
    ForwardingComm::reduce_by(method, how, values);
  }

 protected:
  std::unique_ptr<Comm> wrap(std::unique_ptr<Comm> comm) override {
    return comm ? std::make_unique<CountedMethods>(std::move(comm), counts_) : nullptr;
  }

 private:
  MethodCounts& counts_;
};

// Writes `records` records of each task in turn, twice. Returns the methods that were used.
MethodCounts counts_of(int tasks, int64_t record, const CollectiveOptions& how, int64_t records = 4) {
  MethodCounts counts;
  MemoryStore store;
  store.open("a", Access::fresh);
  run_fibers({.ranks = tasks, .stack_bytes = 128 << 10}, [&](Comm& comm) {
    const auto file = store.open("a", Access::write);
    CountedMethods counted(comm.duplicate(), counts);
    CollectiveExecutor transfers(counted);
    IoCounters counters;
    std::vector<std::byte> data(static_cast<size_t>(records * record));
    const TypeMap type = TypeMap::bytes(record).resized(0, tasks * record);
    for (int call = 0; call < 2; ++call)
      transfers.write(*file,
                      {comm.rank() * record, &type, 0, std::ssize(data), data.data(), &contiguous_bytes()},
                      how, std::nullopt, counters);
  });
  return counts;
}

// Fails to create the first exchanger, after all tasks have taken part.
class FailingExchangers final : public test::ForwardingComm {
 public:
  FailingExchangers(std::unique_ptr<Comm> comm, bool& fails)
      : ForwardingComm(std::move(comm)), fails_(fails) {}
  std::unique_ptr<Exchanger> exchanger(ExchangeMethod method, std::span<const int> peers,
                                       int64_t largest) override {
    auto created = ForwardingComm::exchanger(method, peers, largest);
    if (std::exchange(fails_, false)) throw Error(Code::io, "no exchanger");
    return created;
  }

 protected:
  std::unique_ptr<Comm> wrap(std::unique_ptr<Comm> comm) override {
    return comm ? std::make_unique<FailingExchangers>(std::move(comm), fails_) : nullptr;
  }

 private:
  bool& fails_;
};

CollectiveOptions enabled() {
  CollectiveOptions how;
  how.exchange = CollectiveOptions::Buffering::enabled;
  return how;
}

TEST(ExchangeMethods, AreThoseOfTheHints) {
  for (const ExchangeMethod method : {ExchangeMethod::alltoallv, ExchangeMethod::neighbours}) {
    CollectiveOptions how = enabled();
    how.methods.data = method;
    EXPECT_EQ(counts_of(6, 1000, how).exchangers, (std::map<ExchangeMethod, int>{{method, 1}}))
        << "once per plan";
    how.switches.alltoall = false;
    EXPECT_TRUE(counts_of(6, 1000, how).exchangers.empty()) << "messages need no exchanger";
  }
}

// An aggregator cannot create its exchanger. All tasks fail, and the next call works.
TEST(ExchangeMethods, ThatFailOnOneHostFailOnAll) {
  constexpr int tasks = 6;
  constexpr int64_t record = 1000;
  for (const ExchangeMethod method : {ExchangeMethod::alltoallv, ExchangeMethod::neighbours})
    for (int failing = 0; failing < tasks; ++failing) {
      CollectiveOptions how = enabled();
      how.methods.data = method;
      MemoryStore store;
      store.open("a", Access::fresh);
      run_fibers({.ranks = tasks, .stack_bytes = 128 << 10}, [&](Comm& comm) {
        const auto file = store.open("a", Access::write);
        bool fails = comm.rank() == failing;
        FailingExchangers own(comm.duplicate(), fails);
        CollectiveExecutor transfers(own);
        IoCounters counters;
        std::vector<std::byte> data(4 * record, static_cast<std::byte>(comm.rank() + 1));
        const TypeMap type = TypeMap::bytes(record).resized(0, tasks * record);
        const auto write = [&] {
          transfers.write(
              *file, {comm.rank() * record, &type, 0, std::ssize(data), data.data(), &contiguous_bytes()},
              how, std::nullopt, counters);
        };
        const auto failed = attempt(write);
        ASSERT_TRUE(failed);
        EXPECT_EQ(failed->code(), Code::io);
        EXPECT_FALSE(attempt(write));
      });
      const auto found = store.contents("a");
      ASSERT_EQ(std::ssize(found), 4 * tasks * record);
      for (int64_t at = 0; at < std::ssize(found); ++at)
        ASSERT_EQ(found[static_cast<size_t>(at)], static_cast<std::byte>(at / record % tasks + 1));
    }
}

TEST(ExchangeMethods, AreChosenByDensityAndSize) {
  using Made = std::map<ExchangeMethod, int>;
  const Made alltoallv{{ExchangeMethod::alltoallv, 1}}, messages{{ExchangeMethod::messages, 1}};
  CollectiveOptions how = enabled();
  const auto made = [&](int tasks, int64_t record, int64_t records) {
    return counts_of(tasks, record, how, records).exchangers;
  };
  EXPECT_EQ(made(hosts_worth_alltoallv, 1000, 300), alltoallv) << "dense, short";
  EXPECT_EQ(made(hosts_worth_alltoallv - 1, 1000, 300), Made()) << "few hosts";
  EXPECT_EQ(made(hosts_worth_alltoallv, 1000, 4), messages) << "one window: sparse";
  EXPECT_EQ(made(hosts_worth_alltoallv, 96 << 10, 16), messages) << "dense, long messages";
  how.aggregators = 2;
  EXPECT_EQ(made(hosts_worth_alltoallv, 1000, 300), messages) << "sparse";
}

TEST(ExchangeMethods, OfRangesAreOneReductionOrTwoGathers) {
  CollectiveOptions how = enabled();
  const size_t words = FieldWords::of<CallFacts>().count();
  const auto fused = counts_of(6, 1000, how).lengths;
  ASSERT_EQ(fused.size(), 1U);
  EXPECT_EQ(std::ranges::count(fused.at(ReductionMethod::hosts), words),
            std::ssize(fused.at(ReductionMethod::hosts)));
  how.methods.ranges = ReductionMethod::allreduce;
  EXPECT_EQ(counts_of(6, 1000, how).lengths.begin()->first, ReductionMethod::allreduce);
  how.switches.allreduce = false;
  const auto gathered = counts_of(6, 1000, how).lengths;
  ASSERT_EQ(gathered.size(), 1U);
  const auto& lengths = gathered.at(ReductionMethod::allgather);
  EXPECT_EQ(std::ssize(lengths), 2 * std::ssize(fused.at(ReductionMethod::hosts)));
  for (size_t i = 0; i < lengths.size(); i += 2) EXPECT_EQ(lengths[i] + lengths[i + 1], words);
}

// Counts the writes of each aggregator, and where they begin.
TEST(ExchangeMethods, DomainsAreAlignedOrEqual) {
  constexpr int64_t low = 1000, record = 700, tasks = 5, records = 300, size = record * tasks * records;
  for (const bool aligned : {true, false}) {
    CollectiveOptions how = enabled();
    how.block = 4096;
    how.switches.aligned = aligned;
    CallFacts facts;
    facts.low = low;
    facts.high = low + size;
    const Windows windows = CollectivePlanner::windows({facts, tasks}, how, 64 << 10, tasks);
    int64_t unaligned = 0, reached = low;
    for (int64_t place = 0; place < windows.count(); ++place) {
      ASSERT_EQ(windows.begin(place), reached);
      reached = windows.end(place);
      unaligned += windows.begin(place) < reached && reached % how.block != 0;
      for (const int64_t at : {windows.begin(place), windows.end(place) - 1})
        if (windows.begin(place) < windows.end(place)) {
          ASSERT_EQ(windows.at(at), place);
        }
    }
    EXPECT_EQ(reached, low + size);
    std::array<int64_t, tasks> bytes{};
    for (int64_t number = 0; number < windows.count(); ++number) {
      const int64_t place = windows.place(number);
      bytes[static_cast<size_t>(number % tasks)] += windows.end(place) - windows.begin(place);
    }
    if (aligned) {
      EXPECT_EQ(unaligned, 1) << "only the end of the range";
    } else {
      EXPECT_GT(unaligned, 3 * tasks);
      EXPECT_LE(std::ranges::max(bytes) - std::ranges::min(bytes), 1);
    }
    how.unit = 64 << 10;
    EXPECT_FALSE(CollectivePlanner::windows({facts, tasks}, how, 64 << 10, tasks).are_contiguous)
        << "two hosts must not write one unit";
  }
}

// Domains of every length, also shorter than the number of aggregators.
TEST(ExchangeMethods, EqualDomainsCoverAnyRange) {
  for (int64_t aggregators : {2, 3, 7, 64})
    for (int64_t range = 1; range < 200; range += 1 + range / 50)
      for (const int64_t size : {1, 3, 64}) {
        const Windows windows = Windows::contiguous(17, 17 + range, size, aggregators);
        for (int64_t at = 17; at < 17 + range; ++at) {
          const int64_t place = windows.at(at);
          ASSERT_TRUE(windows.begin(place) <= at && at < windows.end(place))
              << at << " of " << range << " with " << aggregators << " and windows of " << size;
          ASSERT_LE(windows.end(place) - windows.begin(place), size);
          ASSERT_LT(place, windows.count());
        }
      }
}

}  // namespace
}  // namespace sheaf::exchange::exchange_methods_test
