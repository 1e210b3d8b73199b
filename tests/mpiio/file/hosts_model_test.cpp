// Random programs of tasks on simulated hosts without a common page cache, compared with the model. Before a
// task independently reads or changes data of another task, all tasks sync, call a barrier, and sync again
// (MPI 3.1, 13.6.1). Before collective reads, only the barrier is needed. A task may read its own data at
// once.
#include <gtest/gtest.h>

#include <cstdlib>

#include "mpiio/file/model.hpp"
#include "mpiio/file/shared_file.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/hosts_store.hpp"

namespace sheaf::hosts_model_test {

using namespace mpiio;

namespace {

using model::ExpectedContents;
using model::ModelBuffer;
using model::RandomSource;

constexpr SharedMode both{.read = true, .write = true, .create = true};

struct HostsCase {
  bool together = false;   // all writes are collective
  bool reads_own = false;  // tasks read their own data before a synchronization
  int tasks = 2;
  int per_host = 1;
  test::HostsOptions options;
  Hints hints;
};

test::HostsOptions any_options(RandomSource& random) {
  test::HostsOptions options;
  options.locks = static_cast<LockScope>(random.in(0, 2));
  if (random.once_in(3)) options.kind = FileSystem::unknown;  // each transfer is published separately
  options.page = int64_t{16} << random.in(0, 6);
  options.unit = options.page << random.in(0, 5);
  options.seed = static_cast<uint64_t>(random.in(0, 1 << 30));
  options.pressure = static_cast<int>(random.in(0, 3));
  options.timeout = static_cast<int>(random.in(0, 3));
  const int64_t direct[] = {0, 1, 1, 8, options.page};
  options.direct = direct[random.in(0, 4)];
  for (bool* flag : {&options.behind, &options.writes_whole_pages, &options.answers_tell_change_before,
                     &options.locks_revalidate, &options.names_get_stale, &options.absence_is_kept})
    *flag = random.once_in(2);
  options.knows_old_lengths = options.kind == FileSystem::unknown && random.once_in(2);
  return options;
}

HostsCase any_case(RandomSource& random) {
  HostsCase one;
  one.together = random.once_in(3);
  one.reads_own = random.once_in(2);
  one.tasks = static_cast<int>(random.in(2, 8));
  one.per_host = static_cast<int>(random.in(1, std::min(3, one.tasks - 1)));
  one.options = any_options(random);
  Hints& hints = one.hints;
  for (Choice* choice :
       {&hints.collective_write, &hints.collective_read, &hints.sieve_write, &hints.sieve_read})
    *choice = static_cast<Choice>(random.once_in(2) ? 0 : random.in(0, 2));
  if (random.once_in(2)) hints.aggregators = random.in(1, 5);
  if (random.once_in(2)) hints.buffer_size = random.in(1, 3000);
  if (random.once_in(3)) hints.block_size = random.in(1, 64);
  if (random.once_in(3)) hints.io_tasks = random.in(1, 3);
  hints.sieve_read_size = random.in(1, 300);
  for (bool* flag : {&hints.shared, &hints.overlap, &hints.reuse, &hints.psets, &hints.aligned,
                     &hints.alltoall, &hints.allreduce})
    *flag = !random.once_in(4);
  if (!random.once_in(3)) hints.data = static_cast<ExchangeMethod>(random.in(0, 2));
  if (random.once_in(2)) hints.ranges = ReductionMethod::allreduce;
  hints.hold_writes = static_cast<Choice>(random.in(0, 2));
  return one;
}

// The actions of one task. All tasks use generators with one seed, so that they agree on common choices.
class HostsTaskProgram {
 public:
  HostsTaskProgram(Comm& comm, const HostsCase& one, test::SimulatedHosts& hosts, ExpectedContents& contents,
                   uint64_t seed)
      : comm_(comm),
        one_(one),
        hosts_(hosts),
        store_(hosts, comm.rank() / one.per_host, comm.rank()),
        contents_(contents),
        common_(seed),
        own_(seed * 1000 + static_cast<uint64_t>(comm.rank())) {}

