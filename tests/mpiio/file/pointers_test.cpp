// File pointers (individual, shared, ordered), sizes, atomic mode and statistics.
#include <gtest/gtest.h>

#include <set>

#include "comm/on_threads.hpp"
#include "mpiio/file/model.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::pointers_test {

using namespace mpiio;

namespace {

using layout::TypeMap;

void with_file(int tasks, MemoryStore& store, const SharedMode& mode,
               const std::function<void(SharedFile&, Comm&)>& body) {
  run_fibers({.ranks = tasks, .stack_bytes = 128 << 10, .ranks_per_node = tasks}, [&](Comm& comm) {
    const auto file = SharedFile::open(comm.duplicate(), store, "file", mode);
    body(*file, comm);
    file->close();
  });
}

constexpr SharedMode new_file{.read = true, .write = true, .create = true};

TEST(SharedFileHints, ThoseInUseTellWhatWasChosen) {
  for (const int per_node : {4, 2}) {
    MemoryStore store;
    run_fibers({.ranks = 4, .stack_bytes = 128 << 10, .ranks_per_node = per_node}, [&](Comm& comm) {
      const auto file = SharedFile::open(comm.duplicate(), store, "file", new_file);
      EXPECT_EQ(file->hints().words(), Hints().words());
      const Hints chosen = file->hints_in_use();
      EXPECT_GE(chosen.aggregators, 1);
      EXPECT_LE(chosen.aggregators, 4);
      EXPECT_GE(chosen.buffer_size, 4096);
      EXPECT_GE(chosen.block_size, 1);
      EXPECT_EQ(chosen.file_system, "memory");
      Hints wanted = file->hints();
      wanted.aggregators = 2;
      file->set_hints(wanted);
      EXPECT_EQ(file->hints().aggregators, 2);
      EXPECT_EQ(file->hints().block_size, 0) << "what was chosen is not asked for";
      EXPECT_EQ(file->hints().buffer_size, 0);
      EXPECT_EQ(file->hints_in_use().aggregators, 2);
      file->close();
    });
  }
}

TEST(SharedFilePointers, SharedOnesGiveEveryTaskAPlaceOfItsOwn) {
  MemoryStore store;
  std::set<int64_t> places;
  with_file(5, store, new_file, [&](SharedFile& file, Comm& comm) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(places.insert(file.claim_shared(10)).second);
      yield();
    }
    comm.barrier();
    EXPECT_EQ(file.claim_shared(0), 200);
    file.seek_shared(7);
    EXPECT_EQ(file.claim_shared(0), 7);
    file.set_view(View{});
    EXPECT_EQ(file.claim_shared(0), 0);
  });
  EXPECT_EQ(*places.rbegin(), 190);
  EXPECT_EQ(store.paths(), std::vector<std::string>{"file"}) << "the pointer's own file is removed";
}

// After a failed first use, the pointer's file may exist without the data that identifies its owner. The
// close must remove it nevertheless.
TEST(SharedFilePointers, TheirFileGoesAlsoIfItsFirstUseFailed) {
  for (const bool half : {false, true})
    for (const bool from_then_on : {false, true}) {
      MemoryStore memory;
      FaultyStore store(memory, {.fail_at = 0,
                                 .from_then_on = from_then_on,
                                 .errno_value = ENOSPC,
                                 .half_first = half,
                                 .kind = StoreOperation::write,
                                 .path_contains = ".pointer."});
      run_fibers({.ranks = 2, .stack_bytes = 128 << 10, .ranks_per_node = 2}, [&](Comm& comm) {
        const auto file = SharedFile::open(comm.duplicate(), store, "file", new_file);
        if (comm.rank() == 1) {
          EXPECT_THROW(file->claim_shared(10), Error);
          if (!from_then_on) {
            EXPECT_EQ(file->claim_shared(10), 0);
          }
        }
        file->close();
      });
      EXPECT_EQ(memory.paths(), std::vector<std::string>{"file"}) << half << from_then_on;
    }
}

TEST(SharedFilePointers, EveryViewHasASharedOneOfItsOwn) {
  MemoryStore store;
  with_file(2, store, new_file, [&](SharedFile& file, Comm& comm) {
    file.claim_shared(10);
    comm.barrier();
    if (comm.rank() == 1) {
      file.set_view(View{}, SharedFile::Agreed::deferred);
      EXPECT_EQ(file.claim_shared(3), 0) << "gone ahead";
    }
    comm.barrier();
    if (comm.rank() == 0) {
      EXPECT_EQ(file.claim_shared(0), 20) << "still in the view before";
      file.set_view(View{}, SharedFile::Agreed::deferred);
    }
    comm.barrier();
    EXPECT_EQ(file.claim_shared(0), 3);
  });
  EXPECT_EQ(store.paths(), std::vector<std::string>{"file"});
}

TEST(SharedFilePointers, OrderedPlacesFollowTheRanks) {
  MemoryStore store;
  with_file(4, store, new_file, [&](SharedFile& file, Comm& comm) {
    const int64_t mine = comm.rank() + 1;
    EXPECT_EQ(file.claim_ordered(file.sequence(), mine), mine * (mine - 1) / 2);
    EXPECT_EQ(file.claim_ordered(file.sequence(), mine), 10 + mine * (mine - 1) / 2);
  });
}

TEST(SharedFilePointers, AppendBeginsAtTheEnd) {
  MemoryStore store;
  store.set_contents("file", std::vector<std::byte>(100));
  with_file(2, store, {.write = true, .append = true}, [&](SharedFile& file, Comm& comm) {
    EXPECT_EQ(file.claim_individual(5), 100);
    EXPECT_EQ(file.claim_individual(0), 105);
    comm.barrier();
    file.claim_ordered(file.sequence(), 10);
    EXPECT_EQ(file.claim_shared(0), 120);
  });
}

