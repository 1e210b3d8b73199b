// Transfers through file types that span more than their extent, so that consecutive instances interleave.
// They succeed as long as no bytes overlap.
#include <gtest/gtest.h>

#include "comm/agree.hpp"
#include "mpiio/file/model.hpp"
#include "mpiio/file/shared_file.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::interleaved_test {

using namespace mpiio;

namespace {

using model::ExpectedContents;
using model::ModelBuffer;
using model::RandomSource;

// Returns a view of `blocks` blocks of `length` bytes, one every `stride` bytes. Instances begin every
// `extent` bytes.
View view_of(int64_t length, int64_t stride, int64_t blocks, int64_t extent, int64_t displacement) {
  View view;
  view.displacement = displacement;
  view.filetype =
      layout::TypeMap::vector(blocks, 1, stride, layout::TypeMap::bytes(length)).resized(0, extent);
  return view;
}

std::unique_ptr<SharedFile> open(Comm& comm, Store& store) {
  return SharedFile::open(comm.duplicate(), store, "file", {.read = true, .write = true, .create = true});
}

// Transfers through views in which instances of all tasks interleave. The blocks of one task are `tasks *
// instances` block lengths apart.
void play(Comm& comm, MemoryStore& store, ExpectedContents& contents, uint64_t seed, bool together) {
  RandomSource common(seed), own(seed * 100 + static_cast<uint64_t>(comm.rank()));
  const int64_t length = common.in(1, 40), blocks = common.in(2, 5), instances = common.in(1, 4);
  const int64_t stride = length * instances * comm.size();
  const int64_t extent = length * comm.size();
  const View view = view_of(length, stride, blocks, extent, common.in(0, 30) + comm.rank() * length);
  const auto file = open(comm, store);
  file->set_view(view);
  const int64_t bytes = own.in(0, instances * blocks * length);
  const int64_t position = own.in(0, instances * blocks * length - bytes);
  ModelBuffer buffer(own, bytes);
  contents.write(view, position, buffer);
  EXPECT_EQ(together ? file->write_at_all(file->sequence(), view, position, buffer.source())
                     : file->write_at(view, position, buffer.source()),
            bytes);
  comm.barrier();
  ModelBuffer back(own, bytes);
  const ModelBuffer before = back;
  const int64_t done = together ? file->read_at_all(file->sequence(), view, position, back.destination())
                                : file->read_at(view, position, back.destination());
  EXPECT_EQ(done, bytes);
  contents.check_read(view, position, back, before, done);
  comm.barrier();
  file->close();
}

TEST(Interleaved, InstancesAreTransferredWhereverTheyLie) {
  for (uint64_t seed = 1; seed <= 300 && !HasFatalFailure(); ++seed)
    for (const bool together : {false, true}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + (together ? ", together" : ""));
      MemoryStore store(32);
      ExpectedContents contents;
      run_fibers({.ranks = static_cast<int>(1 + seed % 4), .stack_bytes = 128 << 10, .seed = seed},
                 [&](Comm& comm) { play(comm, store, contents, seed, together); });
      const auto found = store.contents("file");
      ASSERT_EQ(found.size(), contents.bytes.size());
      ASSERT_TRUE(std::ranges::equal(found, contents.bytes));
    }
}

// A write is rejected only if it would write bytes twice; a collective one is then rejected on all tasks.
TEST(Interleaved, OverlapsAreRefusedWhereTheyWouldBeWritten) {
  MemoryStore store;
  run_fibers({.ranks = 2, .stack_bytes = 128 << 10}, [&](Comm& comm) {
    const auto file = open(comm, store);
    const View view = view_of(8, 20, 2, comm.rank() == 1 ? 4 : 40, 100 * comm.rank());
    file->set_view(view);
    std::array<std::byte, 32> bytes{};
    const auto source = [&](int64_t count) { return Source{bytes.data(), layout::TypeMap::bytes(1), count}; };
    EXPECT_EQ(file->write_at_all(file->sequence(), view, 0, source(16)), 16) << "one instance";
    EXPECT_EQ(file->write_at_all(file->sequence(), view, 16, source(16)), 16) << "another one";
    EXPECT_EQ(file->write_at(view, 0, source(16)), 16);
    EXPECT_THROW(file->write_at_all(file->sequence(), view, 0, source(32)), Error);
    const auto own = attempt([&] { file->write_at(view, 0, source(32)); });
    EXPECT_EQ(own.has_value(), comm.rank() == 1);
    if (own) {
      EXPECT_NE(std::string(own->what()).find("twice"), std::string::npos) << own->what();
    }
    file->close();
  });
}

// set_view() rejects file types whose offsets decrease within one instance.
TEST(Interleaved, OneInstanceNeverGoesBack) {
  MemoryStore store;
  const auto file = open(*self_comm(), store);
  const std::vector<int64_t> places{20, 0};
  View view;
  view.filetype = layout::TypeMap::indexed_block(1, places, layout::TypeMap::bytes(8));
  EXPECT_THROW(file->set_view(view), Error);
  file->close();
}

}  // namespace
}  // namespace sheaf::interleaved_test
