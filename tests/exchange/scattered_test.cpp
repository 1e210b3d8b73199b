// Tests collective writes to files that accept many segments in one request. All full windows must be written
// by one request.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "exchange/collective_executor.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::exchange::scattered_test {
namespace {

using layout::TypeMap;

constexpr int tasks = 4;
constexpr int64_t window = 4 << 10;

struct ScatteringFault {
  int64_t fails_at = -1;
};

// A file that yields in every write, so that other tasks run during a request.
class ScatteringFile final : public ForwardingFile {
 public:
  ScatteringFile(std::shared_ptr<File> file, ScatteringFault& fault)
      : ForwardingFile(std::move(file)), fault_(fault) {}
  void write_at(std::span<const std::byte> data, int64_t offset) override {
    for (int i = 0; i < 10; ++i) yield();
    check(offset, std::ssize(data));
    inner().write_at(data, offset);
  }
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override {
    for (int i = 0; i < 10; ++i) yield();
    for (const auto& [offset, bytes] : pieces) check(offset, std::ssize(bytes));
    inner().write_pieces(pieces);
  }
  FileTraits traits() override { return {.dear_requests = true}; }

 private:
  void check(int64_t offset, int64_t length) const {
    if (offset <= fault_.fails_at && fault_.fails_at < offset + length)
      throw Error(Code::io, "no, says the test");
  }

  ScatteringFault& fault_;
};

// Writes blocks of `unit` bytes that are distributed round robin over the tasks. With `holes`, one block of
// every row belongs to no task.
void write_units(Comm& comm, File& file, int64_t unit, int64_t units, bool holes, int calls) {
  CollectiveExecutor transfers(comm);
  CollectiveOptions how;
  how.exchange = CollectiveOptions::Buffering::enabled;
  how.buffer = window;
  const int64_t row = (tasks + (holes ? 1 : 0)) * unit;
  const TypeMap one = TypeMap::bytes(unit).resized(0, row);
  IoCounters counters;
  for (int call = 0; call < calls; ++call) {
    const std::vector<std::byte> data(static_cast<size_t>(unit * units),
                                      static_cast<std::byte>(10 * call + comm.rank() + 1));
    const FileAccess access{
        comm.rank() * unit, &one, 0, std::ssize(data), const_cast<std::byte*>(data.data()),
        &contiguous_bytes()};
    transfers.write(file, access, how, std::nullopt, counters);
  }
}

TEST(ScatteredWindows, WriteNothingElse) {
  for (const bool holes : {false, true})
    for (const int64_t unit : {int64_t{40}, int64_t{1000}, int64_t{4096}})
      for (uint64_t seed = 0; seed < 10; ++seed) {
        const int64_t units = 200'000 / unit;
        const int64_t row = (tasks + (holes ? 1 : 0)) * unit;
        MemoryStore store;
        const std::vector<std::byte> before(static_cast<size_t>(row * units + 100), std::byte{99});
        store.open("a", sheaf::Access::fresh)->write_at(before, 0);
        ScatteringFault fault;
        run_fibers({.ranks = tasks, .stack_bytes = 256 << 10, .seed = seed, .ranks_per_node = tasks},
                   [&](Comm& comm) {
                     ScatteringFile file(store.open("a", sheaf::Access::write), fault);
                     write_units(comm, file, unit, units, holes, 2);
                   });
        const std::vector<std::byte> bytes = store.contents("a");
        ASSERT_EQ(bytes.size(), before.size());
        for (size_t i = 0; i < bytes.size(); ++i) {
          const auto place = static_cast<int64_t>(i);
          const int64_t aggregator = place % row / unit;
          const bool written = place < row * units && aggregator < tasks;
          ASSERT_EQ(bytes[i], written ? static_cast<std::byte>(11 + aggregator) : std::byte{99})
              << i << " seed " << seed;
        }
      }
}

TEST(ScatteredWindows, OneThatFailsFailsOnAllTasks) {
  MemoryStore store;
  store.open("a", sheaf::Access::fresh);
  ScatteringFault fault;
  fault.fails_at = 100'000;
  int failed = 0;
  run_fibers({.ranks = tasks, .stack_bytes = 256 << 10, .seed = 3, .ranks_per_node = tasks}, [&](Comm& comm) {
    ScatteringFile file(store.open("a", sheaf::Access::write), fault);
    try {
      write_units(comm, file, 1000, 100, false, 1);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::io);
      ++failed;
    }
    comm.barrier();
    if (comm.rank() == 0) fault.fails_at = -1;
    comm.barrier();
    write_units(comm, file, 1000, 100, false, 1);
  });
  EXPECT_EQ(failed, tasks);
  EXPECT_EQ(store.contents("a")[100'000], std::byte{1});
}

}  // namespace
}  // namespace sheaf::exchange::scattered_test
