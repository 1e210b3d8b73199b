// Random views, buffers and sequences of calls, compared with the model.
#include "mpiio/file/shared_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "comm/on_threads.hpp"
#include "mpiio/file/model.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::shared_file_test {

using namespace mpiio;

namespace {

using model::ExpectedContents;
using model::ModelBuffer;
using model::RandomSource;

struct SharedFileCase {
  int tasks;
  int per_node;
  Hints hints;
};

Choice any_choice(RandomSource& random) { return static_cast<Choice>(random.in(0, 2)); }

SharedFileCase any_case(RandomSource& random) {
  SharedFileCase result{};
  result.tasks = static_cast<int>(random.in(1, 9));
  result.per_node = random.once_in(3) ? 1 : random.once_in(2) ? static_cast<int>(random.in(1, 4)) : 100;
  Hints& hints = result.hints;
  hints.collective_write = any_choice(random);
  hints.collective_read = any_choice(random);
  hints.sieve_write = any_choice(random);
  hints.sieve_read = any_choice(random);
  hints.sieve_write_size = random.in(1, 300);
  hints.sieve_read_size = random.in(1, 300);
  if (random.once_in(2)) hints.aggregators = random.in(1, 5);
  if (!random.once_in(4)) hints.buffer_size = random.in(1, 700);
  hints.block_size = random.once_in(2) ? random.in(1, 64) : 0;
  for (bool* flag : {&hints.shared, &hints.overlap, &hints.reuse, &hints.psets, &hints.aligned,
                     &hints.alltoall, &hints.allreduce})
    *flag = !random.once_in(4);
  if (!random.once_in(3)) hints.data = static_cast<ExchangeMethod>(random.in(0, 2));
  if (random.once_in(2)) hints.ranges = ReductionMethod::allreduce;
  return result;
}

void check_contents(const MemoryStore& store, const ExpectedContents& contents, const std::string& when) {
  const auto found = store.contents("file");
  ASSERT_EQ(found.size(), contents.bytes.size()) << when;
  const auto differs = std::ranges::mismatch(found, contents.bytes).in1 - found.begin();
  ASSERT_EQ(differs, std::ssize(found)) << when;
}

// Runs one task's part of a case. All tasks use generators with one seed, so that they agree on common
// choices.
void play(Comm& comm, const SharedFileCase& one, MemoryStore& store, ExpectedContents& contents,
          uint64_t seed) {
  RandomSource common(seed);
  RandomSource own(seed * 1000 + static_cast<uint64_t>(comm.rank()));
  const auto file = SharedFile::open(comm.duplicate(), store, "file",
                                     {.read = true, .write = true, .create = true}, one.hints);
  View view;
  std::vector<int> owners;
  int64_t position = 0, bytes = 0;
  const int64_t calls = common.in(1, 10);
  int64_t what = 0;
  for (int64_t call = 0; call < calls && !testing::Test::HasFatalFailure(); ++call) {
    if (call == 0 || common.once_in(5)) {
      owners = model::random_owners(common, comm.size());
      view = model::view_of(owners, comm.rank(), common.in(1, 3) * common.in(1, 5), common.in(0, 50));
      file->set_view(view);
    }
    const bool owns = std::ranges::find(owners, comm.rank()) != owners.end();
    const bool again = call > 0 && !common.once_in(3);
    if (!again || own.once_in(9)) {
      position = own.in(0, 3) * own.in(0, 200);
      bytes = own.once_in(5) ? 0 : own.in(1, 900);
    }
    if (!again) what = common.in(0, 5);
    const bool writes = what < 3;
    ModelBuffer buffer(own, writes && !owns ? 0 : bytes);
    const bool together = what % 3 != 2;
    if (writes) {
      contents.write(view, position, buffer);
      const int64_t done = together ? file->write_at_all(file->sequence(), view, position, buffer.source())
                                    : file->write_at(view, position, buffer.source());
      EXPECT_EQ(done, buffer.bytes());
    } else {
      const ModelBuffer before = buffer;
      const int64_t done = together
                               ? file->read_at_all(file->sequence(), view, position, buffer.destination())
                               : file->read_at(view, position, buffer.destination());
      contents.check_read(view, position, buffer, before, done);
    }
    comm.barrier();
    if (comm.rank() == 0) check_contents(store, contents, "after call " + std::to_string(call));
    if (testing::Test::HasFatalFailure()) return;
    comm.barrier();
  }
  file->close();
}

void run_case(uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSource random(seed);
  const SharedFileCase one = any_case(random);
  MemoryStore store(random.in(1, 4) * 16);
  ExpectedContents contents;
  run_fibers({.ranks = one.tasks, .stack_bytes = 128 << 10, .seed = seed, .ranks_per_node = one.per_node},
             [&](Comm& comm) { play(comm, one, store, contents, seed); });
}

TEST(SharedFile, TransfersWhatTheModelSays) {
  if (const char* const seed = std::getenv("SHEAF_SEED")) return run_case(std::stoull(seed));
  for (uint64_t seed = 1; seed <= 2000 && !HasFatalFailure(); ++seed) run_case(seed);
}

// Runs the tasks as concurrent threads; waiting tasks sleep.
TEST(SharedFile, TransfersWhatTheModelSaysOnThreads) {
  for (uint64_t seed = 1; seed <= 150 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomSource random(seed);
    const SharedFileCase one = any_case(random);
    MemoryStore store(64);
    ExpectedContents contents;
    test::on_team(one.tasks, [&](Comm& comm) { play(comm, one, store, contents, seed); });
  }
}

}  // namespace
}  // namespace sheaf::shared_file_test
