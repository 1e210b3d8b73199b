// Damaged multifiles. Every reader must report a clear error and never wrong data, and all tasks must have
// the same outcome.
#include <gtest/gtest.h>

#include "multifile/reader/reader.hpp"
#include "support/programs.hpp"

namespace sheaf::test::damage_test {

using namespace multifile;

namespace {

constexpr int tasks = 5;

// Writes two files with blocks of 64 bytes: the first for tasks 0 and 1, the second for tasks 2, 3 and 4.
Program program() {
  Program p;
  p.nfiles = 2;
  p.fsblksize = 64;
  for (int t = 0; t < tasks; ++t) {
    p.requests.push_back(t == 3 ? 0 : 60 + t);
    p.steps.push_back({});
    for (int s = 0; t != 3 && s <= t; ++s) p.steps.back().push_back({Step::write, 50});
  }
  return p;
}

class Damage : public ::testing::Test {
 protected:
  void SetUp() override { write_in_parallel(store, "a", program(), 0, "w,journal=off,checksums=off"); }

  template <class T>
  void put(const std::string& path, int64_t offset, T value) {
    std::byte bytes[sizeof(T)];
    sheaf::store<T>(bytes, value, native_order);
    store.open(path, Access::write)->write_at(bytes, offset);
  }
  template <class T>
  T get(const std::string& path, int64_t offset) {
    std::byte bytes[sizeof(T)];
    store.open(path, Access::read)->read_at(bytes, offset);
    return load<T>(bytes, native_order);
  }

  static int64_t pointer_of(const std::string& path) { return 1076 + 16 * (path == "a" ? 2 : 3); }
  int64_t meta2(const std::string& path) { return get<int64_t>(path, pointer_of(path) + 4); }
  int64_t mapping() { return meta2("a") + 16 * (1 + get<int32_t>("a", pointer_of("a"))); }

  Code serial() {
    return code_of([&] { check_serially(store, "a", program()); });
  }
  Code parallel() {
    SharedHandles shared(store);
    std::vector<Code> codes(tasks);
    run_fibers(fibers(tasks), [&](Comm& comm) {
      codes[static_cast<size_t>(comm.rank())] = code_of([&] {
        Reader reader(shared, comm.duplicate(), "a", mode_of("r"));
        const int me = comm.rank();
        const auto problem = attempt([&] { check_stream(reader.stream(), program().expected(me), me); });
        reader.close();
        agree(comm, problem);
      });
    });
    for (const Code code : codes) EXPECT_EQ(code == Code::ok, codes[0] == Code::ok) << "tasks disagree";
    return codes[0];
  }
  Code single() {
    Code worst = Code::ok;
    for (int t = 0; t < tasks; ++t) {
      const Code code = code_of([&] {
        Reader reader(store, "a", t, mode_of("r"));
        check_stream(reader.stream(), program().expected(t), t);
      });
      if (code != Code::ok) worst = code;
    }
    return worst;
  }
  void expect(Code code) {
    EXPECT_EQ(serial(), code) << "serial";
    EXPECT_EQ(parallel(), code) << "parallel";
    EXPECT_EQ(single(), code) << "single";
  }

