// Runs the campaign over the C interface of multifiles. The tasks are fibers, and the store is in memory. To
// run one case:
//
//     SHEAF_CAMPAIGN_SEED=17 build/bin/test_campaign --gtest_filter='*Campaign.*/keyval'
//
// SHEAF_CAMPAIGN_CASES: number of cases of each interface. SHEAF_CAMPAIGN_FIRST: first case.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "api/sion/mapped.hpp"
#include "api/sion/opening.hpp"
#include "campaign/injection.hpp"
#include "campaign/sion_program.hpp"
#include "sfio/striped_store.hpp"
#include "sheaf.h"
#include "sion.h"
#include "support/hosts_store.hpp"
#include "support/stores/recording_store.hpp"
#include "support/variable.hpp"

namespace sheaf::test::campaign {
namespace {

// These are names of striped files, because for such names the C interface uses the store that the test sets.
const std::string multifile = "sfio:h,/a;";
const std::string bystander = "sfio:h,/b;";

class FiberGroup final : public ProgramGroup {
 public:
  explicit FiberGroup(Comm& comm) : comm_(comm) {}
  int rank() const override { return comm_.rank(); }
  bool any(bool mine) override {
    int64_t all = mine;
    comm_.all_max(std::span(&all, 1));
    return all != 0;
  }
  std::vector<std::byte> from(int from, const std::vector<std::byte>& mine) override {
    int64_t size = std::ssize(mine);
    comm_.broadcast(std::as_writable_bytes(std::span(&size, 1)), from);
    std::vector<std::byte> bytes = mine;
    bytes.resize(static_cast<size_t>(size));
    comm_.broadcast(bytes, from);
    return bytes;
  }
  int open(const SionProgram& p, const std::string& name) override {
    switch (p.open) {
      case SionProgram::OpenForm::serial:
        return open_serially(p, name);
      case SionProgram::OpenForm::parallel:
        return open_in_parallel(p, name);
      case SionProgram::OpenForm::mapped:
        return open_mapped(p, name);
    }
    return -1;
  }
  int close(int sid) override {
    if (is_serial_) return sion_close(sid);
    return api::close_parallel("campaign", sid, is_mapped_ ? api::OpenedBy::mapped : api::OpenedBy::parallel);
  }

 private:
  int open_serially(const SionProgram& p, const std::string& name) {
    is_serial_ = true;
    int ntasks = p.tasks_each, files = 1;
    sion_int32 block = 64;
    std::vector<sion_int64> chunks(static_cast<size_t>(ntasks), p.chunk);
    std::vector<int> ranks(chunks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    sion_int64* chunk_table = chunks.data();
    int* rank_table = ranks.data();
    return sion_open(const_cast<char*>(name.c_str()), p.mode().c_str(), &ntasks, &files, &chunk_table, &block,
                     &rank_table, nullptr);
  }
  int open_in_parallel(const SionProgram& p, const std::string& name) {
    int files = p.files, block = 64;
    long long chunk = p.chunk;
    api::ParallelOpen call{};
    call.function = "campaign";
    call.fname = name.c_str();
    const std::string mode = p.mode();
    call.file_mode = mode.c_str();
    call.numfiles = &files;
    call.has_local = true;
    call.chunksize = &chunk;
    call.fsblksize = &block;
    return api::open_parallel(comm_.duplicate(), call);
  }
  int open_mapped(const SionProgram& p, const std::string& name) {
    is_mapped_ = true;
    int files = p.files, block = 64, mine = p.tasks_each;
    std::vector<int> ranks, numbers, places;
    for (int t = comm_.rank() * mine; t < (comm_.rank() + 1) * mine; ++t) {
      const auto place = layout::place_blockwise(t, p.ntasks(), p.files);
      ranks.push_back(t);
      numbers.push_back(place.file);
      places.push_back(place.local_rank);
    }
    std::vector<long long> chunks(ranks.size(), p.chunk);
    int *rank_table = ranks.data(), *number_table = numbers.data(), *place_table = places.data();
    long long* chunk_table = chunks.data();
    const std::string mode = p.mode();
    return api::open_mapped(comm_.duplicate(), {.function = "campaign",
                                                .fname = name.c_str(),
                                                .file_mode = mode.c_str(),
                                                .numfiles = &files,
                                                .nlocaltasks = &mine,
                                                .globalranks = &rank_table,
                                                .chunksizes = &chunk_table,
                                                .filenumbers = &number_table,
                                                .local_ranks = &place_table,
                                                .fsblksize = &block,
                                                .fileptr = nullptr});
  }

  Comm& comm_;
  bool is_serial_ = false, is_mapped_ = false;
};

// The C interface accesses files in `store` during the object's lifetime.
class Session {
 public:
  explicit Session(Store& store) { sfio::set_session_store({std::shared_ptr<Store>(), &store}); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { sfio::set_session_store(nullptr); }
};

// Each task accesses files through the store of its host.
class StoreOfRunningTask final : public ForwardingStore {
 public:
  StoreOfRunningTask(const SimulatedHosts& hosts, int tasks, int per_host)
      : ForwardingStore(first_of(hosts)) {
    for (int t = 0; t < tasks; ++t) stores_.push_back(std::make_unique<HostsStore>(hosts, t / per_host, t));
  }