TEST(SharedFile, SizesAreSetByAll) {
  MemoryStore store;
  with_file(3, store, new_file, [&](SharedFile& file, Comm&) {
    file.preallocate(500);
    EXPECT_EQ(file.bytes(), 500);
    file.preallocate(100);
    EXPECT_EQ(file.bytes(), 500);
    file.resize(70);
    EXPECT_EQ(file.bytes(), 70);
    const View view{.displacement = 10, .filetype = TypeMap::bytes(4).resized(0, 8)};
    EXPECT_EQ(file.end_of_stream(view), 32);
  });
}

TEST(SharedFile, AtomicWritesAreNotMixed) {
  for (int round = 0; round < 30; ++round) {
    MemoryStore store;
    test::on_team(4, [&](Comm& comm) {
      const auto file = SharedFile::open(comm.duplicate(), store, "file", new_file);
      file->set_atomic(true);
      View view;
      view.filetype = TypeMap::bytes(1).resized(0, 3);
      const std::vector<std::byte> mine(3000, static_cast<std::byte>(comm.rank() + 1));
      if (round % 2)
        file->write_at(view, 0, {mine.data(), TypeMap::bytes(1), std::ssize(mine)});
      else
        file->write_at_all(file->sequence(), view, 0, {mine.data(), TypeMap::bytes(1), std::ssize(mine)});
      file->close();
    });
    const auto bytes = store.contents("file");
    for (size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], i % 3 == 0 ? bytes[0] : std::byte());
  }
}

// One task sieves: it reads a range, changes its pieces, and writes the range back. Meanwhile another task
// writes larger pieces between them, one by one. These must not be lost.
TEST(SharedFile, BytesBetweenSievedPiecesAreNotLost) {
  for (int round = 0; round < 200; ++round) {
    MemoryStore store;
    test::on_team(2, [&](Comm& comm) {
      const auto file = SharedFile::open(comm.duplicate(), store, "file", new_file);
      const bool sieves = comm.rank() == 0;
      View view;
      view.displacement = sieves ? 0 : 256;
      view.filetype = sieves ? TypeMap::bytes(64).resized(0, 1024) : TypeMap::bytes(512).resized(0, 4096);
      const std::vector<std::byte> mine(sieves ? 64 * 64 : 512 * 16, static_cast<std::byte>(comm.rank() + 1));
      comm.barrier();
      file->write_at(view, 0, {mine.data(), TypeMap::bytes(1), std::ssize(mine)});
      file->close();
    });
    const auto bytes = store.contents("file");
    for (size_t i = 0; i < bytes.size(); ++i) {
      const bool first = i % 1024 < 64, second = i % 4096 >= 256 && i % 4096 < 768;
      ASSERT_EQ(bytes[i], first    ? std::byte(1)
                          : second ? std::byte(2)
                                   : std::byte())
          << "round " << round << ", byte " << i;
    }
  }
}

TEST(SharedFile, RepeatedCallsReduceOnceAndReuseThePlan) {
  MemoryStore store;
  with_file(4, store, new_file, [&](SharedFile& file, Comm& comm) {
    View view;
    view.displacement = 16 * comm.rank();
    view.filetype = TypeMap::bytes(16).resized(0, 16 * 5);  // with gaps
    const std::vector<std::byte> mine(16 * 1000);
    const auto write = [&] {
      file.write_at_all(file.sequence(), view, 0, {mine.data(), TypeMap::bytes(1), std::ssize(mine)});
    };
    write();
    comm.barrier();
    const int64_t before = traffic_of_this_task().collectives;
    write();
    EXPECT_EQ(traffic_of_this_task().collectives - before, 1);
    EXPECT_EQ(file.statistics().plans_made, 1);
    EXPECT_EQ(file.statistics().plans_reused, 1);
  });
}

TEST(SharedFile, RepeatedCallsAcrossHostsMakeNoPlan) {
  MemoryStore store;
  run_fibers({.ranks = 6, .stack_bytes = 128 << 10, .ranks_per_node = 2}, [&](Comm& comm) {
    const auto file = SharedFile::open(comm.duplicate(), store, "file", new_file);
    View view;
    view.displacement = 16 * comm.rank();
    view.filetype = TypeMap::bytes(16).resized(0, 16 * 6);
    const std::vector<std::byte> mine(16 * 1000, static_cast<std::byte>(comm.rank() + 1));
    const auto write = [&] {
      file->write_at_all(file->sequence(), view, 0, {mine.data(), TypeMap::bytes(1), std::ssize(mine)});
    };
    write();
    write();
    comm.barrier();
    const int64_t before = traffic_of_this_task().collectives;
    write();
    EXPECT_LE(traffic_of_this_task().collectives - before, 3)
        << "one exchange of data at most, one reduction, the outcome";
    EXPECT_EQ(file->statistics().plans_made, 1);
    EXPECT_EQ(file->statistics().plans_reused, 2);
    file->close();
  });
}

TEST(SharedFile, FullWindowsAreNotReadFirst) {
  MemoryStore store;
  with_file(4, store, new_file, [&](SharedFile& file, Comm& comm) {
    View view;
    view.displacement = 16 * comm.rank();
    view.filetype = TypeMap::bytes(16).resized(0, 64);
    const std::vector<std::byte> mine(16 * 1000);
    file.write_at_all(file.sequence(), view, 0, {mine.data(), TypeMap::bytes(1), std::ssize(mine)});
    EXPECT_EQ(file.statistics().file_bytes_read, 0);
    EXPECT_GT(file.statistics().exchange_calls, 0);
  });
}

}  // namespace
}  // namespace sheaf::pointers_test
