// Small independent writes that wait in memory while the server refuses requests.
#include <gtest/gtest.h>

#include <cstdlib>

#include "comm/agree.hpp"
#include "comm/reduce.hpp"
#include "mpiio/file/held_pieces.hpp"
#include "mpiio/file/model.hpp"
#include "support/hosts_store.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::held_writes_faults_test {

using namespace held_pieces;
using namespace mpiio;

namespace {

// The server has no space from a moment on. The calls that need the bytes fail on all tasks, until the
// program has written them again.
TEST(HeldWritesFaults, FailInTheNextCollectiveCallAndTheClose) {
  for (const bool rewrites : {false, true})
    for (const std::string& call : {std::string("sync"), std::string("write"), std::string("read")}) {
      SCOPED_TRACE(call);
      test::SimulatedHosts hosts;
      std::unique_ptr<FaultyStore> faults;
      test::HostsStore first(hosts, 0, 0);
      FaultyStore ledger(first);
      on_hosts([&](Comm& comm) {
        test::HostsStore own(hosts, comm.rank(), comm.rank());
        FaultyStore store(own, ledger);
        const auto file = SharedFile::open(comm.duplicate(), store, "file", both, hold(Choice::automatic));
        const View view = SmallPieces::view_of(comm.rank());
        const auto mine = SmallPieces::of(comm.rank());
        file->write_at(view, 0, from(mine));
        comm.barrier();
        const auto set_full = [&](bool is_full) {
          comm.barrier();
          FaultPlan plan;
          plan.kind = StoreOperation::write;
          plan.errno_value = ENOSPC;
          plan.from_then_on = true;
          plan.fail_at = is_full ? 0 : -1;
          if (comm.rank() == 0) ledger.set_plan(plan);
          comm.barrier();
        };
        set_full(true);
        std::vector<std::byte> found(10);
        const auto failed = attempt([&] {
          if (call == "sync") file->sync();
          if (call == "write") file->write_at_all(file->sequence(), {}, 3 * SmallPieces::size, from(found));
          if (call == "read") file->read_at_all(file->sequence(), {}, 0, into(found));
        });
        ASSERT_TRUE(failed);
        EXPECT_EQ(failed->code(), Code::no_space) << failed->what();
        set_full(false);
        const auto later = attempt([&] { file->sync(); });
        ASSERT_TRUE(later);
        EXPECT_NE(std::string(later->what()).find("missing"), std::string::npos) << later->what();
        if (rewrites) {
          file->write_at(view, 0, from(mine));
          if (call == "write") file->write_at_all(file->sequence(), {}, 3 * SmallPieces::size, from(found));
          file->sync();
        }
        const auto closing = attempt([&] { file->close(); });
        EXPECT_EQ(closing.has_value(), !rewrites);
      });
      if (!rewrites) continue;
      auto all = hosts.contents("file");
      all.resize(SmallPieces::size);
      SmallPieces::check(all);
    }
}

// Random programs in which some requests to the server fail. A sync that succeeds has every byte of every
// earlier write; all tasks agree on the outcome of collective calls.
class HeldWritesProgram {
 public:
  HeldWritesProgram(Comm& comm, FaultyStore& store, test::SimulatedHosts& hosts,
                    model::ExpectedContents& contents, uint64_t seed)
      : comm_(comm),
        store_(store),
        hosts_(hosts),
        contents_(contents),
        common_(seed),
        own_(seed * 1000 + static_cast<uint64_t>(comm.rank())) {}

  void run() {
    Hints hints = hold(common_.once_in(2) ? Choice::enabled : Choice::automatic);
    hints.collective_write = static_cast<Choice>(common_.in(0, 2));
    file_ = SharedFile::open(comm_.duplicate(), store_, "file", both, hints);
    view_ = model::view_of(model::random_owners(common_, comm_.size()), comm_.rank(), common_.in(1, 4), 0);
    owns_ = view_.filetype.size() != view_.filetype.extent();
    for (int64_t steps = common_.in(4, 20); steps > 0; --steps) step();
    set_faults({});
    // Writes of all bytes of the task end all failures.
    write(true, 0, longest);
    EXPECT_TRUE(sync());
    const auto closing = attempt([&] { file_->close(); });
    EXPECT_FALSE(closing) << closing->what();
  }

