// Buddy copies. All files of any one host may be lost; readers must find the data in the copies.
#include "multifile/buddy/buddy.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/collective_programs.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::buddy_test {

using namespace multifile;

namespace {

constexpr int tasks = 7;
constexpr int groups = 3;

int group_of_task(int task) { return task / 3; }  // groups of 3, 3 and 1 tasks

ParallelWriteRequest request_of(Comm& comm) {
  ParallelWriteRequest request;
  request.path = "a";
  request.nfiles = 0;
  request.fsblksize = 64;
  request.chunk_size = 100;
  request.local = comm.split(group_of_task(comm.rank()), comm.rank());
  return request;
}

// Writes the stream of one task.
void write_stream(Comm& comm, Store& store, int levels, int64_t bytes) {
  Writer writer(store, comm.duplicate(), request_of(comm),
                shared_mode_of(comm, "w,buddy=" + std::to_string(levels)));
  for (int call = 0; call < 4; ++call)
    writer.collective()->write(content(comm.rank(), call * bytes, comm.rank() == 5 && call > 1 ? 0 : bytes),
                               std::nullopt);
  writer.close();
}

void read_stream(Comm& comm, Store& store, const std::string& words, int64_t bytes) {
  const int me = comm.rank();
  Reader reader(store, comm.duplicate(), "a", mode_of(words));
  std::vector<std::byte> found(static_cast<size_t>(4 * bytes + 1));
  found.resize(reader.stream().read(found));
  require(found == content(me, 0, (me == 5 ? 2 : 4) * bytes), "task " + std::to_string(me));
  reader.close();
}

void write_set(Store& store, int levels, int64_t bytes = 90) {
  SharedHandles shared(store);
  run_fibers(fibers(tasks), [&](Comm& comm) { write_stream(comm, shared, levels, bytes); });
}

void read_set(Store& store, const std::string& words, int64_t bytes = 90) {
  SharedHandles shared(store);
  run_fibers(fibers(tasks), [&](Comm& comm) { read_stream(comm, shared, words, bytes); });
  EXPECT_EQ(shared.open_files(), 0u);
}

std::string file_of(int level, int number) {
  return format::physical_name(level < 0 ? "a" : buddy_name("a", level), number);
}

void lose(MemoryStore& store, const std::string& path, bool truncated) {
  if (truncated) {
    store.open(path, Access::write)->resize(1500);
  } else {
    store.remove(path);
  }
}

TEST(Buddy, AnyNodeMayBeLost) {
  for (const int levels : {1, 2})
    for (const bool truncated : {false, true})
      for (const char* const more : {"", ",collective=2"})
        for (int node = 0; node < groups; ++node) {
          MemoryStore store;
          write_set(store, levels);
          lose(store, file_of(-1, node), truncated);
          for (int level = 0; level < levels; ++level)
            lose(store, file_of(level, (node + level + 1) % groups), truncated);
          const std::string words = "r,buddy=" + std::to_string(levels) + more;
          EXPECT_NO_THROW(read_set(store, words)) << "node " << node << (truncated ? ", truncated" : "");
          EXPECT_THROW(read_set(store, "r"), Error);
        }
}

// Files of a new set are left unclosed while copies of an earlier, complete set of that name exist. Readers
// must not use these copies.
TEST(Buddy, CopiesOfAnEarlierSetDoNotHideFilesThatWereNotClosed) {
  MemoryStore store;
  write_set(store, 1);
  SharedHandles shared(store);
  run_fibers(fibers(tasks), [&](Comm& comm) {
    Writer writer(shared, comm.duplicate(), request_of(comm), shared_mode_of(comm, "w,buddy=1"));
    writer.stream().write(content(comm.rank() + 100, 0, 50));
    writer.commit();
    comm.barrier();
  });
  BuddyStore copies(store, "a", 1);
  for (int file = 0; file < groups; ++file) {
    const auto found = copies.open(file_of(-1, file), Access::read);
    EXPECT_EQ(code_of([&] { MetadataReader(*found).read_pointer(); }), Code::unclosed) << file;
  }
}

// A set with copies was rewritten without copies, and one of its files is lost. Readers must not use the old
// copies.
TEST(Buddy, CopiesOfAnEarlierSetDoNotStandInForFilesThatAreLost) {
  for (int file = 0; file < groups; ++file) {
    MemoryStore store;
    write_set(store, 1, 90);
    SharedHandles shared(store);
    run_fibers(fibers(tasks), [&](Comm& comm) {
      Writer writer(shared, comm.duplicate(), request_of(comm), shared_mode_of(comm, "w"));
      writer.stream().write(content(comm.rank() + 100, 0, 50));
      writer.close();
    });
    store.remove(file_of(-1, file));
    BuddyStore copies(store, "a", 1);
    if (file > 0) {
      const auto problem = attempt([&] { copies.open(file_of(-1, file), Access::read); });
      ASSERT_TRUE(problem);
      EXPECT_NE(std::string(problem->what()).find("earlier"), std::string::npos) << problem->what();
      EXPECT_FALSE(copies.status(file_of(-1, file)).exists);
    }
    EXPECT_THROW(read_set(store, "r,buddy=1"), Error) << file;
  }
}

TEST(Buddy, TwoNodesMayBeLostWithTwoCopies) {
  for (int node = 0; node < groups; ++node) {
    MemoryStore store;
    write_set(store, 2);
    for (const int lost : {node, (node + 1) % groups}) {
      store.remove(file_of(-1, lost));
      for (int level = 0; level < 2; ++level) store.remove(file_of(level, (lost + level + 1) % groups));
    }
    EXPECT_NO_THROW(read_set(store, "r,buddy=2"));
  }
}

TEST(Buddy, NumberZeroMeansOneCopy) {
  MemoryStore store;
  write_set(store, 0);
  EXPECT_TRUE(store.status(file_of(0, 0)).exists);
  EXPECT_FALSE(store.status(file_of(1, 0)).exists);
  lose(store, file_of(-1, 1), false);
  EXPECT_NO_THROW(read_set(store, "r,buddy=0"));
}

// Simulates hosts with disks that tasks of other hosts cannot access.
class IsolatedNodes {
 public:
  void write(int levels, int64_t bytes) {
    run_fibers(fibers(tasks), [&](Comm& comm) { write_stream(comm, store_of(comm), levels, bytes); });
  }
  void read(const std::string& words, int64_t bytes) {
    run_fibers(fibers(tasks), [&](Comm& comm) { read_stream(comm, store_of(comm), words, bytes); });
  }
  void lose(int node) {
    for (const std::string& path : disks_[node].paths()) disks_[node].remove(path);
  }
  // Moves disk d to host moved[d].
  void move_disks(std::span<const int> moved) {
    std::map<std::string, std::vector<std::byte>> files[groups];
    for (int node = 0; node < groups; ++node)
      for (const std::string& path : disks_[node].paths())
        files[moved[static_cast<size_t>(node)]][path] = disks_[node].contents(path);
    for (int node = 0; node < groups; ++node) {
      lose(node);
      for (const auto& [path, bytes] : files[node])
        disks_[node].open(path, Access::create)->write_at(bytes, 0);
    }
  }
  MemoryStore& disk(int node) { return disks_[node]; }
  Store* instead[groups] = {};  // replacement stores, by disk

