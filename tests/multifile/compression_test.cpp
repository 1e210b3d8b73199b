// Compressed multifiles: the programs of uncompressed ones, files of killed writers, and damage.
#include <gtest/gtest.h>

#include "multifile/frames/plain_file.hpp"
#include "multifile/keyval/keyval_index.hpp"
#include "multifile/keyval/keyval_writer.hpp"
#include "multifile/recover/repair.hpp"
#include "multifile/tools/defrag.hpp"
#include "multifile/tools/split.hpp"
#include "multifile/tools/verify.hpp"
#include "support/magic.hpp"
#include "support/mapped.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::compression_test {

using namespace multifile;

namespace {

const char* const ways[] = {
    "w,compress=zstd,frame=1k,compress_threads=0", "w,compress=lz4,frame=4k,shuffle=4,compress_threads=2",
    "w,compress=zstd:3,shuffle=8,compress_threads=1", "w,compress=gzip:2,frame=2k,compress_threads=2"};

std::vector<std::byte> noise(size_t n) {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(n);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

void write_one(Store& store, const std::string& words, std::span<const std::byte> data,
               int64_t chunk = 1 << 20) {
  const int64_t rank = 0;
  Writer writer(store, {"a.sion", std::span(&chunk, 1), std::span(&rank, 1), 512}, mode_of(words));
  writer.stream().write(data);
  writer.close();
}

void check_tasks_hold(Store& store, const std::string& path, const std::vector<int64_t>& lengths) {
  Reader reader(store, path, mode_of("r"));
  for (int64_t task = 0; task < reader.ntasks(); ++task) {
    const int64_t length = lengths[static_cast<size_t>(task)];
    reader.select(task);
    std::vector<std::byte> found(static_cast<size_t>(length) + 1);
    found.resize(reader.stream().read(found));
    EXPECT_EQ(found, content(task, 0, length)) << "task " << task;
  }
}

TEST(Compression, OfRandomProgramsWrittenSerially) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const Program p = random_program(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + p.describe());
    MemoryStore store;
    ASSERT_NO_THROW({
      write_serially(store, "a.sion", p, seed, ways[seed % std::size(ways)]);
      check_serially(store, "a.sion", p, p.buffer);
      check_by_task(store, "a.sion", p, p.buffer);
    });
  }
}

TEST(Compression, OfRandomProgramsWrittenInParallel) {
  for (uint64_t seed = 1001; seed <= 1090; ++seed) {
    const Program p = random_program(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + p.describe());
    MemoryStore store;
    ASSERT_NO_THROW({
      write_in_parallel(store, "a.sion", p, seed % 3 == 0 ? 0 : seed, ways[seed % std::size(ways)]);
      check_every_way(store, "a.sion", p, p.buffer);
    });
  }
}

TEST(Compression, OfRandomMappedPrograms) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const MappedProgram p = random_mapped(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + p.program.describe());
    MemoryStore store;
    ASSERT_NO_THROW({
      write_mapped(store, "a.sion", p, seed, ways[seed % std::size(ways)]);
      check_mapped(store, "a.sion", p, seed);
    });
  }
}

TEST(Compression, OfCollectiveCalls) {
  for (const char* words : ways) {
    for (const int64_t bytes : {40, 3000, 90000}) {
      MemoryStore memory;
      SharedHandles store(memory);
      constexpr int tasks = 7, calls = 9;
      run_fibers(fibers(tasks), [&](Comm& comm) {
        ParallelWriteRequest request;
        request.path = "a.sion";
        request.chunk_size = 2 * bytes;
        Writer writer(store, comm.duplicate(), std::move(request),
                      shared_mode_of(comm, std::string(words) + ",collective,collsize=3"));
        require(writer.collective(), "writes collectively");
        for (int64_t call = 0; call < calls; ++call)
          writer.write_collectively(content(comm.rank(), call * bytes, bytes), std::nullopt);
        writer.close();
      });
      Reader reader(memory, "a.sion", mode_of("r"));
      for (int64_t task = 0; task < tasks; ++task) {
        reader.select(task);
        std::vector<std::byte> found(static_cast<size_t>(calls * bytes + 1));
        found.resize(reader.stream().read(found));
        EXPECT_EQ(found, content(task, 0, calls * bytes)) << words << " " << bytes;
      }
    }
  }
}