 private:
  static constexpr int64_t longest = 2000;

  void step() {
    const int64_t kind = common_.in(0, 9);
    if (kind == 0) {
      FaultPlan plan;
      plan.kind = StoreOperation::write;
      plan.errno_value = ENOSPC;
      plan.from_then_on = common_.once_in(2);
      plan.fail_at = common_.in(0, 20);
      return set_faults(common_.once_in(2) ? plan : FaultPlan());
    }
    if (kind == 1) {
      sync();
    } else if (kind == 2) {
      std::vector<std::byte> found(200);
      agreed(attempt([&] { file_->read_at_all(file_->sequence(), view_, own_.in(0, 300), into(found)); }));
    } else {
      const int64_t position = own_.in(0, longest - 1);
      write(kind < 5, position, own_.in(1, std::min<int64_t>(longest - position, own_.in(1, longest))));
    }
  }

  void set_faults(const FaultPlan& plan) {
    comm_.barrier();
    if (comm_.rank() == 0) store_.set_plan(plan);
    comm_.barrier();
  }

  void write(bool together, int64_t position, int64_t bytes) {
    model::ModelBuffer buffer(own_, owns_ ? bytes : 0);
    contents_.write(view_, position, buffer);
    const auto failed = attempt([&] {
      if (together) file_->write_at_all(file_->sequence(), view_, position, buffer.source());
      if (!together) file_->write_at(view_, position, buffer.source());
    });
    if (together) agreed(failed);
    if (!together || failed || !owns_) return;
    ASSERT_GT(file_->bytes(), view_.offset_of(position + bytes - 1));
  }

  // Returns true if the sync has succeeded. Its bytes are then at the server.
  bool sync() {
    const auto failed = attempt([&] { file_->sync(); });
    agreed(failed);
    comm_.barrier();
    if (!failed && comm_.rank() == 0) {
      EXPECT_TRUE(hosts_.contents("file") == contents_.bytes);
    }
    comm_.barrier();
    return !failed;
  }

  void agreed(const std::optional<Error>& failed) {
    MinMax all(failed.has_value());
    reduce(comm_, all);
    EXPECT_TRUE(all.is_same()) << (failed ? failed->what() : "success");
  }

  Comm& comm_;
  FaultyStore& store_;
  test::SimulatedHosts& hosts_;
  model::ExpectedContents& contents_;
  model::RandomSource common_, own_;
  std::unique_ptr<SharedFile> file_;
  View view_;
  bool owns_ = false;  // the task has bytes of its own
};

TEST(HeldWritesFaults, AreInTheFileAfterASyncThatSucceeds) {
  const char* const wanted = std::getenv("SHEAF_HOSTS_CASES");
  const uint64_t count = wanted ? std::stoull(wanted) : 300;
  for (uint64_t seed = 1; seed <= count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    model::RandomSource random(seed);
    const int per_host = static_cast<int>(random.in(1, 2));
    const FileSystem kinds[] = {FileSystem::nfs, FileSystem::moosefs, FileSystem::glusterfs};
    test::SimulatedHosts hosts({.locks = static_cast<LockScope>(random.in(0, 2)),
                                .kind = kinds[random.in(0, 2)],
                                .page = 64,
                                .unit = 256,
                                .seed = seed,
                                .behind = random.once_in(2)});
    model::ExpectedContents contents;
    test::HostsStore first(hosts, 0, 0);
    const FaultyStore ledger(first);
    run_fibers({.ranks = static_cast<int>(random.in(2, 5)),
                .stack_bytes = 256 << 10,
                .seed = seed,
                .ranks_per_node = per_host},
               [&](Comm& comm) {
                 test::HostsStore own(hosts, comm.rank() / per_host, comm.rank());
                 FaultyStore store(own, ledger);
                 HeldWritesProgram(comm, store, hosts, contents, seed).run();
               });
  }
}

}  // namespace
}  // namespace sheaf::held_writes_faults_test
