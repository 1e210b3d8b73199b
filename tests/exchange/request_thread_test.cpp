// Tests file requests in a thread: their order, and transfers between hosts that overlap with them.
#include "exchange/transfer/request_thread.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "exchange/collective_executor.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/forwarding_comm.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::exchange::request_thread_test {
namespace {

using layout::TypeMap;
using std::chrono::steady_clock;

// Blocks until ready() or, so that a failing test ends, for 20 seconds. Returns the last value of ready().
template <class Ready>
bool wait_until(Ready ready) {
  for (const auto end = steady_clock::now() + std::chrono::seconds(20); !ready();)
    if (steady_clock::now() > end) return false;
  return true;
}

TEST(RequestThread, CarriesOutRequestsInOrderWhileTheCallerGoesOn) {
  std::atomic<int> permitted = 0;
  std::vector<int64_t> carried_out, finished;
  const auto request = [&](int64_t number) {
    if (!wait_until([&] { return permitted > number; })) std::abort();
    carried_out.push_back(number);
  };
  const auto note = [&](int64_t number) { finished.push_back(number); };
  {
    RequestThread requests(true, request);
    ASSERT_TRUE(requests.is_concurrent());
    for (int i = 0; i < 3; ++i) requests.begin();
    requests.finish(0, note);
    EXPECT_TRUE(finished.empty());
    permitted = 2;
    requests.finish(2, note);
    EXPECT_EQ(finished, (std::vector<int64_t>{0, 1}));
    permitted = 4;
    requests.finish(3, note);
    EXPECT_EQ(finished, (std::vector<int64_t>{0, 1, 2}));
    requests.begin();
  }  // waits for the last request
  EXPECT_EQ(carried_out, (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(RequestThread, CarriesOutEachRequestAtOnceWithoutAThread) {
  std::vector<int64_t> carried_out, finished;
  const auto request = [&](int64_t number) { carried_out.push_back(number); };
  RequestThread requests(false, request);
  EXPECT_FALSE(requests.is_concurrent());
  requests.begin();
  requests.begin();
  EXPECT_EQ(carried_out, (std::vector<int64_t>{0, 1}));
  requests.finish(0, [&](int64_t number) { finished.push_back(number); });
  EXPECT_EQ(finished, carried_out);
}

// Two hosts with two tasks each. One aggregator writes and reads all windows, which have 64 KiB.
constexpr int tasks = 4;
constexpr int64_t window = 64 << 10;
constexpr int64_t record = 4 << 10;
constexpr int64_t records = 256;  // of each task

CollectiveOptions options() {
  CollectiveOptions how;
  how.exchange = CollectiveOptions::Buffering::enabled;
  how.aggregators = 1;
  how.block = record;
  how.buffer = window;
  return how;
}

struct RequestLog {
  std::atomic<int> exchanges = 0;  // finished by the aggregator, over all transfers
  std::mutex mutex;
  std::set<std::thread::id> threads;   // that have transferred
  std::vector<int64_t> writes, reads;  // offsets, in order
  int64_t failing = -1;                // offset at which a request fails
  bool waits = false;                  // the request for a window waits for the messages of later ones
  std::atomic<bool> has_waited_in_vain = false;
  int before = 0;  // value of `exchanges` when the transfer began
};

class LoggedRequests final : public ForwardingFile {
 public:
  LoggedRequests(std::shared_ptr<File> inner, RequestLog& log)
      : ForwardingFile(std::move(inner)), log_(log) {}
  FileTraits traits() override { return {.any_thread = true}; }
  void write_at(std::span<const std::byte> data, int64_t offset) override {
    note(log_.writes, offset);
    // The messages of the next window are exchanged while this request runs.
    if (log_.waits && offset < (tasks * records * record) - 2 * window) await_exchanges(offset / window + 2);
    ForwardingFile::write_at(data, offset);
  }
  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    note(log_.reads, offset);
    // The messages of the window before the last one are exchanged while this request runs.
    if (log_.waits) await_exchanges(offset / window - 1);
    return ForwardingFile::read_at(data, offset);
  }

 private:
  void note(std::vector<int64_t>& offsets, int64_t offset) {
    const std::lock_guard lock(log_.mutex);
    log_.threads.insert(std::this_thread::get_id());
    offsets.push_back(offset);
    if (offset == log_.failing) throw Error(Code::no_space, "the test's device is full", ENOSPC);
  }
  void await_exchanges(int64_t count) {
    if (log_.has_waited_in_vain) return;
    if (!wait_until([&] { return log_.exchanges - log_.before >= count; })) log_.has_waited_in_vain = true;
  }

  RequestLog& log_;
};

class CountedExchange final : public Exchange {
 public:
  CountedExchange(std::unique_ptr<Exchange> exchange, std::atomic<int>& count)
      : exchange_(std::move(exchange)), count_(count) {}
  std::vector<int64_t> finish() override {
    auto received = exchange_->finish();
    ++count_;
    return received;
  }

 private:
  const std::unique_ptr<Exchange> exchange_;
  std::atomic<int>& count_;
};

class CountedComm final : public test::ForwardingComm {
 public:
  CountedComm(std::unique_ptr<Comm> comm, RequestLog& log, bool counts)
      : ForwardingComm(std::move(comm)), log_(log), counts_(counts) {}
  std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing,
                                     std::vector<Incoming> incoming) override {
    auto exchange = ForwardingComm::exchange(std::move(outgoing), std::move(incoming));
    if (!counts_) return exchange;
    return std::make_unique<CountedExchange>(std::move(exchange), log_.exchanges);
  }

 protected:
  std::unique_ptr<Comm> wrap(std::unique_ptr<Comm> comm) override {
    return comm ? std::make_unique<CountedComm>(std::move(comm), log_, counts_) : nullptr;
  }

 private:
  RequestLog& log_;
  const bool counts_;
};

std::byte content(int64_t at) { return static_cast<std::byte>(at / 4096 * 31 + at % 4096 / 7 + 1); }

// Each task writes, or reads, every fourth record.
void in_turn(RequestLog& log, const std::function<void(Comm&, CollectiveExecutor&, File&, FileAccess)>& act) {
  MemoryStore store;
  store.open("a", Access::fresh);
  run_fibers({.ranks = tasks, .stack_bytes = 256 << 10, .ranks_per_node = tasks / 2}, [&](Comm& comm) {
    // The aggregator is the first task of the first host.
    CountedComm counted(comm.duplicate(), log, comm.rank() == 0);
    CollectiveExecutor transfers(counted);
    LoggedRequests file(store.open("a", Access::write), log);
    const TypeMap type = TypeMap::bytes(record).resized(0, tasks * record);
    std::vector<std::byte> data(static_cast<size_t>(records * record));
    for (int64_t i = 0; i < std::ssize(data); ++i)
      data[static_cast<size_t>(i)] = content((i / record * tasks + comm.rank()) * record + i % record);
    act(counted, transfers, file,
        {comm.rank() * record, &type, 0, std::ssize(data), data.data(), &contiguous_bytes()});
  });
}

TEST(RequestThread, LetsMessagesPassWhileARequestRuns) {
  RequestLog log;
  in_turn(log, [&](Comm& comm, CollectiveExecutor& transfers, File& file, const FileAccess& access) {
    IoCounters counters;
    const auto next = [&] {
      comm.barrier();
      if (comm.rank() == 0) log.before = log.exchanges + (log.waits ? 0 : 1);
      if (comm.rank() == 0) log.waits = true;
      comm.barrier();
    };
    next();  // the messages of the plan come first
    transfers.write(file, access, options(), std::nullopt, counters);
    next();
    std::vector<std::byte> back(static_cast<size_t>(access.to));
    FileAccess reading = access;
    reading.address = back.data();
    if (transfers.read(file, reading, options(), std::nullopt, counters) != std::ssize(back) ||
        !std::ranges::equal(back, std::span(access.address, back.size())))
      throw std::logic_error("other bytes were read");
    comm.barrier();
  });
  EXPECT_FALSE(log.has_waited_in_vain);
  EXPECT_FALSE(log.threads.contains(std::this_thread::get_id()));
  EXPECT_EQ(std::ssize(log.writes), tasks * records * record / window);
  EXPECT_TRUE(std::ranges::is_sorted(log.writes));
  EXPECT_EQ(log.reads, log.writes);
}

TEST(RequestThread, ReportsAFailureToAllTasks) {
  for (const int64_t failing : {int64_t{0}, 7 * window, tasks * records * record - window}) {
    RequestLog log;
    log.failing = failing;
    in_turn(log, [&](Comm& comm, CollectiveExecutor& transfers, File& file, const FileAccess& access) {
      IoCounters counters;
      for (const bool fails : {true, false}) {
        const auto problem =
            attempt([&] { transfers.write(file, access, options(), std::nullopt, counters); });
        if (problem.has_value() != fails) throw std::logic_error("a failure was not reported");
        if (problem && problem->code() != Code::no_space) throw std::logic_error(problem->what());
        comm.barrier();
        if (comm.rank() == 0) log.failing = -1;
        comm.barrier();
      }
      if (comm.rank() == 0) log.failing = failing;
      comm.barrier();
      if (!attempt([&] { transfers.read(file, access, options(), std::nullopt, counters); }))
        throw std::logic_error("a failed read was not reported");
    });
  }
}

}  // namespace
}  // namespace sheaf::exchange::request_thread_test
