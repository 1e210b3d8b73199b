// Checksums of data and metadata (docs/format.md, section 14). Every kind of writer must store correct
// checksums, and every kind of reader must verify them.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "base/crc32c.hpp"
#include "multifile/stream/file_checks.hpp"
#include "multifile/tools/verify.hpp"
#include "support/mapped.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::checksums_test {

using namespace multifile;

namespace {

constexpr int64_t piece = format::default_piece;

void expect_sound(Store& store, const std::string& path = "a") {
  WorkProgress quiet;
  const VerifyReport report = verify(store, path, true, quiet);
  for (const FileReport& f : report.files) {
    EXPECT_TRUE(f.checksums) << f.path;
    for (const Finding& finding : f.findings) ADD_FAILURE() << finding.message;
  }
}

// Compares the checksums that the file stores for a task with the data that the task wrote.
void expect_sums(const Multifile& m, int64_t task, std::span<const std::byte> stream) {
  const PhysicalFile& f = m.file_of(task);
  const TaskRow row = m.row(task);
  const SumsPlace& place = row.sums;
  const BlockSizes& sizes = row.sizes;
  int64_t at = place.at;
  for (int64_t b = 0; b < sizes.count; ++b) {
    for (int64_t done = 0; done < sizes[b]; at += 4) {
      const auto part = stream.first(static_cast<size_t>(std::min<int64_t>(place.piece, sizes[b] - done)));
      std::array<std::byte, 4> stored;
      ASSERT_EQ(f.file->read_at(stored, at), stored.size());
      EXPECT_EQ(load<uint32_t>(stored.data(), ByteOrder::little), crc32c(0, part))
          << "task " << task << ", block " << b << ", byte " << done;
      stream = stream.subspan(part.size());
      done += std::ssize(part);
    }
  }
}

// Tasks take turns with requests of all sizes. Checksums must match even after failed writes are withdrawn.
TEST(Checksums, FollowWhatATaskWritesAndTakesBack) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    MemoryStore store;
    const std::vector<int64_t> chunks{random.below(3) * 50'000 + 1, 3 * piece, 200'000};
    const std::vector<int64_t> ranks{0, 1, 2};
    Writer writer(store, {"a", chunks, ranks, 4096}, mode_of("w", random.below(2) ? 1000 : 300'000));
    std::vector<std::vector<std::byte>> streams(3);
    for (int step = 0; step < 60; ++step) {
      const int64_t t = random.below(3);
      auto& stream = streams[static_cast<size_t>(t)];
      writer.select(t);
      const int64_t bytes = random.below(4) == 0 ? random.below(3 * piece) : random.below(2000);
      const auto mark = writer.stream().mark();
      writer.stream().write(content(t, std::ssize(stream), bytes));
      if (random.below(4) == 0) {
        if (random.below(2) == 0) writer.stream().flush();
        writer.stream().return_to(mark);
        continue;
      }
      const auto more = content(t, std::ssize(stream), bytes);
      stream.insert(stream.end(), more.begin(), more.end());
      if (random.below(8) == 0)
        writer.stream().ensure_free_space(std::min<int64_t>(4096, writer.stream().geometry().size));
    }
    writer.close();
    expect_sound(store);
    const Multifile m = load_multifile(store, "a");
    for (int64_t t = 0; t < 3; ++t) expect_sums(m, t, streams[static_cast<size_t>(t)]);
  }
}

TEST(Checksums, AreRightWhereTheProgramWritesToItsChunksItself) {
  const auto directory =
      std::filesystem::temp_directory_path() / ("sheaf-sums-" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  const std::string path = directory / "a";
  const std::vector<int64_t> chunks{200'000, 200'000};
  const std::vector<int64_t> ranks{0, 1};
  Writer writer(posix_store(), {path, chunks, ranks, 4096}, mode_of("w"));
  writer.stream().write(content(0, 0, 100'000));
  std::FILE* const file = writer.stream().share(true).stream();
  const auto bytes = content(5, 0, 90'000);
  ASSERT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
  ASSERT_EQ(std::fseek(file, -120'000, SEEK_CUR), 0);  // into data that the library has written
  ASSERT_EQ(std::fwrite(bytes.data(), 1, 50'000, file), 50'000u);
  ASSERT_EQ(std::fseek(file, 70'000, SEEK_CUR), 0);
  writer.select(1);
  ASSERT_EQ(std::fwrite(bytes.data(), 1, 1000, file), 1000u);
  writer.stream().write(content(1, 0, 300'000));
  writer.select(0);
  writer.stream().write(content(0, 0, 250'000));
  writer.close();
  expect_sound(posix_store(), path);
  std::filesystem::remove_all(directory);
}

TEST(Checksums, OfParallelAndMappedPrograms) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Program p = random_program(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + p.describe());
    MemoryStore store;
    ASSERT_NO_THROW(write_in_parallel(store, "a", p, seed, seed % 3 == 0 ? "w,durable" : "w"));
    expect_sound(store);
    const MappedProgram m = random_mapped(seed);
    ASSERT_NO_THROW(write_mapped(store, "m", m, seed));
    expect_sound(store, "m");
    ASSERT_NO_THROW(read_mapped(store, "m", m, seed));
  }
}

TEST(Checksums, OfCollectivePrograms) {
  for (const char* const words : {"w,collective=auto", "w,collective,collsize=2",
                                  "w,collective,collsize=4,cmerge", "w,collective,buddy"}) {
    for (const int64_t bytes : {int64_t{3}, int64_t{700}, int64_t{90'000}}) {
      SCOPED_TRACE(std::string(words) + ", " + std::to_string(bytes) + " bytes");
      MemoryStore store;
      SharedHandles shared(store);
      run_fibers(fibers(8, 0), [&](Comm& comm) {
        ParallelWriteRequest request;
        request.path = "a";
        request.nfiles = 2;
        request.chunk_size = 200'000;
        request.fsblksize = 4096;
        Writer writer(shared, comm.duplicate(), std::move(request), shared_mode_of(comm, words, 128 << 10));
        ASSERT_TRUE(writer.collective());
        for (int64_t k = 0; k < 5; ++k)
          writer.collective()->write(content(comm.rank(), k * bytes, comm.rank() == 3 ? 0 : bytes),
                                     std::nullopt);
        writer.close();
      });
      for (const std::string& path : store.paths())
        if (path.find(".0") == std::string::npos) expect_sound(store, path);
    }
  }
}

// Files have more tasks than a group, and the number is no multiple of the group size.
TEST(Checksums, OfSeveralGroupsAndMetadataWriters) {
  Program p;
  p.fsblksize = 16;
  p.nfiles = 2;
  for (int t = 0; t < 4200; ++t) {
    p.requests.push_back(t % 7 * 8);
    p.steps.push_back({{Step::write, t % 7 * 11}});
  }
  MemoryStore store;
  for (const int nfiles : {1, 2, -1}) {
    p.nfiles = nfiles;
    write_in_parallel(store, "a", p);
    expect_sound(store);
    check_in_parallel(store, "a", p);
  }
  MappedProgram m;
  m.program = p;
  m.program.nfiles = 3;
  m.writers = m.readers = 5;
  for (int t = 0; t < p.ntasks(); ++t) {
    m.places.push_back(t < 1500   ? layout::Placement{2, t}
                       : t < 1501 ? layout::Placement{0, 0}
                                  : layout::Placement{1, t - 1501});
    m.owners.push_back(t * 7 % 5);
  }
  write_mapped(store, "m", m);
  expect_sound(store, "m");
  read_mapped(store, "m", m, 1);
}

class DamagedData : public ::testing::Test {
 protected:
  void SetUp() override {
    p.fsblksize = 4096;
    p.nfiles = 2;
    p.requests = {3 * piece, 3 * piece, 3 * piece};
    p.steps.assign(3, {{Step::write, 2 * piece + 100}, {Step::write, 2 * piece}});
    write_in_parallel(store, "a", p);
    const layout::ChunkGeometry g = load_multifile(store, "a").row(2).geometry;
    auto bytes = store.contents("a.000001");
    bytes[static_cast<size_t>(g.offset(1) + piece + 5)] ^= std::byte{4};
    store.set_contents("a.000001", bytes);
  }
  void expect_finding(const std::function<void()>& act) {
    const auto error = attempt(act);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), Code::damaged);
    for (const char* const part : {"'a.000001'", "task 1", "block 1", "offset 65536"})
      EXPECT_NE(std::string(error->what()).find(part), std::string::npos) << error->what();
  }
  Program p;
  MemoryStore store;
};

TEST_F(DamagedData, IsAnErrorInEveryWayOfReading) {
  const int64_t before = 3 * piece + 100;  // before the damaged piece
  const auto read = [&](ReadStream& stream, int64_t step) {
    std::vector<std::byte> found(static_cast<size_t>(step));
    for (int64_t done = 0; done < p.expected(2).total(); done += step) {
      const size_t n = stream.read(found);
      found.resize(n);
      EXPECT_EQ(found, content(2, done, std::ssize(found)));
      EXPECT_LE(done, before) << "damaged data were handed out";
    }
  };
  for (const int64_t step : {int64_t{100}, int64_t{50'000}, int64_t{piece}, 5 * piece}) {
    for (const int64_t buffer : {0, 4096, 1 << 20}) {
      SCOPED_TRACE(std::to_string(step) + " bytes at a time, buffer " + std::to_string(buffer));
      expect_finding([&] {
        Reader one(store, "a", 2, mode_of("r", buffer));
        read(one.stream(), step);
      });
      expect_finding([&] {
        Reader all(store, "a", mode_of("r", buffer));
        all.select(2);
        read(all.stream(), step);
      });
    }
    for (const char* const words : {"r", "r,collective", "r,collsize=2"})
      expect_finding([&] {
        std::optional<Error> found;
        run_fibers(fibers(3, 0), [&](Comm& comm) {
          Reader reader(store, comm.duplicate(), "a", mode_of(words));
          if (comm.rank() == 2) found = attempt([&] { read(reader.stream(), step); });
          reader.close();
        });
        if (found) throw *found;
      });
  }
  WorkProgress quiet;
  EXPECT_FALSE(verify(store, "a", true, quiet).ok());
  EXPECT_TRUE(verify(store, "a", false, quiet).ok());
}

// A collector reads the data of a task that opened no file. The task itself must find the damage.
TEST_F(DamagedData, IsFoundByItsTaskInACollectiveRead) {
  for (const int64_t step : {int64_t{100}, int64_t{50'000}, int64_t{piece}, int64_t{250'000}}) {
    SCOPED_TRACE(std::to_string(step) + " bytes at a time");
    std::vector<std::string> errors(3);
    FaultyStore counting(store);
    run_fibers(fibers(3, 0), [&](Comm& comm) {
      const auto me = static_cast<size_t>(comm.rank());
      Reader reader(counting, comm.duplicate(), "a", mode_of("r,collective=2"));
      std::vector<std::byte> found(static_cast<size_t>(step));
      const int64_t total = p.expected(2).total();
      for (int64_t done = 0; done < total && errors[me].empty(); done += step) {
        const auto part = std::span(found).first(static_cast<size_t>(std::min(step, total - done)));
        if (const auto error = attempt([&] { reader.collective()->read(part, std::nullopt); })) {
          errors[me] = error->what();
          EXPECT_EQ(reader.stream().bytes_read(), done);
        } else {
          EXPECT_TRUE(std::ranges::equal(part, content(comm.rank(), done, std::ssize(part))));
        }
      }
      reader.close();
    });
    // The damage affects the physical file with two tasks, and all its tasks detect it. The other file is
    // sound.
    EXPECT_EQ(std::ranges::count(errors, std::string()), 1);
    for (const char* const part : {"'a.000001'", "task 1", "block 1", "offset 65536"})
      EXPECT_NE(errors[2].find(part), std::string::npos) << errors[2];
  }
}

// Sixteen tasks have two collectors. The header must be read once, and only its collectors may open each
// physical file.
TEST(Checksums, TasksThatDoNotCollectOpenNoFile) {
  for (const int64_t bytes : {int64_t{5}, int64_t{3000}, int64_t{100'000}, int64_t{400'000}}) {
    Program q;
    q.fsblksize = 4096;
    q.nfiles = 1;
    q.requests.assign(16, 150'000);
    q.steps.assign(16, {{Step::write, bytes}, {Step::write, 7}, {Step::write, bytes}});
    MemoryStore memory;
    write_in_parallel(memory, "a", q);
    const auto opens = [&](const std::string& words) {
      FaultyStore counting(memory);
      run_fibers(fibers(16, 0), [&](Comm& comm) {
        Reader reader(counting, comm.duplicate(), "a", mode_of(words));
        std::vector<std::byte> found(static_cast<size_t>(q.expected(comm.rank()).total()));
        for (std::span<std::byte> rest = found; !rest.empty();) {
          const size_t n = std::min<size_t>(rest.size(), 90'001);
          reader.collective()->read(rest.first(n), std::nullopt);
          rest = rest.subspan(n);
        }
        EXPECT_EQ(found, content(comm.rank(), 0, std::ssize(found)));
        reader.close();
      });
      return counting.operations(StoreOperation::open);
    };
    EXPECT_EQ(opens("r,collective=8"), opens("r,collective=8,checksums=off")) << bytes;
    EXPECT_LE(opens("r,collective=8"), 4) << bytes;
  }
}

TEST_F(DamagedData, CanBeReadWhereChecksumsAreIgnored) {
  Reader one(store, "a", 2, mode_of("r,checksums=off"));
  std::vector<std::byte> found(static_cast<size_t>(p.expected(2).total()));
  EXPECT_EQ(one.stream().read(found), found.size());
  found[static_cast<size_t>(3 * piece + 100 + 5)] ^= std::byte{4};
  EXPECT_EQ(found, content(2, 0, std::ssize(found)));
}

// A File caches its size at the open. A reader must find checksums even if the file grows afterwards.
TEST(Checksums, AreFoundInAFileThatIsCompletedOnceItIsOpen) {
  const auto directory =
      std::filesystem::temp_directory_path() / ("sheaf-completed-" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  const std::string path = directory / "a";
  Program p;
  p.requests = {700, 900};
  p.steps = {{{Step::write, 700}}, {{Step::write, 900}}};
  write_in_parallel(posix_store(), path, p);
  std::vector<std::byte> all(static_cast<size_t>(posix_store().status(path).size));
  posix_store().open(path, Access::read)->read_at(all, 0);
  const auto table = load_multifile(posix_store(), path).files[0].pointer.varheader;
  for (const int64_t size : {table, table + 8, table + 100, std::ssize(all) - 1, std::ssize(all)}) {
    const auto writing = posix_store().open(path, Access::write);
    writing->resize(size);
    const auto reading = posix_store().open(path, Access::read);
    EXPECT_EQ(reading->traits().opened_size, size);
    writing->write_at(all, 0);
    MetadataReader reader(*reading);
    FileChecks* const checks = reader.checks(reader.read_pointer());
    ASSERT_TRUE(checks) << "opened with " << size << " bytes";
    EXPECT_EQ(checks->check_tasks(0, 2).size(), 2U);
  }
  std::filesystem::remove_all(directory);
}

// Large sequential requests must be verified, too: the reader compares checksums in the page cache.
TEST(Checksums, AreComparedOnTheWayPastTheCaches) {
  const auto directory =
      std::filesystem::temp_directory_path() / ("sheaf-walk-" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  const std::string path = directory / "a";
  constexpr int64_t total = (10 << 20) + 1234;
  Program p;
  p.requests = {total};
  p.steps = {{{Step::write, total}}};
  write_in_parallel(posix_store(), path, p);
  const auto written = content(0, 0, total);
  const auto walk = [&](int64_t step, std::vector<std::byte>& into) {
    Reader reader(posix_store(), path, 0, mode_of("r"));
    into.assign(static_cast<size_t>(total), std::byte{});
    int64_t done = 0;
    const auto error = attempt([&] {
      while (done < total)
        done += static_cast<int64_t>(reader.stream().read(std::span(into).subspan(
            static_cast<size_t>(done), static_cast<size_t>(std::min(step, total - done)))));
    });
    EXPECT_EQ(reader.stream().bytes_read(), done);
    return error;
  };
  std::vector<std::byte> found;
  for (const int64_t step : {int64_t{256 << 10}, int64_t{1'000'000}, int64_t{3 << 20}, total}) {
    EXPECT_FALSE(walk(step, found));
    EXPECT_EQ(found, written) << step << " bytes at a time";
  }
  const int64_t damaged = load_multifile(posix_store(), path).row(0).geometry.offset(0) + (7 << 20) + 77;
  const auto wrong = static_cast<std::byte>(~static_cast<unsigned char>(written[(7 << 20) + 77]));
  posix_store().open(path, Access::write)->write_at({&wrong, 1}, damaged);
  for (const int64_t step : {int64_t{256 << 10}, int64_t{3 << 20}, total}) {
    const auto error = walk(step, found);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), Code::damaged);
    EXPECT_NE(std::string(error->what()).find("offset " + std::to_string(7 << 20)), std::string::npos)
        << error->what();
  }
  std::filesystem::remove_all(directory);
}

// An append replaces the checksum of the last piece, so it must fail if the old checksum does not match.
TEST(Checksums, NothingIsAppendedToADamagedPiece) {
  Program p;
  p.fsblksize = 512;
  p.requests = {1000};
  p.steps = {{{Step::write, 700}}};
  MemoryStore store;
  write_serially(store, "a", p);
  auto bytes = store.contents("a");
  bytes[static_cast<size_t>(load_multifile(store, "a").row(0).geometry.offset(0) + 10)] ^= std::byte{1};
  store.set_contents("a", bytes);
  MappedAppendRequest request;
  request.tasks.path = "a";
  request.tasks.automatic = true;
  for (const char* const words : {"append", "append,checksums=off"})
    EXPECT_EQ(code_of([&] { Writer(store, self_comm(), request, mode_of(words)); }), Code::damaged) << words;
  EXPECT_EQ(store.contents("a"), bytes);
}

}  // namespace
}  // namespace sheaf::test::checksums_test