TEST(Compression, IsKeptByAppending) {
  for (const char* words : ways) {
    MemoryStore memory;
    const std::vector<int64_t> chunks{5000, 700, 0};
    const std::vector<int64_t> ranks{0, 1, 2};
    Writer first(memory, {"a.sion", chunks, ranks, 512}, mode_of(words));
    for (const int64_t task : {0, 1}) {
      first.select(task);
      for (int64_t at = 0; at < 6000; at += 500) first.stream().write(content(task, at, 500));
    }
    first.close();
    for (int64_t round = 0; round < 3; ++round) {
      Writer more(memory, self_comm(), MappedAppendRequest{{"a.sion", true, {}}, 0}, mode_of("append"));
      EXPECT_TRUE(more.facts().compressed);
      if (round != 1)  // in round 1, no data
        for (const int64_t task : {1, 0}) {
          more.select(task);
          const int64_t done = more.stream().bytes_written();
          EXPECT_EQ(done, 6000 + (round > 0) * 3000);
          for (int64_t at = 0; at < 3000; at += 300) more.stream().write(content(task, done + at, 300));
        }
      more.close();
    }
    check_tasks_hold(memory, "a.sion", {12000, 12000, 0});
  }
}

TEST(Compression, OfKeyValueRecords) {
  MemoryStore store;
  const std::vector<int64_t> chunks{3000};
  const std::vector<int64_t> ranks{0};
  Writer writer(store, {"a.sion", chunks, ranks, 512}, mode_of("w,keyval,compress=zstd,frame=1k"));
  for (uint64_t i = 0; i < 200; ++i)
    write_record(writer.stream(), native_order, i % 7, content(0, static_cast<int64_t>(i), 50));
  writer.close();
  Reader reader(store, "a.sion", mode_of("r"));
  KeyvalReader keys(reader.stream());
  KeyvalIndex& index = keys.add(0, native_order);
  std::vector<std::byte> found(50);
  for (uint64_t i = 3; i < 200; i += 7) {
    ASSERT_EQ(index.read(3, found.data(), 1, 50), 50u);
    EXPECT_EQ(found, content(0, static_cast<int64_t>(i), 50));
  }
  EXPECT_EQ(index.read(3, found.data(), 1, 50), 0u);
}

TEST(Compression, ToolsWritePlainDataOrKeepFrames) {
  MemoryStore store;
  const Program p = random_program(1005);
  write_in_parallel(store, "a.sion", p, 0, ways[0]);
  WorkProgress progress;
  const Multifile m = load_multifile(store, "a.sion");
  SplitRequest request;
  request.prefix = "part.";
  split(store, m, request, progress);
  for (int64_t t = 0; t < p.ntasks(); ++t)
    EXPECT_EQ(store.contents(split_name(request, t, m.row(t))), content(t, 0, p.expected(t).total()));
  for (const bool plain : {false, true}) {
    DefragRequest defragged;
    defragged.output = plain ? "plain.sion" : "frames.sion";
    defragged.plain = plain;
    defrag(store, m, defragged, progress);
    EXPECT_EQ(load_multifile(store, defragged.output).compressed(), !plain);
    EXPECT_TRUE(verify(store, defragged.output, true, progress).ok());
    std::vector<int64_t> lengths;
    for (int64_t t = 0; t < p.ntasks(); ++t) lengths.push_back(p.expected(t).total());
    check_tasks_hold(store, defragged.output, lengths);
  }
}

