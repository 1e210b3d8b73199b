// Runs the campaign over shared files, on which the MPI-IO functions are built. The tasks are fibers. The
// programs write collectively and independently, and through the second sequence that nonblocking collective
// calls use.
#include <gtest/gtest.h>

#include "campaign/injection.hpp"
#include "campaign/region_oracle.hpp"
#include "comm/agree.hpp"
#include "mpiio/file/sequence.hpp"
#include "mpiio/file/shared_file.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/hosts_store.hpp"
#include "support/stores/memory_store.hpp"
#include "support/stores/recording_store.hpp"
#include "support/variable.hpp"

namespace sheaf::test::campaign {

using namespace mpiio;

namespace {

constexpr int64_t file_size = 3000;
const std::string shared_name = "dir/file";

struct SharedProgram {
  uint64_t seed = 0;
  int tasks = 1;
  int per_host = 1;
  int calls = 0;
  int64_t piece = 0;  // bytes of one element of a task's view
  bool nonblocking = false, atomic = false, repeats = false;
  int64_t old = 0;  // bytes in the file before the program
  Hints hints;

  std::string describe() const {
    return std::to_string(tasks) + " tasks, " + std::to_string(per_host) + " a host, " +
           std::to_string(calls) + " calls, pieces of " + std::to_string(piece) + " bytes" +
           (atomic ? ", atomic" : "") + (repeats ? ", failed calls are repeated" : ", failures are ignored");
  }
};

SharedProgram draw(uint64_t seed, bool nonblocking) {
  Random random(seed * 104'729 + nonblocking);
  SharedProgram p;
  p.seed = seed;
  p.nonblocking = nonblocking;
  p.tasks = 1 + static_cast<int>(random.below(5));
  p.per_host = 1 + static_cast<int>(random.below(3));
  p.calls = 2 + static_cast<int>(random.below(8));
  p.piece = 1 + random.below(60);
  p.atomic = random.chance(5);
  p.repeats = random.chance(2);
  p.old = random.chance(3) ? 0 : random.below(file_size);
  for (Choice* choice : {&p.hints.collective_write, &p.hints.sieve_write})
    *choice = static_cast<Choice>(random.chance(2) ? 0 : random.below(3));
  if (random.chance(2)) p.hints.aggregators = static_cast<int>(1 + random.below(4));
  if (random.chance(2)) p.hints.buffer_size = 1 + random.below(2000);
  if (random.chance(3)) p.hints.block_size = 1 + random.below(64);
  for (bool* flag : {&p.hints.shared, &p.hints.overlap, &p.hints.reuse, &p.hints.psets, &p.hints.aligned,
                     &p.hints.alltoall, &p.hints.allreduce})
    *flag = !random.chance(4);
  if (!random.chance(3)) p.hints.data = static_cast<ExchangeMethod>(random.below(3));
  if (random.chance(2)) p.hints.ranges = ReductionMethod::allreduce;
  return p;
}

class SharedFileTask {
 public:
  SharedFileTask(Comm& comm, Store& store, const SharedProgram& p, Regions& regions)
      : comm_(comm),
        p_(p),
        regions_(regions),
        common_(p.seed),
        own_(p.seed * 31 + static_cast<uint64_t>(comm.rank())) {
    file_ = SharedFile::open(comm.duplicate(), store, shared_name,
                             {.read = true, .write = true, .create = true}, p.hints);
    view_.displacement = p.piece * comm.rank();
    view_.filetype = layout::TypeMap::bytes(p.piece).resized(0, p.piece * (p.tasks + 1));
    if (p.nonblocking) other_ = file_->make_sequence();
  }

  // Runs the program and returns whether the close succeeded.
  bool run() {
    if (p_.atomic) failed_anywhere([&] { file_->set_atomic(true); });
    for (int call = 0; call < p_.calls; ++call) {
      const bool together = common_.chance(2) || p_.nonblocking;
      write(together);
      if (common_.chance(4) && !failed_anywhere([&] { file_->sync(); })) commit();
    }
    other_.reset();
    return !attempt([&] { file_->close(); });
  }

 private:
  // Syncs the file. If the sync succeeds, the bytes of all tasks are safe.
  void commit() {
    comm_.barrier();
    if (comm_.rank() == 0) regions_.commit();
    comm_.barrier();
  }

  bool failed_anywhere(const std::function<void()>& act) {
    int64_t failed = attempt(act).has_value();
    comm_.all_max(std::span(&failed, 1));
    return failed != 0;
  }

  template <class Visit>
  void each_piece(int64_t position, std::span<const std::byte> data, Visit&& visit) {
    for (size_t i = 0; i < data.size(); ++i)
      visit(view_.offset_of(position + static_cast<int64_t>(i)), data.subspan(i, 1));
  }

  void write(bool together) {
    const int64_t room = (file_size - view_.displacement) / (p_.piece * (p_.tasks + 1)) * p_.piece;
    const int64_t position = own_.below(std::max<int64_t>(1, room / 2));
    std::vector<std::byte> data(static_cast<size_t>(own_.below(std::max<int64_t>(1, room / 2))));
    for (std::byte& b : data) b = static_cast<std::byte>(1 + own_.below(255));
    each_piece(position, data, [&](int64_t at, auto byte) { regions_.attempt(at, byte); });
    const Source from{data.data(), layout::TypeMap::bytes(1), std::ssize(data)};
    const auto once = [&] {
      return attempt([&] {
               if (!together)
                 file_->write_at(view_, position, from);
               else
                 file_->write_at_all(other_ && common_.chance(2) ? *other_ : file_->sequence(), view_,
                                     position, from);
             })
          .has_value();
    };
    for (int tries = 1;; ++tries) {
      int64_t failed = once();
      const bool mine = failed != 0;
      if (together) comm_.all_max(std::span(&failed, 1));
      if (!failed) {
        each_piece(position, data, [&](int64_t at, auto byte) { regions_.accept(at, byte); });
        return;
      }
      if (!p_.repeats || tries == 4) {
        if (mine) each_piece(position, data, [&](int64_t at, auto byte) { regions_.lack(at, byte); });
        // The bytes of this task may be in the file although the collective call failed on another task.
        return;
      }
    }
  }

  Comm& comm_;
  const SharedProgram& p_;
  Regions& regions_;
  Random common_, own_;
  std::unique_ptr<SharedFile> file_;
  std::unique_ptr<Sequence> other_;
  View view_;
};

struct SharedFileOutcome {
  bool opened = false, closed = false;
  int64_t operations = 0;
};

SharedFileOutcome run_program(const SharedProgram& p, const std::function<Store&(int)>& store_of,
                              FaultyStore& counts, Regions& regions) {
  SharedFileOutcome outcome;
  std::vector<int> opened(static_cast<size_t>(p.tasks)), closed(opened);
  run_fibers({.ranks = p.tasks, .stack_bytes = 128 << 10, .seed = p.seed, .ranks_per_node = p.per_host},
             [&](Comm& comm) {
               std::optional<SharedFileTask> task;
               if (attempt([&] { task.emplace(comm, store_of(comm.rank()), p, regions); })) return;
               opened[static_cast<size_t>(comm.rank())] = 1;
               closed[static_cast<size_t>(comm.rank())] = task->run();
             });
  for (const auto* calls : {&opened, &closed}) {
    const auto ok = std::ranges::count(*calls, 1);
    if (ok != 0 && ok != p.tasks) throw std::runtime_error("an open or a close had different outcomes");
  }
  outcome.opened = opened[0] != 0;
  outcome.closed = closed[0] != 0;
  outcome.operations = counts.operations();
  return outcome;
}

void run_case(const SharedProgram& p, std::string& told) {
  std::vector<std::byte> old(static_cast<size_t>(p.old), std::byte{0xee});
  Injection injection;
  {
    MemoryStore memory;
    if (p.old > 0) memory.set_contents(shared_name, old);
    FaultyStore store(memory);
    Regions regions(file_size, old);
    const auto outcome = run_program(
        p, [&](int) -> Store& { return store; }, store, regions);
    if (!outcome.closed) throw std::runtime_error("a program without failures did not close");
    regions.check(memory.contents(shared_name), true);
    injection = draw_injection(p.seed,
                               {Failure::once, Failure::several, Failure::from_then_on, Failure::killed,
                                Failure::power_lost, Failure::host_lost},
                               outcome.operations, p.calls);
  }
  told = injection.describe();
  Regions regions(file_size, old);
  const bool dies = injection.ends_job();
  if (injection.failure == Failure::host_lost) {
    HostsOptions options;
    options.seed = p.seed;
    options.locks = LockScope::global;
    SimulatedHosts hosts(options);
    const int last_host = (p.tasks - 1) / p.per_host;
    if (p.old > 0) {
      HostsStore maker(hosts, last_host + 1, p.tasks);
      const auto file = maker.open(shared_name, Access::create);
      file->write_at(old, 0);
      file->close();
    }
    const int victim = static_cast<int>(p.seed / 2) % (last_host + 1);
    injection.plan.when_reached = [&] { regions.stop(), hosts.lose(victim); };
    std::vector<std::unique_ptr<HostsStore>> stores;
    for (int t = 0; t < p.tasks; ++t)
      stores.push_back(std::make_unique<HostsStore>(hosts, t / p.per_host, t));
    FaultyStore counts(*stores[0], injection.plan);
    std::vector<std::unique_ptr<FaultyStore>> faulty;
    for (int t = 1; t < p.tasks; ++t)
      faulty.push_back(std::make_unique<FaultyStore>(*stores[static_cast<size_t>(t)], counts));
    run_program(
        p, [&](int t) -> Store& { return t == 0 ? counts : *faulty[static_cast<size_t>(t) - 1]; }, counts,
        regions);
    const auto paths = hosts.paths();
    if (std::ranges::find(paths, shared_name) != paths.end())
      regions.check(hosts.contents(shared_name), false);
    return;
  }
  MemoryStore memory;
  if (p.old > 0) memory.set_contents(shared_name, old);
  RecordingStore tape(memory);
  if (p.old > 0) tape.open(shared_name, Access::write)->close();
  const bool records = injection.failure == Failure::power_lost;
  if (dies) injection.plan.when_reached = [&] { regions.stop(); };
  FaultyStore store(records ? static_cast<Store&>(tape) : memory, injection.plan);
  const auto outcome = run_program(
      p, [&](int) -> Store& { return store; }, store, regions);
  if (dies && outcome.closed) return;  // the job died after its last operation
  MemoryStore survived;
  if (records) tape.replay_losing_unsynced(tape.length(), p.seed, survived);
  MemoryStore& left = records ? survived : memory;
  if (!left.status(shared_name).exists) {
    if (outcome.closed) throw std::runtime_error("the close succeeded, and there is no file");
    return;
  }
  regions.check(left.contents(shared_name), outcome.closed && !dies);
}

class SharedCampaign : public ::testing::TestWithParam<bool> {};

TEST_P(SharedCampaign, KeepsAcceptedBytes) {
  const uint64_t one = variable("SHEAF_CAMPAIGN_SEED", 0);
  const uint64_t last = one ? one : variable("SHEAF_CAMPAIGN_CASES", 150);
  for (uint64_t seed = one ? one : variable("SHEAF_CAMPAIGN_FIRST", 1); seed <= last; ++seed) {
    const SharedProgram p = draw(seed, GetParam());
    std::string told = "no failure";
    try {
      run_case(p, told);
    } catch (const std::exception& e) {
      ADD_FAILURE() << "SHEAF_CAMPAIGN_SEED=" << seed << ": " << e.what() << "\n"
                    << p.describe() << "; " << told;
      if (variable("SHEAF_CAMPAIGN_STOP", 1)) return;
    }
  }
}

// Publishing earlier writes failed after the call had taken windows. The next call then waited for them.
TEST(SharedCampaignSeeds, AFailureToPublishLeavesTheNextCallItsWindows) {
  for (const uint64_t seed : {1222, 1979}) {
    std::string told;
    EXPECT_NO_THROW(run_case(draw(seed, false), told)) << told;
  }
}

INSTANTIATE_TEST_SUITE_P(MpiIo, SharedCampaign, ::testing::Values(false, true),
                         [](const auto& one) { return std::string(one.param ? "nonblocking" : "blocking"); });

}  // namespace
}  // namespace sheaf::test::campaign
