// Appending to a complete multifile. For every kind of writer and of appender, old data must stay, and new
// data must follow it.
#include <gtest/gtest.h>

#include "multifile/tools/verify.hpp"
#include "streams/container/gather.hpp"
#include "streams/container/named_streams.hpp"
#include "support/mapped.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::append_test {

using namespace multifile;
using namespace streams;

namespace {

void append_steps(Writer& writer, const Program& p, const std::vector<std::vector<Step>>& more) {
  for (const OwnTask& t : writer.tasks()) {
    writer.select(t.task);
    TaskModel model = p.expected(t.task);
    require(writer.stream().bytes_written() == model.total(), "stands at the end");
    for (const Step& s : more[static_cast<size_t>(t.task)]) {
      if (!model.accepts(s)) continue;
      const int64_t done = model.total();
      if (s.kind == Step::write) writer.stream().write(content(t.task, done, s.bytes));
      if (s.kind == Step::ensure) writer.stream().ensure_free_space(s.bytes);
      if (s.kind == Step::flush) writer.stream().flush();
      model.apply(s);
      yield();
    }
  }
}

// Appends the steps of `more` in `processes` processes, each of which owns a contiguous range of tasks.
// Returns the codes of the processes.
std::vector<Code> append(Store& inner, const Program& p, const std::vector<std::vector<Step>>& more,
                         int processes, const std::string& words = "append", uint64_t seed = 0) {
  TaskHandles store(inner);
  std::vector<Code> codes(static_cast<size_t>(processes), Code::ok);
  run_fibers(fibers(processes, seed), [&](Comm& comm) {
    codes[static_cast<size_t>(comm.rank())] = code_of([&] {
      Writer writer(store, comm.duplicate(), MappedAppendRequest{{"a", true, {}}, 0},
                    mode_of(words, p.buffer));
      // A failure here also fails the close, which is collective and must be called in any case.
      const auto failure = attempt([&] { append_steps(writer, p, more); });
      writer.close();
      if (failure) throw *failure;
    });
  });
  require(store.open_files() == 0, "all files closed");
  return codes;
}

Program joined(const Program& p, const std::vector<std::vector<Step>>& more) {
  Program both = p;
  for (size_t t = 0; t < more.size(); ++t)
    both.steps[t].insert(both.steps[t].end(), more[t].begin(), more[t].end());
  return both;
}

void write_somehow(Store& store, const Program& p, uint64_t seed) {
  if (seed % 3 == 0 && p.nfiles == 1) return write_serially(store, "a", p, seed);
  if (seed % 3 == 1) return write_in_parallel(store, "a", p, seed);
  MappedProgram mapped;
  mapped.program = p;
  mapped.owners.assign(p.requests.size(), 0);
  for (int t = 0; t < p.ntasks(); ++t)
    mapped.places.push_back(layout::place_blockwise(t, p.ntasks(), p.nfiles));
  write_mapped(store, "a", mapped, seed);
}

TEST(Append, GivesTheBytesThatOneProgramWouldHaveWritten) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Program p = random_program(seed);
    if (seed % 2) p.nfiles = 1;
    Program other = random_program(seed + 5000);
    std::vector<std::vector<Step>> more(p.requests.size());
    Random random(seed);
    for (auto& steps : more)
      if (!random.chance(3)) steps = other.steps[static_cast<size_t>(random.below(other.ntasks()))];
    for (auto& steps : more)
      for (Step& s : steps) s.bytes %= 3000;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + p.describe());
    const Program both = joined(p, more);
    MemoryStore store;
    ASSERT_NO_THROW({
      write_somehow(store, p, seed);
      for (const Code code : append(store, p, more, 1 + static_cast<int>(seed % 4), "a", seed))
        EXPECT_EQ(code, Code::ok);
      check_every_way(store, "a", both, p.buffer);
    });
    WorkProgress quiet;
    EXPECT_TRUE(verify(store, "a", true, quiet).ok()) << "checksums of all pieces, old and new";
    // Requires the metadata and mapping of a program that wrote all data at once. (Holes of `store` may show
    // remains of old tables.)
    MemoryStore once;
    write_somehow(once, both, seed);
    for (const std::string& name : once.paths()) {
      const auto found = without_extension(store.contents(name));
      const auto expected = without_extension(once.contents(name));
      ASSERT_EQ(found.size(), expected.size()) << name;
      const PhysicalFile f = load_physical_file(once, name);
      const auto meta1 = static_cast<ptrdiff_t>(f.header.pointer_offset() + format::pointer_size);
      EXPECT_TRUE(std::equal(found.begin(), found.begin() + meta1, expected.begin())) << name;
      EXPECT_TRUE(std::equal(found.begin() + f.pointer.varheader, found.end(),
                             expected.begin() + f.pointer.varheader))
          << name;
    }
  }
}

Program small() {
  Program p;
  p.fsblksize = 64;
  p.nfiles = 2;
  p.requests = {64, 128, 64, 64};
  p.steps = {{{Step::write, 10}}, {{Step::write, 120}}, {{Step::write, 64}, {Step::write, 1}}, {}};
  return p;
}