void check_magic(const MemoryStore& store, const std::string& words, bool encoded) {
  for (const std::string& path : store.paths())
    EXPECT_EQ(is_encoded(store, path), encoded) << words << ": " << path;
}

TEST(Compression, EveryPhysicalFileHasTheMagicOfEncodedOnes) {
  for (const std::string how : {"compress=zstd", "compress=lz4,checksums=off,journal=off", "compress=none"}) {
    const bool encoded = how != "compress=none";
    for (const std::string words : {"w,", "w,durable,", "w,collective,collsize=2,", "w,atomic,"}) {
      Program p = random_program(1005);
      p.nfiles = std::min<int32_t>(2, static_cast<int32_t>(p.ntasks()));
      MemoryStore parallel;
      write_in_parallel(parallel, "a.sion", p, 0, words + how);
      check_magic(parallel, words + how, encoded);
    }
    MemoryStore serial, mapped;
    write_one(serial, "w," + how, content(0, 0, 1000));
    check_magic(serial, how, encoded);
    write_mapped(mapped, "a.sion", random_mapped(7), 0, "w," + how);
    check_magic(mapped, how, encoded);
  }
}

TEST(Compression, ToolsGiveTheMagicOfWhatTheyWrite) {
  for (const bool once : {false, true}) {
    MemoryStore store;
    write_one(store, "w,compress=zstd,frame=4k", content(0, 0, 50000));
    if (once) give_plain_magic(store, "a.sion");
    check_tasks_hold(store, "a.sion", {50000});
    const auto before = store.contents("a.sion");
    WorkProgress progress;
    {
      const Multifile m = load_multifile(store, "a.sion");
      DefragRequest request;
      request.output = "frames.sion";
      defrag(store, m, request, progress);
      request.output = "plain.sion";
      request.plain = true;
      defrag(store, m, request, progress);
      request.output = "other.sion";
      request.plain = false;
      request.compression = parse_open_mode("w,compress=lz4").compression;
      defrag(store, m, request, progress);
    }
    RepairRequest copy;
    copy.copy_to = "copy.sion";
    repair(store, "a.sion", copy, progress);
    for (const char* path : {"frames.sion", "plain.sion", "other.sion", "copy.sion"}) {
      EXPECT_EQ(is_encoded(store, path), path != std::string("plain.sion")) << path;
      EXPECT_TRUE(verify(store, path, true, progress).ok()) << path;
      EXPECT_TRUE(verify(store, path, true, progress).files[0].notes.empty()) << path;
      check_tasks_hold(store, path, {50000});
    }
    EXPECT_EQ(store.contents("a.sion"), before);
    EXPECT_EQ(verify(store, "a.sion", true, progress).files[0].notes.size(), once ? 1U : 0U);
  }
}

TEST(Compression, OfACodecThatNobodyKnowsIsToldAtTheOpen) {
  MemoryStore store;
  write_one(store, "w,compress=zstd,frame=1k", content(0, 0, 5000));
  auto bytes = store.contents("a.sion");
  const auto head = std::span(bytes).first<static_cast<size_t>(format::fixed_size)>();
  auto extension = *format::decode_extension(head, "a.sion");
  extension.codec = format::Codec{7};
  format::put_extension(extension, head);
  store.set_contents("a.sion", bytes);
  EXPECT_EQ(code_of([&] { load_multifile(store, "a.sion"); }), Code::unsupported);
}

// An append to a file with the old magic changes it in place and must keep that magic.
TEST(Compression, FilesFromBeforeTheMagicKeepTheirs) {
  MemoryStore store;
  write_one(store, "w,compress=zstd,frame=1k", content(0, 0, 5000));
  give_plain_magic(store, "a.sion");
  {
    Writer more(store, self_comm(), MappedAppendRequest{{"a.sion", true, {}}, 0}, mode_of("append"));
    more.stream().write(content(0, 5000, 4000));
    more.close();
  }
  EXPECT_FALSE(is_encoded(store, "a.sion"));
  check_tasks_hold(store, "a.sion", {9000});
  {
    Writer dies(store, self_comm(), MappedAppendRequest{{"a.sion", true, {}}, 0}, mode_of("append"));
    dies.stream().write(content(0, 9000, 3000));
    dies.commit();
  }
  WorkProgress progress;
  repair(store, "a.sion", {}, progress);
  EXPECT_FALSE(is_encoded(store, "a.sion"));
  EXPECT_TRUE(verify(store, "a.sion", true, progress).ok());
  check_tasks_hold(store, "a.sion", {12000});
}