 protected:
  std::shared_ptr<Store> store_of(const std::string&) override {
    const int task = memory_owner();
    return {std::shared_ptr<Store>(), stores_[static_cast<size_t>(std::max(task, 0))].get()};
  }

 private:
  static HostsStore& first_of(const SimulatedHosts& hosts) {
    static std::unique_ptr<HostsStore> unused;
    unused = std::make_unique<HostsStore>(hosts, 0, 0);
    return *unused;
  }
  std::vector<std::unique_ptr<HostsStore>> stores_;
};

struct SionRunOutcome {
  Ending ending = Ending::not_closed;
  bool agreed = true;         // the close had one outcome on all processes
  bool second_wrote = false;  // the other program wrote and closed the file
  int64_t operations = 0;
};

const std::string second_text = "of the second job";

bool write_as_second_job() {
  int ntasks = 1, files = 1, rank = 0;
  sion_int32 block = 64;
  sion_int64 chunk = 100;
  int* ranks = &rank;
  sion_int64* chunks = &chunk;
  const int sid = sion_open(const_cast<char*>(multifile.c_str()), "wb", &ntasks, &files, &chunks, &block,
                            &ranks, nullptr);
  if (sid < 0) return false;
  const bool wrote = sion_fwrite(second_text.data(), 1, second_text.size(), sid) == second_text.size();
  return sion_close(sid) == SION_SUCCESS && wrote;
}

void print(const std::vector<OperationRecord>& log) {
  std::puts("-- operations of a program:");
  for (size_t i = 0; i < log.size(); ++i)
    std::printf("%4zu %s %s %lld %lld%s\n", i, name_of(log[i].kind), log[i].path.c_str(),
                static_cast<long long>(log[i].offset), static_cast<long long>(log[i].length),
                log[i].failed ? "  FAILED" : "");
}

SionRunOutcome run_on_fibers(const SionProgram& p, Store& store, const Injection& injection,
                             Accepted& ledger) {
  FaultyStore faulty(store, injection.plan);
  const bool shows_log = variable("SHEAF_CAMPAIGN_LOG", 0) != 0;
  faulty.keep_log(shows_log);
  const Session session(faulty);
  SionRunOutcome outcome;
  std::vector<int> closed(static_cast<size_t>(p.processes), 0);
  FiberOptions options = fibers(p.processes, p.seed + 2);
  run_fibers(options, [&](Comm& comm) {
    FiberGroup group(comm);
    std::function<void(int)> before_call;
    if (injection.failure == Failure::second_job)
      before_call = [&](int call) {
        if (std::cmp_equal(call, injection.at)) outcome.second_wrote = write_as_second_job();
      };
    closed[static_cast<size_t>(comm.rank())] = run_program(group, p, multifile, ledger, before_call).closed;
  });
  const auto ok = std::ranges::count(closed, 1);
  outcome.agreed = ok == 0 || ok == std::ssize(closed);
  if (ok == std::ssize(closed)) outcome.ending = Ending::closed;
  outcome.operations = faulty.operations();
  if (shows_log) print(faulty.log());
  return outcome;
}

class SionCase {
 public:
  SionCase(Interface interface, uint64_t seed) : program_(draw_program(interface, seed)), seed_(seed) {}

  std::string describe() const { return program_.describe() + "; " + injection_.describe(); }

  // Runs the case. Throws std::runtime_error if the file violates a promise.
  void run() {
    const int64_t operations = run_undisturbed();
    const bool survives_power =
        program_.words.find("durable") != std::string::npos || program_.promise.atomic;
    injection_ = survives_power
                     ? draw_injection(seed_,
                                      {Failure::once, Failure::several, Failure::from_then_on,
                                       Failure::killed, Failure::power_lost, Failure::host_lost,
                                       Failure::read_only_directory, Failure::second_job},
                                      operations, program_.calls)
                     : draw_injection(seed_,
                                      {Failure::once, Failure::several, Failure::from_then_on,
                                       Failure::killed, Failure::read_only_directory, Failure::second_job},
                                      operations, program_.calls);
    if (injection_.failure == Failure::host_lost) return run_on_hosts();
    MemoryStore memory;
    const auto old = make_old(memory);
    RecordingStore tape(memory);
    Accepted ledger(program_.ntasks());
    if (injection_.ends_job()) injection_.plan.when_reached = [&] { ledger.stop(); };
    const bool records = injection_.failure == Failure::power_lost;
    if (records)  // the tape records the content of a file at its first use
      for (const std::string& name : memory.paths()) tape.open(name, Access::write)->close();
    const SionRunOutcome outcome =
        run_on_fibers(program_, records ? static_cast<Store&>(tape) : memory, injection_, ledger);
    require(outcome.agreed, "the close had different outcomes");
    if (!records) return check(memory, outcome, old, ledger);
    // Without `durable`, nothing is promised if power is lost after the first file got its final name.
    if (program_.words.find("durable") == std::string::npos && tape.has_renamed()) return;
    MemoryStore survived;
    tape.replay_losing_unsynced(tape.length(), seed_, survived);
    check(survived, outcome, old, ledger);
  }