  void run() {
    open();
    new_view();
    for (int64_t steps = common_.in(2, 14); steps > 0 && !testing::Test::HasFatalFailure(); --steps) step();
    meet();
    file_->close();
    comm_.barrier();
    if (comm_.rank() == 0) check_server("after the close");
  }

 private:
  void open() { file_ = SharedFile::open(comm_.duplicate(), store_, "file", both, one_.hints); }

  // Synchronizes as a program must between accesses of several tasks to the same bytes.
  void meet() {
    file_->sync();
    comm_.barrier();
    file_->sync();
  }

  void new_view() {
    meet();
    owners_ = model::random_owners(common_, comm_.size());
    view_ = model::view_of(owners_, comm_.rank(), common_.in(1, 3) * common_.in(1, 5), common_.in(0, 300));
    file_->set_view(view_);
  }

  void step() {
    const int64_t kind = common_.in(0, 14);
    if (kind == 0) return new_view();
    if (kind == 1) return reopen();
    if (kind == 2) return common_.once_in(2) ? resize() : preallocate();
    if (kind == 3) return claim();
    if (kind < 10) return write(one_.together || kind < 7);
    read(kind < 13);
  }

  // Reopens the file, in some cases under a name that another host has removed.
  void reopen() {
    meet();
    file_->close();
    comm_.barrier();
    if (common_.once_in(2)) {
      const bool mine = comm_.rank() == static_cast<int>(common_.in(0, comm_.size() - 1));
      if (mine) {
        store_.remove("file");
        contents_.bytes.clear();
      }
      comm_.barrier();
    }
    open();
    file_->set_view(view_);
  }

  void resize() {
    meet();
    const int64_t size = common_.in(0, 4000);
    file_->resize(size);
    if (comm_.rank() == 0) contents_.bytes.resize(static_cast<size_t>(size));
    EXPECT_EQ(file_->bytes(), size) << "at task " << comm_.rank();
    comm_.barrier();
  }

  // Preallocates. A longer file must keep its length, even if task 0 has cached a shorter one.
  void preallocate() {
    meet();
    const int64_t size = common_.in(0, 4000);
    file_->preallocate(size);
    if (comm_.rank() == 0)
      contents_.bytes.resize(std::max(static_cast<size_t>(size), contents_.bytes.size()));
    comm_.barrier();
    EXPECT_EQ(file_->bytes(), std::ssize(contents_.bytes)) << "at task " << comm_.rank();
    comm_.barrier();
  }

  // Moves the shared pointer. The positions of all tasks must follow each other.
  void claim() {
    const int64_t bytes = own_.in(0, 50);
    const bool ordered = common_.once_in(2);
    if (!ordered) comm_.barrier();
    int64_t before = file_->claim_shared(0);
    comm_.broadcast(std::as_writable_bytes(std::span(&before, 1)), 0);
    comm_.barrier();
    const int64_t place =
        ordered ? file_->claim_ordered(file_->sequence(), bytes) : file_->claim_shared(bytes);
    comm_.barrier();
    std::vector<int64_t> sum{bytes, bytes > 0 ? place * bytes + bytes * (bytes - 1) / 2 : 0};
    comm_.all_sum(sum);
    EXPECT_EQ(file_->claim_shared(0), before + sum[0]);
    EXPECT_EQ(sum[1], before * sum[0] + sum[0] * (sum[0] - 1) / 2) << "places leave gaps or overlap";
    comm_.barrier();
  }

  void choose() {
    if (own_.once_in(3)) return;  // repeats the last extent
    position_ = own_.in(0, 3) * own_.in(0, 200);
    bytes_ = own_.once_in(5) ? 0 : own_.in(1, 900);
  }

  // Writes. Consecutive writes go to bytes of the same tasks.
  void write(bool together) {
    const bool owns = std::ranges::find(owners_, comm_.rank()) != owners_.end();
    choose();
    ModelBuffer buffer(own_, owns ? bytes_ : 0);
    contents_.write(view_, position_, buffer);
    const int64_t done = together ? file_->write_at_all(file_->sequence(), view_, position_, buffer.source())
                                  : file_->write_at(view_, position_, buffer.source());
    EXPECT_EQ(done, buffer.bytes());
    if (done > 0) {
      EXPECT_GT(file_->bytes(), view_.offset_of(position_ + done - 1));
    }
    if (one_.reads_own && common_.once_in(3)) read_own();
    if (!common_.once_in(2)) return;
    meet();
    if (comm_.rank() == 0) check_server("after a write");
    comm_.barrier();
  }