// A failed commit must not change the selected task, so that no task gets bytes of another one. Once there is
// space, all data must be kept.
TEST(Compression, ACommitThatFailedOnceIsRepeated) {
  for (const int64_t fail_at : {0, 1, 2, 3}) {
    MemoryStore memory;
    FaultyStore store(memory);
    const std::vector<int64_t> chunks{9000, 9000, 9000}, ranks{0, 1, 2};
    Writer writer(store, {"a", chunks, ranks, 512}, mode_of("w,compress=lz4", 64));
    for (const int64_t task : {1, 2, 0}) {
      writer.select(task);
      writer.stream().write(content(static_cast<int>(task), 0, 1000));
    }
    FaultPlan full;
    full.fail_at = fail_at;
    full.from_then_on = true;
    full.errno_value = ENOSPC;
    full.kind = StoreOperation::write;
    store.set_plan(full);
    if (code_of([&] { writer.commit(); }) == Code::ok) continue;  // this run has fewer writes than the plan
    EXPECT_EQ(writer.task(), 0);
    const auto more = content(0, 1000, 5000);
    attempt([&] { writer.commit(); });
    const bool accepted = !attempt([&] { writer.stream().write(more); });
    store.set_plan({});
    if (!accepted) writer.stream().write(more);
    writer.commit();
    writer.select(2);
    writer.stream().write(content(2, 1000, 500));
    writer.close();
    EXPECT_EQ(stream_of(memory, "a", 0), content(0, 0, 6000)) << fail_at;
    EXPECT_EQ(stream_of(memory, "a", 1), content(1, 0, 1000)) << fail_at;
    EXPECT_EQ(stream_of(memory, "a", 2), content(2, 0, 1500)) << fail_at;
  }
}

TEST(Compression, VerifyDecompressesEverything) {
  MemoryStore store;
  write_one(store, "w,compress=zstd,frame=4k,checksums=off", content(0, 0, 100000));
  WorkProgress progress;
  EXPECT_TRUE(verify(store, "a.sion", true, progress).ok());
  const auto at = static_cast<size_t>(load_multifile(store, "a.sion").row(0).geometry.start) + 50;
  auto bytes = store.contents("a.sion");
  bytes[at] ^= std::byte{1};
  store.set_contents("a.sion", bytes);
  const VerifyReport report = verify(store, "a.sion", true, progress);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.files[0].state, FileState::damaged);
}

// In an unclosed file, a truncated frame must not count as damage. A repair must drop it.
TEST(Compression, RepairKeepsWholeFrames) {
  MemoryStore store;
  const int64_t chunk = 600;
  const int64_t rank = 0;
  const auto data = noise(40000);
  {
    Writer writer(store, {"a.sion", std::span(&chunk, 1), std::span(&rank, 1), 512},
                  mode_of("w,compress=lz4,frame=1k,compress_threads=0"));
    writer.stream().write(data);
  }
  WorkProgress progress;
  repair(store, "a.sion", {}, progress);
  EXPECT_TRUE(verify(store, "a.sion", true, progress).ok());
  Reader reader(store, "a.sion", mode_of("r"));
  EXPECT_FALSE(reader.facts().unclosed);
  std::vector<std::byte> found(data.size());
  found.resize(reader.stream().read(found));
  EXPECT_GT(found.size(), data.size() / 2);
  EXPECT_TRUE(std::equal(found.begin(), found.end(), data.begin()));
}

