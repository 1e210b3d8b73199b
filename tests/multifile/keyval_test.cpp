// Compares key-value records with a model. Several tasks write random records, serially or in parallel, and
// read them by key in random order. Further tests damage records, or make reads fail.
#include <gtest/gtest.h>

#include "multifile/keyval/keyval_index.hpp"
#include "multifile/keyval/keyval_writer.hpp"
#include "multifile/tools/split.hpp"
#include "support/keyval_model.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/variable.hpp"

namespace sheaf::test::keyval_test {

using namespace multifile;

namespace {

void append(WriteStream& stream, const Record& r) {
  if (!put_record(stream.buffer().window(), r.key, r.value.data(), r.value.size()))
    write_record(stream, native_order, r.key, r.value);
}

void write_serially(Store& store, const KeyProgram& p, uint64_t seed) {
  std::vector<int64_t> ranks(p.chunks.size());
  Writer writer(store, {"a", p.chunks, ranks, p.fsblksize}, mode_of("w,keyval", p.buffer));
  Random random(seed);
  std::vector<size_t> next(p.chunks.size());
  for (bool more = true; more;) {
    more = false;
    for (size_t t = 0; t < next.size(); ++t) {
      writer.select(static_cast<int64_t>(t));
      for (int64_t n = random.below(5); n > 0 && next[t] < p.tasks[t].size(); --n)
        append(writer.stream(), p.tasks[t][next[t]++]);
      more |= next[t] < p.tasks[t].size();
    }
  }
  writer.close();
}

void write_in_parallel(Store& inner, const KeyProgram& p, uint64_t seed) {
  SharedHandles store(inner);
  run_fibers(fibers(p.ntasks(), seed), [&](Comm& comm) {
    const auto me = static_cast<size_t>(comm.rank());
    ParallelWriteRequest request;
    request.path = "a";
    request.nfiles = 1 + static_cast<int32_t>(seed) % p.ntasks();
    request.chunk_size = p.chunks[me];
    request.fsblksize = p.fsblksize;
    Writer writer(store, comm.duplicate(), std::move(request), shared_mode_of(comm, "w,keyval", p.buffer));
    for (const Record& r : p.tasks[me]) {
      append(writer.stream(), r);
      yield();
    }
    writer.close();
  });
}

// Reads records by key in random order, with seeks in the stream between the reads. The index starts as if
// its handle already kept `kept` bytes of values in memory.
void check_stream(ReadStream& stream, const Records& records, int64_t task, uint64_t seed, int64_t kept) {
  Random random(seed);
  KeyModel model(records);
  KeyvalIndex index(stream, native_order, task, kept);
  for (int steps = 0; steps < 150; ++steps) {
    if (random.chance(10)) stream.seek_absolute(random.below(100));
    if (random.chance(100)) model.check_keys(index);
    model.step(index, random);
  }
  model.check_keys(index);
}

void check_every_way(Store& inner, const KeyProgram& p, uint64_t seed, int64_t kept) {
  Reader all(inner, "a", mode_of("r", p.buffer));
  require(all.facts().keyval, "the file says that it holds records");
  for (int64_t t = 0; t < p.ntasks(); ++t) {
    const Records& records = p.tasks[static_cast<size_t>(t)];
    all.select(t);
    const BlockSizes sizes = all.stream().sizes();
    for (int64_t b = 0; b + 1 < sizes.count; ++b)
      require(sizes[b] == all.stream().geometry().size, "a chunk that is not full");
    check_stream(all.stream(), records, t, seed, kept);
    Reader one(inner, "a", t, mode_of("r", p.buffer));
    check_stream(one.stream(), records, t, seed + 1, kept);
  }
  SharedHandles store(inner);
  run_fibers(fibers(p.ntasks(), seed), [&](Comm& comm) {
    Reader reader(store, comm.duplicate(), "a", mode_of("r", p.buffer));
    check_stream(reader.stream(), p.tasks[static_cast<size_t>(comm.rank())], comm.rank(), seed + 2, kept);
    reader.close();
  });
}

TEST(KeyvalRecords, AreFoundByKeyHoweverWrittenAndRead) {
  for (uint64_t seed = 1, last = variable("SHEAF_KEYVAL_RUNS", 25); seed <= last; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const KeyProgram p = random_records(seed);
    MemoryStore store;
    ASSERT_NO_THROW({
      seed % 2 ? write_serially(store, p, seed) : write_in_parallel(store, p, seed);
      check_every_way(store, p, seed, seed % 3 ? 0 : keyval_constants::max_kept_bytes);
    });
  }
}

// A reader must verify a damaged value even if it is too large to be buffered in memory.
TEST(KeyvalRecords, DamagedOnesAreNotSplit) {
  KeyProgram p;
  p.fsblksize = 512;
  p.buffer = 128 << 10;
  p.chunks = {1 << 20};
  p.tasks = {{{7, content(7, 0, 600'000)}}};
  MemoryStore store;
  write_serially(store, p, 1);
  WorkProgress quiet;
  split(store, load_multifile(store, "a"), {.prefix = "whole.", .tasks = {}}, quiet);
  EXPECT_EQ(store.contents("whole.00000_000000000007"), p.tasks[0][0].value);
  const int64_t damaged = load_multifile(store, "a").row(0).geometry.offset(0) + 400'000;
  std::byte byte{};
  store.open("a", Access::write)->read_at({&byte, 1}, damaged);
  byte ^= std::byte{1};
  store.open("a", Access::write)->write_at({&byte, 1}, damaged);
  EXPECT_EQ(
      code_of([&] { split(store, load_multifile(store, "a"), {.prefix = "damaged.", .tasks = {}}, quiet); }),
      Code::damaged);
  EXPECT_FALSE(store.status("damaged.00000_000000000007").exists);
}

TEST(KeyvalRecords, OfAllTasksOfAHandleInTurn) {
  const KeyProgram p = random_records(4);
  ASSERT_GT(p.ntasks(), 1);
  MemoryStore store;
  write_serially(store, p, 4);
  Reader all(store, "a", mode_of("r", p.buffer));
  KeyvalReader reader(all.stream());
  std::vector<KeyModel> models(p.tasks.begin(), p.tasks.end());
  Random random(4);
  for (int steps = 0; steps < 1000; ++steps) {
    const int64_t t = random.below(p.ntasks());
    all.select(t);
    KeyvalIndex* index = reader.find(t);
    ASSERT_NO_THROW(
        models[static_cast<size_t>(t)].step(index ? *index : reader.add(t, native_order), random));
  }
}

TEST(KeyvalRecords, OfADuplicateArePositionedIndependently) {
  for (uint64_t seed = 301; seed <= 340; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const KeyProgram p = random_records(seed);
    MemoryStore store;
    write_serially(store, p, seed);
    Reader one(store, "a", 0, mode_of("r", p.buffer));
    Reader two(store, "a", 0, mode_of("r", p.buffer));
    Random random(seed);
    int64_t kept[2] = {};
    KeyModel model(p.tasks[0]);
    KeyvalIndex index(one.stream(), native_order, 0, kept[0]);
    ASSERT_NO_THROW({
      for (int steps = 0; steps < 20; ++steps) model.step(index, random);
      KeyModel second_model = model;
      KeyvalIndex second(index, two.stream(), kept[1]);
      for (int steps = 0; steps < 200; ++steps) {
        model.step(index, random);
        second_model.step(second, random);
      }
      second_model.check_keys(second);
    });
  }
}

TEST(KeyvalRecords, ManyKeysOfOneTask) {
  constexpr uint64_t keys = 20000;
  KeyProgram p{1, 4096, {1 << 16}, {{}}};
  for (uint64_t k = 0; k < keys; ++k) p.tasks[0].push_back({k << 40, content(0, static_cast<int64_t>(k), 3)});
  MemoryStore store;
  write_serially(store, p, 1);
  Reader one(store, "a", 0, mode_of("r"));
  int64_t kept = 0;
  KeyvalIndex index(one.stream(), native_order, 0, kept);
  for (uint64_t k = keys; k-- > 0;) {
    Bytes value(3);
    ASSERT_EQ(index.read(k << 40, value.data(), 3, 1), 1u);
    ASSERT_EQ(value, p.tasks[0][k].value);
  }
  EXPECT_EQ(kept, 0) << "what has been read is not kept any longer";
}

TEST(KeyvalRecords, InTheOtherByteOrder) {
  constexpr ByteOrder other = native_order == ByteOrder::little ? ByteOrder::big : ByteOrder::little;
  MemoryStore store;
  const int64_t chunk = 100;
  const int64_t rank = 0;
  Writer writer(store, {"a", {&chunk, 1}, {&rank, 1}, 1}, mode_of("w,keyval"));
  const Bytes value = content(1, 0, 5);
  write_record(writer.stream(), other, 7, value);
  writer.close();
  Reader one(store, "a", 0, mode_of("r"));
  int64_t kept = 0;
  KeyvalIndex index(one.stream(), other, 0, kept);
  Bytes found(5);
  EXPECT_EQ(index.read(7, found.data(), 1, 9), 5u);
  EXPECT_EQ(found, value);
}

// Writes a file of one task with three records, then replaces the length of the second record by `length`.
void write_damaged(MemoryStore& store, uint64_t length) {
  KeyProgram p{1, 4096, {64}, {{{7, content(0, 0, 10)}, {8, content(0, 0, 30)}, {7, content(0, 0, 10)}}}};
  write_serially(store, p, 1);
  const int64_t at = Reader(store, "a", mode_of("r")).multifile().row(0).geometry.offset(0) + 26 + 8;
  store.open("a", Access::write)->write_at(std::as_bytes(std::span(&length, 1)), at);
}

TEST(KeyvalRecords, ADamagedRecordIsAnErrorThatStays) {
  for (const uint64_t length : {uint64_t{57}, uint64_t{1'000'000}, UINT64_MAX, uint64_t{1} << 63}) {
    MemoryStore store;
    write_damaged(store, length);
    Reader one(store, "a", 0, mode_of("r,checksums=off"));
    int64_t kept = 0;
    KeyvalIndex index(one.stream(), native_order, 0, kept);
    Bytes found(10);
    for (int attempts = 0; attempts < 2; ++attempts) {
      const auto error = attempt([&] { index.read(8, found.data(), 1, 10); });
      ASSERT_TRUE(error);
      EXPECT_EQ(error->code(), Code::damaged);
      EXPECT_NE(std::string(error->what()).find("'a': task 0, key-value record at byte 26"),
                std::string::npos)
          << error->what();
      EXPECT_EQ(code_of([&] { index.scan_all(); }), Code::damaged);
    }
    EXPECT_EQ(index.read(7, found.data(), 1, 10), 10u) << "what lies before it is readable";
    EXPECT_EQ(found, content(0, 0, 10));
    EXPECT_EQ(code_of([&] { index.read(7, found.data(), 1, 10); }), Code::damaged);
  }
}

TEST(KeyvalRecords, AFailedReadChangesNothing) {
  const KeyProgram p = random_records(4);
  MemoryStore memory;
  write_serially(memory, p, 4);
  for (int64_t fail_at = 0; fail_at < 60; ++fail_at) {
    SCOPED_TRACE(fail_at);
    FaultyStore store(memory);
    Reader one(store, "a", 0, mode_of("r", 300));
    FaultPlan plan;
    plan.fail_at = fail_at;
    plan.half_first = fail_at % 2 != 0;
    store.set_plan(plan);
    int64_t kept = 0;
    KeyvalIndex index(one.stream(), native_order, 0, kept);
    for (const Record& r : p.tasks[0]) {
      Bytes found(r.value.size() + 1);
      size_t got = 0;
      const auto read = [&] {
        got = r.value.empty() ? 0 : index.read(r.key, found.data(), 1, r.value.size());
      };
      if (code_of(read) != Code::ok) read();
      ASSERT_EQ(got, r.value.size());
      found.pop_back();
      ASSERT_EQ(found, r.value);
    }
  }
}

}  // namespace
}  // namespace sheaf::test::keyval_test