  // Reads all or a part of the task's last write, without synchronization.
  void read_own() {
    const bool owns = std::ranges::find(owners_, comm_.rank()) != owners_.end();
    if (!owns || bytes_ == 0 || own_.once_in(4)) return;
    const int64_t from = own_.in(0, bytes_ - 1);
    ModelBuffer buffer(own_, own_.in(1, bytes_ - from));
    const ModelBuffer before = buffer;
    const int64_t done = file_->read_at(view_, position_ + from, buffer.destination());
    EXPECT_EQ(done, buffer.bytes()) << "of its own, at task " << comm_.rank();
    contents_.check_read(view_, position_ + from, buffer, before, done);
  }

  void read(bool together) {
    if (!together || common_.once_in(2)) meet();
    comm_.barrier();
    choose();
    ModelBuffer buffer(own_, bytes_);
    const ModelBuffer before = buffer;
    const int64_t done = together
                             ? file_->read_at_all(file_->sequence(), view_, position_, buffer.destination())
                             : file_->read_at(view_, position_, buffer.destination());
    contents_.check_read(view_, position_, buffer, before, done);
    comm_.barrier();
  }

  void check_server(const std::string& when) {
    const auto found = hosts_.contents("file");
    EXPECT_EQ(found.size(), contents_.bytes.size()) << when;
    const auto differs = std::ranges::mismatch(found, contents_.bytes).in1 - found.begin();
    ASSERT_EQ(differs, std::min(std::ssize(found), std::ssize(contents_.bytes))) << when;
  }

  Comm& comm_;
  const HostsCase& one_;
  test::SimulatedHosts& hosts_;
  test::HostsStore store_;
  ExpectedContents& contents_;
  RandomSource common_;
  RandomSource own_;
  std::unique_ptr<SharedFile> file_;
  std::vector<int> owners_;
  View view_;
  int64_t position_ = 0;
  int64_t bytes_ = 0;
};

std::string examples(const test::HostsCounts& counts) {
  std::string text;
  for (const std::string& one : counts.examples) text += one + "\n";
  return text;
}

void run_case(uint64_t seed) {
  RandomSource random(seed);
  const HostsCase one = any_case(random);
  SCOPED_TRACE("SHEAF_SEED=" + std::to_string(seed) + ": " + std::to_string(one.tasks) + " tasks, " +
               std::to_string(one.per_host) + " a host, page " + std::to_string(one.options.page) +
               ", unit " + std::to_string(one.options.unit) + ", direct " +
               std::to_string(one.options.direct) + ", locks " + name_of(one.options.locks));
  test::SimulatedHosts hosts(one.options);
  ExpectedContents contents;
  run_fibers({.ranks = one.tasks, .stack_bytes = 128 << 10, .seed = seed, .ranks_per_node = one.per_host},
             [&](Comm& comm) { HostsTaskProgram(comm, one, hosts, contents, seed).run(); });
  const auto counts = hosts.counts();
  // A sieving read of own data also covers bytes of other tasks, which these may not have published.
  if (!one.reads_own) {
    EXPECT_EQ(counts.foreign_bytes, 0) << examples(counts);
  }
  // Independent writes, and collective writes without aggregation, write exactly the task's own bytes. These
  // may lie in a unit that another host writes.
  if (one.together && one.hints.collective_write != Choice::disabled) {
    EXPECT_EQ(counts.mixed_units, 0) << examples(counts);
  }
}

TEST(HostsModel, AllTasksSeeWhatTheModelSays) {
  if (const char* const seed = std::getenv("SHEAF_SEED")) return run_case(std::stoull(seed));
  const char* const wanted = std::getenv("SHEAF_HOSTS_CASES");
  const uint64_t count = wanted ? std::stoull(wanted) : 300;
  for (uint64_t seed = 1; seed <= count && !HasFailure(); ++seed) run_case(seed);
}

}  // namespace
}  // namespace sheaf::hosts_model_test