  MemoryStore store;
};

TEST_F(Damage, None) { expect(Code::ok); }

TEST_F(Damage, BlockCountsOutOfRange) {
  for (const char* path : {"a", "a.000001"})
    for (const int64_t count : {int64_t{0}, int64_t{-1}, int64_t{100}, INT64_MAX}) {
      const int64_t old = get<int64_t>(path, meta2(path));
      put(path, meta2(path), count);
      expect(Code::damaged);
      put(path, meta2(path), old);
    }
  expect(Code::ok);
}

TEST_F(Damage, BlockSizesOutOfRange) {
  for (const int64_t size : {int64_t{-1}, INT64_MIN, int64_t{100'000}, INT64_MAX}) {
    const int64_t at = meta2("a.000001") + 8 * 3 + 8 * 2;
    const int64_t old = get<int64_t>("a.000001", at);
    put("a.000001", at, size);
    expect(Code::damaged);
    put("a.000001", at, old);
  }
}

TEST_F(Damage, ChunkSizesOutOfRange) {
  for (const int64_t size : {int64_t{-64}, INT64_MIN, INT64_MAX, INT64_MAX / 64 * 64, int64_t{128}}) {
    put("a.000001", 1076 + 8 * 3 + 8, size);
    expect(Code::damaged);
  }
}

TEST_F(Damage, ImpossibleBlockTables) {
  const int64_t at = pointer_of("a");
  const auto blocks = get<int32_t>("a", at);
  const auto table = meta2("a");
  for (const int64_t offset : {int64_t{-1}, int64_t{1}, int64_t{1088}, table + 64, table - 64, INT64_MAX}) {
    put("a", at + 4, offset);
    expect(Code::damaged);
  }
  put("a", at + 4, table);
  for (const int32_t many : {-1, 0, INT32_MAX}) {
    put("a", at, many);
    expect(Code::damaged);
  }
  put("a", at, blocks + 1);  // the position of the mapping then holds arbitrary bytes
  EXPECT_EQ(serial(), Code::damaged);
  EXPECT_NE(parallel(), Code::ok);
  EXPECT_NE(single(), Code::ok);
  put("a", at, blocks);
  put("a", at + 4, int64_t{0});
  expect(Code::unclosed);
  put("a", at, 0);
  expect(Code::unclosed);
}

// The mapping follows the block table of file 0, so readers with a wrong number of blocks look for it at a
// wrong position. They must not use the bytes there, even if these look like a mapping.
TEST_F(Damage, AnotherNumberOfBlocksInTheFirstFile) {
  Program p;
  p.nfiles = 2;
  p.fsblksize = 64;
  p.requests.assign(tasks, 60);
  // The block sizes 5 and 1 of the last round of file 0 precede the mapping. Readers that take them for the
  // mapping find 5 tasks and (0, 1) as first entry.
  const Step next{Step::ensure, 64};
  p.steps = {{{Step::write, 64}, {Step::write, 64}, {Step::write, 5}},
             {{Step::write, 64}, {Step::write, 60}, next, {Step::write, 1}},
             {{Step::write, 7}},
             {{Step::write, 8}},
             {{Step::write, 50}, {Step::write, 50}}};
  write_in_parallel(store, "a", p);
  const int64_t at = pointer_of("a");
  const auto blocks = get<int32_t>("a", at);
  const int64_t table = meta2("a");
  ASSERT_EQ(blocks, 3);
  const int64_t skip = 2 * 64;
  SharedHandles shared(store);
  for (int32_t wrong = 1; wrong < 40; ++wrong)
    for (const int64_t moved : {table, table + (wrong - blocks) * skip}) {
      if (wrong == blocks) continue;
      SCOPED_TRACE(std::to_string(wrong) + " blocks, table at " + std::to_string(moved));
      put("a", at, wrong);
      put("a", at + 4, moved);
      EXPECT_NE(code_of([&] { check_serially(store, "a", p); }), Code::ok);
      std::vector<Code> codes(tasks);
      run_fibers(fibers(tasks), [&](Comm& comm) {
        codes[static_cast<size_t>(comm.rank())] =
            code_of([&] { Reader reader(shared, comm.duplicate(), "a", mode_of("r")); });
      });
      for (const Code code : codes) EXPECT_NE(code, Code::ok);
      run_fibers(fibers(3), [&](Comm& comm) {
        codes[static_cast<size_t>(comm.rank())] = code_of([&] {
          Reader reader(shared, comm.duplicate(), MappedReadRequest{"a", true, {}}, mode_of("r"));
        });
      });
      for (int r = 0; r < 3; ++r) EXPECT_NE(codes[static_cast<size_t>(r)], Code::ok) << "mapped";
      for (int t = 0; t < tasks; ++t)
        EXPECT_NE(code_of([&] { Reader(store, "a", t, mode_of("r")); }), Code::ok) << "task " << t;
    }
}

TEST_F(Damage, MappingsThatDoNotFitTheSet) {
  const int64_t first = mapping() + 4;
  struct MappingDamage {
    int64_t offset;
    int32_t value;
  };
  for (const MappingDamage& c : std::initializer_list<MappingDamage>{
           {0, 2}, {0, -1}, {8, INT32_MAX}, {4, -1}, {4, 2}, {4, INT32_MAX}, {8 * 4, 0}, {8 * 4 + 4, 3}}) {
    const auto old = get<int32_t>("a", first + c.offset);
    put("a", first + c.offset, c.value);
    SCOPED_TRACE("mapping word at " + std::to_string(c.offset) + " is " + std::to_string(c.value));
    EXPECT_NE(serial(), Code::ok);
    EXPECT_NE(parallel(), Code::ok);
    EXPECT_EQ(single(), Code::damaged);
    put("a", first + c.offset, old);
  }
  expect(Code::ok);
}

TEST_F(Damage, ATaskThatTheMappingNamesTwice) {
  put("a", mapping() + 4 + 8 * 4 + 4, 0);  // task 4 and task 2 share a stream
  EXPECT_EQ(parallel(), Code::damaged);
}

TEST_F(Damage, MappingSizes) {
  for (const int32_t size : {-1, 0, 6, INT32_MAX}) {
    put("a", mapping(), size);
    EXPECT_EQ(serial(), Code::damaged) << size;
    EXPECT_NE(parallel(), Code::ok) << size;
  }
}

TEST_F(Damage, APhysicalFileOfAnotherSet) {
  Program other = program();
  other.nfiles = 3;
  write_in_parallel(store, "b", other);
  store.set_contents("a.000001", store.contents("b.000002"));
  expect(Code::damaged);
  store.set_contents("a.000001", store.contents("b.000001"));
  expect(Code::damaged);
  write_serially(store, "a.000001", other);
  expect(Code::damaged);
}

TEST_F(Damage, AFileOfTheSetInPlaceOfAnother) {
  Program p;
  p.nfiles = tasks;
  p.fsblksize = 64;
  p.requests.assign(tasks, 60);
  for (int t = 0; t < tasks; ++t) p.steps.push_back({{Step::write, 50}});
  write_in_parallel(store, "a", p);
  check_every_way(store, "a", p);
  store.set_contents("a.000001", store.contents("a.000002"));
  EXPECT_EQ(serial(), Code::damaged);
  EXPECT_EQ(parallel(), Code::damaged);
  EXPECT_EQ(code_of([&] { Reader(store, "a", 1, mode_of("r")); }), Code::damaged);
}

// Truncates either file to every size. Each reader that needs the missing bytes must report an error.
TEST_F(Damage, Truncations) {
  for (const char* path : {"a", "a.000001"}) {
    const auto whole = store.contents(path);
    for (size_t size = 0; size < whole.size(); size = size < 1200 ? size + 61 : size + 7) {
      SCOPED_TRACE(std::string(path) + " of " + std::to_string(size) + " bytes");
      store.set_contents(path, std::span(whole).first(size));
      ASSERT_NE(serial(), Code::ok);
      ASSERT_NE(parallel(), Code::ok);
      ASSERT_NE(single(), Code::ok);
    }
    store.set_contents(path, whole);
  }
  expect(Code::ok);
}

// Replaces random bytes of the metadata. They may cause an error, have no effect, or change a value that
// readers cannot verify. They must not cause a crash, a hang or different outcomes among tasks.
TEST_F(Damage, RandomBytesNeverCrash) {
  Random random(3);
  const std::vector<std::byte> whole[2] = {store.contents("a"), store.contents("a.000001")};
  for (int round = 0; round < 1500; ++round) {
    const bool second = random.chance(2);
    auto bytes = whole[second];
    for (int64_t count = 1 + random.below(3); count > 0; --count) {
      const int64_t table = meta2(second ? "a.000001" : "a");
      const int64_t at = random.pick<int64_t>(
          {random.below(52), 1076 + random.below(60), table + random.below(std::ssize(bytes) - table)});
      bytes[static_cast<size_t>(at)] =
          static_cast<std::byte>(random.pick<int64_t>({0, 1, 0x7f, 0x80, 0xff, random.below(256)}));
    }
    store.set_contents(second ? "a.000001" : "a", bytes);
    serial();
    parallel();
    single();
    store.set_contents(second ? "a.000001" : "a", whole[second]);
  }
}

// Programs that write through FILE* create blocks larger than their chunk (docs/format.md, section 9, rule
// 7). Here another task's block follows the chunk, so readers must not return the bytes beyond the chunk. In
// a key-value file, such a block is damage.
TEST_F(Damage, BlocksLargerThanTheirChunk) {
  put("a.000001", meta2("a.000001") + 8 * 3, int64_t{70});
  Reader reader(store, "a", mode_of("r"));
  EXPECT_EQ(reader.multifile().row(2).sizes[0], 64);
  std::vector<std::byte> found(70);
  reader.select(2);
  EXPECT_EQ(reader.stream().read(found), 70u);  // 64 bytes of this block, 6 of the next one
  put("a.000001", 36, format::Header::flag_of(format::KeyvalMode::inline_));
  put("a", 36, format::Header::flag_of(format::KeyvalMode::inline_));
  expect(Code::damaged);
}

}  // namespace
}  // namespace sheaf::test::damage_test