 private:
  Store& store_of(Comm& comm) {
    const int node = group_of_task(comm.rank());
    return instead[node] ? *instead[node] : disks_[node];
  }
  MemoryStore disks_[groups];
};

// The extension header (docs/format.md, section 14) holds a random identity.
std::vector<std::byte> without_identity(std::vector<std::byte> file) {
  std::fill_n(file.begin() + 1012, 64, std::byte{0});
  return file;
}

TEST(Buddy, FilesOfALostDiskAreSentByAnotherNode) {
  for (const int64_t bytes : {90, 500'000})
    for (const int levels : {1, 2})
      for (int node = 0; node < groups; ++node) {
        IsolatedNodes nodes;
        nodes.write(levels, bytes);
        const auto before = nodes.disk(node).contents(file_of(-1, node));
        nodes.lose(node);
        const std::string words = "r,buddy=" + std::to_string(levels);
        ASSERT_NO_THROW(nodes.read(words, bytes)) << "node " << node;
        EXPECT_EQ(without_identity(nodes.disk(node).contents(file_of(-1, node))), without_identity(before));
        EXPECT_EQ(nodes.disk(node).paths(), std::vector<std::string>{file_of(-1, node)});
      }
}

TEST(Buddy, TwoLostDisksNeedTwoCopies) {
  for (const int levels : {1, 2}) {
    IsolatedNodes nodes;
    nodes.write(levels, 90);
    nodes.lose(0);
    nodes.lose(2);
    EXPECT_EQ(code_of([&] { nodes.read("r,buddy=2", 90); }), levels == 2 ? Code::ok : Code::not_found);
  }
}

// Files and copies are on hosts other than those that wrote them, and one disk is lost. Any host that sees a
// file or copy must serve it.
TEST(Buddy, WhoeverSeesAFileOrACopyServesIt) {
  constexpr int orders[][groups] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {1, 0, 2}, {0, 0, 0}, {2, 2, 1}};
  for (const auto& order : orders)
    for (int lost = -1; lost < groups; ++lost) {
      IsolatedNodes nodes;
      nodes.write(1, 90);
      if (lost >= 0) nodes.lose(lost);
      nodes.move_disks(order);
      EXPECT_NO_THROW(nodes.read("r,buddy", 90))
          << "order " << order[0] << order[1] << order[2] << ", lost " << lost;
    }
}

// A file of another set must not replace a missing one.
TEST(Buddy, AFileOfAnotherSetDoesNotServe) {
  IsolatedNodes nodes;
  nodes.write(1, 90);
  nodes.lose(1);
  const auto other = nodes.disk(2).contents(file_of(-1, 2));
  nodes.disk(2).open(file_of(-1, 1), Access::create)->write_at(other, 0);
  EXPECT_NO_THROW(nodes.read("r,buddy", 90));
}

TEST(Buddy, NothingIsMadeWhereFilesOrCopiesCanBeSeen) {
  MemoryStore store;
  write_set(store, 1);
  store.remove(file_of(-1, 1));
  const auto paths = store.paths();
  read_set(store, "r,buddy");
  EXPECT_EQ(store.paths(), paths);
}

TEST(Buddy, FailuresWhileSendingReachAllTasksAndLeaveNoFile) {
  // Host 0 stores copy 0 of file 1; host 1 restores it.
  for (const int faulty_node : {0, 1})
    for (int64_t k = 0;; ++k) {
      IsolatedNodes nodes;
      nodes.write(1, 90);
      nodes.lose(1);
      FaultPlan plan;
      plan.fail_at = k;
      FaultyStore faulty(nodes.disk(faulty_node), plan);
      nodes.instead[faulty_node] = &faulty;
      const Code code = code_of([&] { nodes.read("r,buddy", 90); });
      nodes.instead[faulty_node] = nullptr;
      if (faulty.failed() == 0) {
        EXPECT_EQ(code, Code::ok);
        break;
      }
      for (const std::string& path : nodes.disk(1).paths())
        EXPECT_EQ(path, file_of(-1, 1)) << "operation " << k;
      EXPECT_NO_THROW(nodes.read("r,buddy", 90)) << "operation " << k;
      ASSERT_LT(k, 300);
    }
}

TEST(Buddy, WithoutAnyCopyTheOriginalErrorIsTold) {
  MemoryStore store;
  write_set(store, 1);
  store.remove(file_of(-1, 1));
  store.remove(file_of(0, 1));
  EXPECT_EQ(code_of([&] { read_set(store, "r,buddy"); }), Code::not_found);
}

// Every operation on the original files fails on one task. The open must then take the required data from the
// copies.
TEST(Buddy, AFileMayBeUnreadableForOneTaskOnly) {
  MemoryStore memory;
  write_set(memory, 1);
  for (int64_t k = 0;; ++k) {
    FaultPlan plan;
    plan.kind = StoreOperation::open;
    plan.fail_at = k;
    FaultyStore faulty(memory, plan);
    EXPECT_NO_THROW(run_fibers(fibers(tasks), [&](Comm& comm) {
      Reader reader(faulty, comm.duplicate(), "a", mode_of("r,buddy"));
      std::vector<std::byte> found(180);
      require(reader.stream().read(found) == 180 && found == content(comm.rank(), 0, 180), "bytes");
      reader.close();
    })) << k;
    if (faulty.failed() == 0) break;
    ASSERT_LT(k, 100);
  }
}

TEST(Buddy, ACopyIsAMultifileOfItsOwn) {
  MemoryStore store;
  write_set(store, 1, 400'000);
  Reader copy(store, buddy_name("a", 0), mode_of("r"));
  ASSERT_EQ(copy.ntasks(), tasks);
  for (int t = 0; t < tasks; ++t) {
    copy.select(t);
    const auto expected = content(t, 0, (t == 5 ? 2 : 4) * 400'000);
    std::vector<std::byte> found(expected.size());
    ASSERT_EQ(copy.stream().read(found), found.size());
    EXPECT_EQ(found, expected);
  }
  EXPECT_NO_THROW(read_set(store, "r,buddy", 400'000));
}

TEST(Buddy, FailuresWhileCopyingReachAllTasks) {
  for (const bool half : {false, true})
    for (int64_t k = 0;; ++k) {
      MemoryStore memory;
      FaultPlan plan;
      plan.path_contains = "_BUDDY_";
      plan.fail_at = k;
      plan.half_first = half;
      FaultyStore faulty(memory, plan);
      const Code code = code_of([&] { write_set(faulty, 2); });
      EXPECT_EQ(code == Code::ok, faulty.failed() == 0);
      EXPECT_NO_THROW(read_set(memory, "r"));  // the set itself is complete
      if (faulty.failed() == 0) break;
      ASSERT_LT(k, 300);
    }
}

}  // namespace
}  // namespace sheaf::test::buddy_test