 private:
  int64_t run_undisturbed() const {
    MemoryStore memory;
    const auto old = make_old(memory);
    Accepted ledger(program_.ntasks());
    const SionRunOutcome outcome = run_on_fibers(program_, memory, {}, ledger);
    require(outcome.ending == Ending::closed,
            std::string("a program without failures: ") + sheaf_last_error());
    check(memory, outcome, old, ledger);
    for (const std::string& name : memory.paths())
      require(name == bystander || name.find(".lease") == std::string::npos, "left over: " + name);
    return outcome.operations;
  }

  // Writes the old generation and the bystander.
  std::optional<Streams> make_old(Store& store) const {
    const auto other = store.open(bystander, Access::fresh);
    other->write_at(std::as_bytes(std::span(second_text)), 0);
    other->close();
    if (!program_.replaces) return std::nullopt;
    Accepted ledger(program_.ntasks());
    const SionRunOutcome outcome = run_on_fibers(program_.before(), store, {}, ledger);
    require(outcome.ending == Ending::closed, std::string("the generation before: ") + sheaf_last_error());
    Streams streams;
    for (int64_t t = 0; t < ledger.ntasks(); ++t) streams.push_back(ledger.of(t));
    return streams;
  }

  void check(Store& store, const SionRunOutcome& outcome, const std::optional<Streams>& old,
             const Accepted& ledger) const {
    std::vector<std::byte> found(second_text.size() + 1);
    found.resize(store.open(bystander, Access::read)->read_at(found, 0));
    require(std::ranges::equal(found, std::as_bytes(std::span(second_text))), "another file has changed");
    if (outcome.second_wrote) {
      require(outcome.ending != Ending::closed, "the close succeeded after another program wrote the file");
      const Streams streams = read_streams(store, multifile);
      require(streams.size() == 1 && std::ranges::equal(streams[0], std::as_bytes(std::span(second_text))),
              "the file of the second job has other bytes");
      return;
    }
    const Ending ending = injection_.ends_job() ? Ending::not_closed : outcome.ending;
    // The job died after its last operation.
    if (injection_.ends_job() && outcome.ending == Ending::closed) return;
    Promise promise = program_.promise;
    // An unclosed file may hold chunks that a failed call has completed.
    promise.frames |= !injection_.ends_job() && ledger.lacks_bytes();
    check_streams(store, multifile, ending, promise, old, ledger);
  }

  void run_on_hosts() {
    HostsOptions options;
    options.seed = seed_;
    SimulatedHosts hosts(options);
    const int per_host = 1 + static_cast<int>(seed_ % 2);
    StoreOfRunningTask stores(hosts, program_.processes, per_host);
    const auto old = make_old(stores);
    const int last_host = (program_.processes - 1) / per_host;
    const int victim = static_cast<int>(seed_ / 2) % (last_host + 1);
    Accepted ledger(program_.ntasks());
    injection_.plan.when_reached = [&] {
      ledger.stop();
      hosts.lose(victim);
    };
    const SionRunOutcome outcome = run_on_fibers(program_, stores, injection_, ledger);
    HostsStore reader(hosts, last_host + 1, program_.processes);
    check(reader, outcome, old, ledger);
  }

  const SionProgram program_;
  const uint64_t seed_;
  Injection injection_;
};

class Campaign : public ::testing::TestWithParam<Interface> {};

TEST_P(Campaign, KeepsAcceptedBytes) {
  sheaf_print_errors(0);
  const uint64_t one = variable("SHEAF_CAMPAIGN_SEED", 0);
  const uint64_t last = one ? one : variable("SHEAF_CAMPAIGN_CASES", 150);
  for (uint64_t seed = one ? one : variable("SHEAF_CAMPAIGN_FIRST", 1); seed <= last; ++seed) {
    SionCase c(GetParam(), seed);
    try {
      c.run();
    } catch (const std::exception& e) {
      ADD_FAILURE() << "SHEAF_CAMPAIGN_SEED=" << seed << ": " << e.what() << "\n" << c.describe();
      if (variable("SHEAF_CAMPAIGN_STOP", 1)) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sion, Campaign,
                         ::testing::Values(Interface::serial, Interface::parallel, Interface::mapped,
                                           Interface::collective, Interface::merged, Interface::keyval,
                                           Interface::compressed),
                         [](const auto& one) { return std::string(name_of(one.param)); });

}  // namespace
}  // namespace sheaf::test::campaign