TEST(Compression, DoesNotGoWithStreamsThatOthersWrite) {
  EXPECT_EQ(code_of([] { parse_open_mode("w,compress=zstd,collective,cmerge"); }), Code::invalid_argument);
  EXPECT_EQ(code_of([] { parse_open_mode("w,buddy", "compress=lz4"); }), Code::invalid_argument);
  EXPECT_EQ(code_of([] { parse_open_mode("r,buddy", "compress=lz4"); }), Code::ok);
}

TEST(Compression, MakesFilesSmaller) {
  MemoryStore store;
  const auto data = content(0, 0, 1 << 20);
  write_one(store, "w,compress=zstd", data);
  EXPECT_LT(load_multifile(store, "a.sion").row(0).sizes.total(), std::ssize(data) / 4);
  const Multifile plain = plain_view(load_multifile(store, "a.sion"));
  EXPECT_EQ(plain.row(0).sizes.total(), std::ssize(data));
}

TEST(Compression, OfNoiseCostsNoMoreThanTheHeads) {
  MemoryStore store;
  const auto data = noise(1 << 20);
  write_one(store, "w,compress=lz4", data);
  EXPECT_LE(load_multifile(store, "a.sion").row(0).sizes.total(), std::ssize(data) + 4 * (40 + 32) + 72);
  Reader reader(store, "a.sion", mode_of("r"));
  std::vector<std::byte> found(data.size());
  EXPECT_EQ(reader.stream().read(found), data.size());
  EXPECT_EQ(found, data);
}

TEST(Compression, ARangeDecompressesOnlyItsFrames) {
  MemoryStore store;
  const auto data = content(0, 0, 1 << 20);
  write_one(store, "w,compress=zstd,frame=16k", data, 300 << 10);
  const Multifile plain = plain_view(load_multifile(store, "a.sion"));
  PlainFile& file = *plain.files.front().plain;
  ReadStream stream;
  stream.buffer().set_max(0);
  const TaskRow row = plain.row(0);
  stream.load(plain.files.front().file, row.geometry, row.sizes, {});
  for (const int64_t at : {700000, 5, 1048000, 300 << 10, (300 << 10) - 1}) {
    const int64_t before = file.frames_decoded();
    std::vector<std::byte> found(500);
    ASSERT_TRUE(stream.seek_absolute(at));
    const size_t n = stream.read(found);
    found.resize(n);
    EXPECT_EQ(found, content(0, at, static_cast<int64_t>(n)));
    EXPECT_LE(file.frames_decoded() - before, 2);
  }
}

// Readers must find the frames even if the index is missing, as after a crash, or damaged.
TEST(Compression, FramesAreFoundWithoutTheIndex) {
  MemoryStore store;
  const auto data = content(0, 0, 100000);
  write_one(store, "w,compress=zstd,frame=4k,checksums=off", data);
  const Multifile m = load_multifile(store, "a.sion");
  auto bytes = store.contents("a.sion");
  const auto end = static_cast<size_t>(m.row(0).geometry.start + m.row(0).sizes.total());
  for (const size_t back : {1u, 20u, 100u, 700u}) {
    auto changed = bytes;
    changed[end - back] ^= std::byte{1};
    store.set_contents("a.sion", changed);
    Reader reader(store, "a.sion", mode_of("r"));
    std::vector<std::byte> found(data.size() + 1);
    found.resize(reader.stream().read(found));
    EXPECT_EQ(found, data) << back;
  }
}

