// The real open, write, close and read of a multifile with very many tasks: as many as the paper's machine
// had cores, and a million. Every task is a fiber. The test measures memory per task and messages; both
// measurements are exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "multifile/reader/reader.hpp"
#include "multifile/writer/writer.hpp"
#include "scale/counting_heap.hpp"
#include "storage/decorators/shared_handles.hpp"
#include "support/fibers/fiber_comm.hpp"

namespace sheaf::scale_test {

using namespace multifile;

namespace {

constexpr int64_t record_bytes = 48;
constexpr int64_t member_limit = 1024;  // heap bytes of a task that writes no metadata, besides its buffer
constexpr int64_t buffer_bytes = 64;    // for a writer that has written one record
// Memory that a reader needs to detect that the file was rewritten (storage/decorators/watched_file).
constexpr int64_t watch_bytes = 128;
constexpr int64_t sums_bytes = 16;  // a pointer to the checksums that a stream reads ahead

int64_t value_of(int task) { return 1000003 * int64_t{task} + 17; }

// Heap in use: the maximum over tasks that write no metadata, and the heap of metadata writers per task of
// their slice.
struct HeapUse {
  int64_t member = 0;
  int64_t metadata_writer = 0;
};

HeapUse measure(int ntasks) {
  HeapUse m;
  const int group = metadata_writer_group(ntasks);
  for (int t = 0; t < ntasks; ++t) {
    int64_t& most = t % group == 0 ? m.metadata_writer : m.member;
    most = std::max(most, counting_heap::max_held(t));
  }
  return m;
}

struct ScaleRun {
  HeapUse memory;
  Traffic traffic;
  double seconds;
};

// Runs `body` on every task with the heap counted.
template <class Body>
ScaleRun simulate(int ntasks, Body&& body) {
  ScaleRun run{};
  counting_heap::start(ntasks);
  const auto begin = std::chrono::steady_clock::now();
  FiberOptions options;
  options.ranks = ntasks;
  const FiberReport report = run_fibers(options, [&](Comm& world) { body(world.duplicate(), world.rank()); });
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.memory = measure(ntasks);
  run.traffic = report.traffic;
  counting_heap::stop();
  return run;
}

void print(const char* what, int ntasks, const ScaleRun& run) {
  std::printf(
      "%-5s %8d tasks: %6.2f s, %4lld bytes at a member, %8lld at a metadata writer of %d, "
      "%lld collectives, %lld steps\n",
      what, ntasks, run.seconds, static_cast<long long>(run.memory.member),
      static_cast<long long>(run.memory.metadata_writer), metadata_writer_group(ntasks),
      static_cast<long long>(run.traffic.collectives), static_cast<long long>(run.traffic.steps));
}

class Scale : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    // Names have a constant length, because tasks hold them and their memory is counted.
    const std::string number = std::to_string(10'000 + ::getpid() % 10'000).substr(1);
    directory_ = std::filesystem::temp_directory_path() / ("sheaf-scale-" + number);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string path() const { return directory_ / "s"; }

 private:
  std::filesystem::path directory_;
};

// The number of collective calls of an open or close may not depend on the number of tasks; each takes O(log
// P) rounds.
void expect_logarithmic(const Traffic& traffic, int ntasks, int64_t max_collectives) {
  int64_t rounds = 0;
  while ((int64_t{1} << rounds) < ntasks) ++rounds;
  EXPECT_LE(traffic.collectives, max_collectives);
  EXPECT_LE(traffic.steps, traffic.collectives * rounds);
}

TEST_P(Scale, WritesAndReadsWithLittleMemoryAndFewMessages) {
  const int ntasks = GetParam();
  SharedHandles store(posix_store());
  const std::string name = path();
  const OpenMode write_mode = parse_open_mode("w");
  const OpenMode read_mode = parse_open_mode("r");

  const ScaleRun writing = simulate(ntasks, [&](std::unique_ptr<Comm> comm, int task) {
    ParallelWriteRequest request;
    request.path = name;
    request.chunk_size = record_bytes;
    request.fsblksize = 64;
    auto writer = std::make_unique<Writer>(store, std::move(comm), std::move(request), write_mode);
    int64_t record[record_bytes / 8];
    std::fill(std::begin(record), std::end(record), value_of(task));
    writer->stream().write(std::as_bytes(std::span(record)));
    writer->close();
  });
  print("write", ntasks, writing);
  EXPECT_LE(writing.memory.member, member_limit + buffer_bytes);
  expect_logarithmic(writing.traffic, ntasks, 24);

  const ScaleRun reading = simulate(ntasks, [&](std::unique_ptr<Comm> comm, int task) {
    auto reader = std::make_unique<Reader>(store, std::move(comm), name, read_mode);
    int64_t record[record_bytes / 8];
    const size_t got = reader->stream().read(std::as_writable_bytes(std::span(record)));
    ASSERT_EQ(got, sizeof record);
    for (const int64_t value : record) ASSERT_EQ(value, value_of(task));
    reader->close();
  });
  print("read", ntasks, reading);
  EXPECT_LE(reading.memory.member, member_limit + watch_bytes + sums_bytes);
  expect_logarithmic(reading.traffic, ntasks, 20);

  // Metadata writers hold a bounded number of bytes for each task of their slice.
  const int64_t slice = metadata_writer_group(ntasks);
  EXPECT_LE(writing.memory.metadata_writer, 4608 + 128 * slice);  // the header and its gathered neighbours
  // They also prefetch META1, and META2 with the trailer.
  EXPECT_LE(reading.memory.metadata_writer, 4096 + 128 * slice + 2 * metadata_constants::prefetched_at_once);

  Reader last(posix_store(), name, ntasks - 1, read_mode);
  EXPECT_EQ(last.globalrank(), ntasks - 1);
  int64_t value = 0;
  last.stream().read(std::as_writable_bytes(std::span(&value, 1)));
  EXPECT_EQ(value, value_of(ntasks - 1));
}

TEST(Messages, DoNotDependOnTheNumberOfChunks) {
  const auto collectives = [](int chunks) {
    SharedHandles store(posix_store());
    const std::string name =
        std::filesystem::temp_directory_path() / ("sheaf-chunks-" + std::to_string(::getpid()));
    const ScaleRun run = simulate(100, [&](std::unique_ptr<Comm> comm, int) {
      ParallelWriteRequest request;
      request.path = name;
      request.chunk_size = 16;
      request.fsblksize = 16;
      Writer writer(store, std::move(comm), std::move(request), parse_open_mode("w"));
      const std::vector<std::byte> bytes(static_cast<size_t>(16 * chunks));
      writer.stream().write(bytes);
      writer.close();
    });
    std::filesystem::remove(name);
    return run.traffic.collectives;
  };
  EXPECT_EQ(collectives(1), collectives(1000));
}

INSTANTIATE_TEST_SUITE_P(Tasks, Scale, ::testing::Values(1, 1000, 5000, 294912, 1048576));

}  // namespace
}  // namespace sheaf::scale_test