// All tasks have opened the file, and then discard it, as they do if one of them gets no descriptor for its
// program. The file must stay unchanged.
TEST(Append, AnOpenThatIsGivenUpLeavesTheFileAsItWas) {
  for (const char* const words : {"append", "append,journal=off"})
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      const Program p = random_program(seed);
      MemoryStore memory;
      write_somehow(memory, p, seed);
      TaskHandles store(memory);
      run_fibers(fibers(2), [&](Comm& comm) {
        Writer writer(store, comm.duplicate(), MappedAppendRequest{{"a", true, {}}, 0},
                      mode_of(words, p.buffer));
        comm.barrier();
        writer.discard();
        comm.barrier();
      });
      Reader reader(memory, "a", mode_of("r"));
      EXPECT_FALSE(reader.facts().unclosed) << words << ", seed " << seed;
      for (int64_t t = 0; t < p.ntasks(); ++t) {
        reader.select(t);
        EXPECT_EQ(reader.stream().sizes().total(), p.expected(t).total());
      }
    }
}

TEST(Append, OfNothingChangesNothing) {
  MemoryStore store;
  write_in_parallel(store, "a", small());
  const auto first = store.contents("a");
  const auto second = store.contents("a.000001");
  append(store, small(), std::vector<std::vector<Step>>(4), 3);
  EXPECT_EQ(store.contents("a"), first);
  EXPECT_EQ(store.contents("a.000001"), second);
}

// An append changes sizes in place, unless a task needs another round of chunks. Only for another round does
// it mark the file unclosed.
TEST(Append, IsCompleteUntilATaskNeedsAFurtherRound) {
  MemoryStore store;
  write_in_parallel(store, "a", small());
  Writer writer(store, self_comm(), MappedAppendRequest{{"a", true, {}}, 0}, mode_of("append", 0));
  writer.stream().write(content(0, 10, 50));
  EXPECT_NO_THROW(check_serially(store, "a", small()));
  writer.select(2);
  writer.stream().write(content(2, 65, 63));
  EXPECT_NO_THROW(check_serially(store, "a", small()));
  writer.select(0);
  writer.stream().write(content(0, 60, 20));
  EXPECT_FALSE(load_physical_file(store, "a").pointer.complete());
  EXPECT_NO_THROW(load_physical_file(store, "a.000001"));
  writer.close();
  Program both = small();
  both.steps[0] = {{Step::write, 60}, {Step::write, 20}};
  both.steps[2] = {{Step::write, 64}, {Step::write, 64}};
  check_every_way(store, "a", both);
}

TEST(Append, ByTasksOfSomeProcessesOnly) {
  MemoryStore store;
  write_in_parallel(store, "a", small());
  TaskHandles shared(store);
  run_fibers(fibers(3), [&](Comm& comm) {
    std::vector<int64_t> list;
    if (comm.rank() == 1) list = {2};
    Writer writer(shared, comm.duplicate(), MappedAppendRequest{{"a", false, list}, 0}, mode_of("append"));
    if (!list.empty()) writer.stream().write(content(2, 65, 300));
    writer.close();
  });
  Program both = small();
  both.steps[2].push_back({Step::write, 300});
  check_every_way(store, "a", both);
}

// For every k, no operation from the k-th on reaches the disk. The remaining file must hold all old data or
// be marked unclosed.
TEST(Append, ACrashLeavesTheOldDataOrAnUnclosedFile) {
  const std::vector<std::vector<Step>> inside{
      {{Step::write, 30}}, {}, {{Step::write, 20}}, {{Step::write, 64}}};
  const std::vector<std::vector<Step>> beyond{
      {{Step::write, 300}}, {}, {{Step::write, 20}}, {{Step::write, 90}}};
  for (const bool grows : {false, true})
    for (int64_t k = 0;; ++k) {
      const auto& more = grows ? beyond : inside;
      SCOPED_TRACE("operation " + std::to_string(k));
      MemoryStore memory;
      write_in_parallel(memory, "a", small());
      FaultPlan plan;
      plan.fail_at = k;
      plan.from_then_on = true;
      plan.errno_value = EIO;
      FaultyStore faulty(memory, plan);
      const std::vector<Code> codes = append(faulty, small(), more, 2);
      for (const char* name : {"a", "a.000001"}) {
        const Code found = code_of([&] { load_physical_file(memory, name); });
        EXPECT_TRUE(found == Code::ok || (found == Code::unclosed && grows)) << name_of(found);
      }
      if (code_of([&] { Reader(memory, "a", mode_of("r")); }) == Code::ok) {
        Reader all(memory, "a", mode_of("r"));
        const Program both = joined(small(), more);
        for (int64_t t = 0; t < 4; ++t) {
          all.select(t);
          std::vector<std::byte> bytes(1000);
          bytes.resize(all.stream().read(bytes));
          EXPECT_GE(std::ssize(bytes), small().expected(t).total());
          EXPECT_LE(std::ssize(bytes), both.expected(t).total());
          EXPECT_EQ(bytes, content(t, 0, std::ssize(bytes)));
        }
      }
      if (faulty.failed() == 0) {
        EXPECT_NO_THROW(check_every_way(memory, "a", joined(small(), more)));
        break;
      }
      EXPECT_EQ(codes, std::vector<Code>(2, codes[0]));
      ASSERT_LT(k, 1000);
    }
}