TEST(Compression, FlippedBitsAreToldWithPathTaskAndOffset) {
  MemoryStore store;
  const auto data = content(0, 0, 5000);
  write_one(store, "w,compress=zstd,frame=1k,checksums=off", data);
  const Multifile m = load_multifile(store, "a.sion");
  const auto bytes = store.contents("a.sion");
  const auto begin = static_cast<size_t>(m.row(0).geometry.start);
  const auto end = begin + static_cast<size_t>(m.row(0).sizes.total());
  int told = 0;
  for (size_t at = begin; at < end; ++at) {
    auto changed = bytes;
    changed[at] ^= static_cast<std::byte>(1 << at % 8);
    store.set_contents("a.sion", changed);
    std::vector<std::byte> found(data.size());
    const auto error = attempt([&] {
      Reader reader(store, "a.sion", mode_of("r"));
      found.resize(reader.stream().read(found));
    });
    if (!error) {
      EXPECT_EQ(found, data) << "byte " << at - begin;
      continue;
    }
    ++told;
    EXPECT_EQ(error->code(), Code::damaged);
    EXPECT_NE(std::string(error->what()).find("task 0 of 'a.sion': at offset "), std::string::npos)
        << error->what();
  }
  EXPECT_GT(told, 0);
}

// If the program is killed, readers must find all data up to the last flush.
TEST(Compression, WhatWasFlushedIsThereWithoutAClose) {
  for (const char* words : ways) {
    MemoryStore store;
    const int64_t chunks[] = {3000, 1000};
    const int64_t ranks[] = {0, 1};
    Writer writer(store, {"a.sion", chunks, ranks, 512}, mode_of(words));
    for (int round = 0; round < 5; ++round)
      for (int64_t task = 0; task < 2; ++task) {
        writer.select(task);
        writer.stream().write(content(task, 700 * round, 700));
      }
    writer.commit();
    writer.stream().write(content(1, 3500, 400));
    Reader reader(store, "a.sion", mode_of("r"));
    EXPECT_TRUE(reader.facts().unclosed);
    for (int64_t task = 0; task < 2; ++task) {
      reader.select(task);
      std::vector<std::byte> found(5000);
      found.resize(reader.stream().read(found));
      EXPECT_GE(found.size(), 3500u);
      EXPECT_EQ(found, content(task, 0, std::ssize(found)));
    }
  }
}

// The disk is full for a while. A program must be able to repeat a write, and no other data may be stored.
TEST(Compression, AWriteThatFailedCanBeRepeated) {
  for (const char* words : ways) {
    for (int64_t k = 1; k < 12; ++k) {
      MemoryStore memory;
      FaultyStore store(memory);
      const int64_t chunk = 100000;
      const int64_t rank = 0;
      Writer writer(store, {"a.sion", std::span(&chunk, 1), std::span(&rank, 1), 512}, mode_of(words, 1000));
      FaultPlan plan;
      plan.fail_at = k;
      plan.errno_value = ENOSPC;
      plan.kind = StoreOperation::write;
      plan.path_contains = "a.sion";
      store.set_plan(plan);
      int64_t done = 0;
      int failures = 0;
      for (int64_t bytes = 1; done < 400000; bytes = bytes * 3 % 70001 + 1) {
        if (attempt([&] { writer.stream().write(content(0, done, bytes)); })) {
          ASSERT_LT(++failures, 3);
        } else {
          done += bytes;
        }
      }
      while (attempt([&] { writer.commit(); })) ASSERT_LT(++failures, 3);
      store.set_plan({});
      writer.close();
      Reader reader(memory, "a.sion", mode_of("r"));
      std::vector<std::byte> found(static_cast<size_t>(done) + 1);
      found.resize(reader.stream().read(found));
      EXPECT_EQ(found, content(0, 0, done)) << words << " " << k;
    }
  }
}

TEST(Compression, NeedsRoomBehindTheName) {
  MemoryStore store;
  const int64_t one = 100;
  const std::string name(1000, 'n');
  EXPECT_EQ(code_of([&] {
              Writer(store, {name, std::span(&one, 1), std::span(&one, 1)}, mode_of("w,compress=lz4"));
            }),
            Code::invalid_argument);
  EXPECT_FALSE(store.status(name).exists);
}

}  // namespace
}  // namespace sheaf::test::compression_test