std::vector<Code> codes_of_append(MemoryStore& store, const std::string& words = "append", int64_t ntasks = 0,
                                  bool same = false) {
  TaskHandles shared(store);
  const auto before = store.contents("a");
  std::vector<Code> codes(2, Code::ok);
  run_fibers(fibers(2), [&](Comm& comm) {
    codes[static_cast<size_t>(comm.rank())] = code_of([&] {
      const std::vector<int64_t> list{same ? 1 : comm.rank()};
      Writer writer(shared, comm.duplicate(), MappedAppendRequest{{"a", false, list}, ntasks},
                    mode_of(words));
      writer.close();
    });
  });
  EXPECT_EQ(store.contents("a"), before);
  EXPECT_EQ(shared.open_files(), 0u);
  return codes;
}

TEST(Append, IsRefusedWhereItCannotBe) {
  const auto all = [](Code code) { return std::vector<Code>(2, code); };
  MemoryStore store;
  write_in_parallel(store, "a", small(), 0, "w,journal=off,checksums=off");
  EXPECT_EQ(codes_of_append(store), all(Code::unsupported)) << "it can have no journal";
  EXPECT_EQ(codes_of_append(store, "append,journal=off"), all(Code::ok));
  EXPECT_EQ(codes_of_append(store, "append,journal=off", 4), all(Code::ok));
  EXPECT_EQ(codes_of_append(store, "append", 3), all(Code::out_of_range));
  EXPECT_EQ(codes_of_append(store, "append", 0, true), all(Code::invalid_argument));
  EXPECT_EQ(codes_of_append(store, "append,keyval"), all(Code::mismatch));
  EXPECT_EQ(codes_of_append(store, "append,journal=off,keyval=none"), all(Code::ok));
  const std::string other = name_of(native_order == ByteOrder::little ? ByteOrder::big : ByteOrder::little);
  EXPECT_EQ(codes_of_append(store, "append,endianness=" + other), all(Code::mismatch));
  auto bytes = store.contents("a");
  auto changed = bytes;
  sheaf::store<int32_t>(changed.data() + 16, 4, native_order);
  store.set_contents("a", changed);
  EXPECT_EQ(codes_of_append(store), all(Code::unsupported));
  changed = bytes;
  std::fill_n(changed.begin() + 1076 + 32, 12, std::byte{0});
  store.set_contents("a", changed);
  EXPECT_EQ(codes_of_append(store), all(Code::unclosed));
  changed = bytes;  // the block of task 0 reaches into the chunk of task 1
  const auto p = load<int64_t>(bytes.data() + 1076 + 32 + 4, native_order);
  sheaf::store<int64_t>(changed.data() + p + 16, 70, native_order);
  store.set_contents("a", changed);
  EXPECT_EQ(codes_of_append(store), all(Code::unsupported));
  store.set_contents("a", bytes);
  EXPECT_EQ(codes_of_append(store, "append,journal=off"), all(Code::ok));
  Program p2 = small();
  p2.nfiles = 1;
  MemoryStore keyed;
  write_in_parallel(keyed, "a", p2, 0, "w,keyval");
  EXPECT_EQ(codes_of_append(keyed, "append,keyval=none"), all(Code::mismatch));
  EXPECT_EQ(codes_of_append(keyed), all(Code::ok));
}

TEST(Append, KeepsTheNamesOfTasksAndOfContainersThatWereTakenIn) {
  for (const int processes : {1, 3}) {
    MemoryStore store;
    {
      const auto set = ContainerSet::open(store, "a", {"host", "/dev/shm"});
      for (const std::string name : {"x", "y", "z"})
        set->open_stream(name, {.create = true})->append(std::as_bytes(std::span(name)));
    }
    const auto container = store.contents("a.container.host");
    WorkProgress quiet;
    gather(store, {.set = "a"}, quiet);
    run_fibers(fibers(processes, 1), [&](Comm& comm) {
      Writer writer(store, comm.duplicate(), MappedAppendRequest{{"a", true, {}}, 0}, mode_of("append"));
      for (const OwnTask& t : writer.tasks()) {
        writer.select(t.task);
        writer.stream().write(std::vector<std::byte>(5000, std::byte{'+'}));
      }
      writer.close();
    });
    EXPECT_TRUE(verify(store, "a", true, quiet).ok());
    store.set_contents("a.container.host", container);  // as if its removal had failed
    const auto seen = NamedStreams::open(store, "a");
    ASSERT_EQ(seen->streams().size(), 3u);
    std::vector<std::byte> found(6000);
    EXPECT_EQ(seen->streams()[1].name, "y");
    EXPECT_EQ(seen->read(seen->streams()[1], found, 0), 5001u);
    EXPECT_EQ(found[0], std::byte{'y'});
    EXPECT_EQ(found[5000], std::byte{'+'});
  }
}

}  // namespace
}  // namespace sheaf::test::append_test
