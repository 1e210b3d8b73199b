#include "exchange/transfer/held_writes.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "exchange/pieces/constants.hpp"
#include "exchange/transfer/independent.hpp"
#include "layout/type_map.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::exchange {
namespace {

using layout::TypeMap;

constexpr int64_t file_bytes = 600;

// An access to random extents, with memory of its own.
struct RandomAccess {
  explicit RandomAccess(std::mt19937_64& random, bool may_overlap = false) {
    std::vector<int64_t> lengths, offsets;
    int64_t total = 0;
    for (int64_t at = static_cast<int64_t>(random() % 40); at < file_bytes / 2;) {
      lengths.push_back(1 + static_cast<int64_t>(random() % 20));
      offsets.push_back(at);
      total += lengths.back();
      at += may_overlap && random() % 3 == 0 ? lengths.back() / 2
                                             : lengths.back() + static_cast<int64_t>(random() % 30);
      if (random() % 8 == 0) break;
    }
    file = TypeMap::indexed(lengths, offsets, TypeMap::bytes(1)).set_apart();
    memory = random() % 2 == 0 ? TypeMap::bytes(1) : TypeMap::bytes(1).resized(0, 3);
    bytes.resize(static_cast<size_t>(3 * total));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    access = {.displacement = static_cast<int64_t>(random() % (file_bytes / 2)),
              .filetype = &file,
              .from = 0,
              .to = total,
              .address = bytes.data(),
              .memory = &memory};
    access.from = static_cast<int64_t>(random() % static_cast<uint64_t>(total));
  }
  std::byte& at(int64_t position) {
    return bytes[static_cast<size_t>(memory.offset_of(position - access.from))];
  }

  TypeMap file, memory;
  std::vector<std::byte> bytes;
  FileAccess access;
};

// Bytes that are held, by offset; -1: none.
struct HeldModel {
  std::vector<int> bytes = std::vector<int>(2 * file_bytes, -1);

  void add(RandomAccess& one, bool holds) {
    for (int64_t p = one.access.from; p < one.access.to; ++p)
      bytes[static_cast<size_t>(one.access.offset_of(p))] = holds ? static_cast<int>(one.at(p)) : -1;
  }
  int64_t end() const {
    for (size_t i = bytes.size(); i > 0; --i)
      if (bytes[i - 1] >= 0) return static_cast<int64_t>(i);
    return 0;
  }
};

void write_held(File& file, const HeldExtents& extents) {
  IoCounters counters;
  independent_write(file, extents.access(), {.sieving = Sieving::disabled}, counters);
}

TEST(HeldExtents, AreTheLastBytesOfEachOffset) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    HeldExtents extents;
    HeldModel model;
    for (int step = 0; step < 12; ++step) {
      RandomAccess one(random);
      const bool holds = random() % 3 != 0;
      holds ? extents.add(one.access) : extents.remove(one.access);
      model.add(one, holds);
      ASSERT_EQ(extents.end(), model.end());
    }
    RandomAccess read(random, true);
    const RandomAccess before = read;
    int64_t copied = 0;
    EXPECT_EQ(extents.is_empty(), model.end() == 0);
    std::vector<std::byte> wanted = read.bytes;
    for (int64_t p = read.access.from; p < read.access.to; ++p) {
      const int held = model.bytes[static_cast<size_t>(read.access.offset_of(p))];
      if (held < 0) continue;
      wanted[static_cast<size_t>(read.memory.offset_of(p - read.access.from))] = static_cast<std::byte>(held);
      ++copied;
    }
    read.access.address = read.bytes.data();
    EXPECT_EQ(extents.copy_to(read.access), copied);
    EXPECT_EQ(read.bytes, wanted);
    if (extents.is_empty()) continue;
    MemoryStore store;
    const auto file = store.open("file", Access::create);
    const std::vector<std::byte> old(static_cast<size_t>(extents.end()), std::byte{7});
    file->write_at(old, 0);
    write_held(*file, extents);
    const auto found = store.contents("file");
    ASSERT_EQ(std::ssize(found), extents.end());
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(static_cast<int>(found[i]), model.bytes[i] < 0 ? 7 : model.bytes[i]) << i;
  }
}

TEST(HeldExtents, MergeWhatFollows) {
  const TypeMap byte = TypeMap::bytes(1);
  HeldExtents extents;
  std::vector<std::byte> data(100);
  for (int64_t i = 0; i < 100; i += 10)
    extents.add({.filetype = &byte, .from = i, .to = i + 10, .address = data.data() + i, .memory = &byte});
  EXPECT_EQ(extents.count(), 1);
}

// A file of one host, and a task with held writes. Whatever is held, drained or written in between, the task
// reads what it wrote last.
TEST(HeldWrites, ATaskReadsWhatItWroteLast) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    MemoryStore store;
    const auto file = store.open("file", Access::create);
    HeldWrites held;
    HeldModel model;  // includes the bytes in the file
    const HeldExtents* batch = nullptr;
    const auto finish = [&] {
      if (!batch) return;
      write_held(*file, *batch);
      held.finish();
      batch = nullptr;
    };
    for (int step = 0; step < 30; ++step) {
      const uint64_t kind = random() % 8;
      if (kind == 0) {
        if (const HeldExtents* const taken = held.take()) batch = taken;
      } else if (kind == 1) {
        finish();
      } else if (kind < 6) {
        RandomAccess one(random);
        model.add(one, true);
        if (kind < 4) {
          ASSERT_TRUE(held.add(one.access));
        } else {
          held.replace(one.access);
          IoCounters counters;
          independent_write(*file, one.access, {}, counters);
        }
      }
      RandomAccess read(random);
      const int64_t size = std::max(file->status().size, held.end());
      EXPECT_EQ(size, model.end());
      IoCounters counters;
      const int64_t got =
          held.read(read.access, [&] { return independent_read(*file, read.access, {}, counters); });
      ASSERT_EQ(got, read.access.position_at(size) - read.access.from);
      for (int64_t p = read.access.from; p < read.access.from + got; ++p) {
        const auto offset = static_cast<size_t>(read.access.offset_of(p));
        ASSERT_EQ(static_cast<int>(read.at(p)), std::max(model.bytes[offset], 0)) << "at offset " << offset;
      }
    }
    finish();
    if ((batch = held.take())) finish();
    EXPECT_TRUE(held.is_empty());
    const auto found = store.contents("file");
    ASSERT_EQ(std::ssize(found), model.end());
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(static_cast<int>(found[i]), std::max(model.bytes[i], 0)) << i;
  }
}

TEST(HeldWrites, WhatIsHeldIsNotReadFromTheFile) {
  const TypeMap byte = TypeMap::bytes(1);
  std::vector<std::byte> data(100, std::byte{3}), found(100);
  HeldWrites held;
  ASSERT_TRUE(held.add({.filetype = &byte, .from = 50, .to = 150, .address = data.data(), .memory = &byte}));
  int reads = 0;
  const auto read = [&](int64_t from, int64_t to) {
    return held.read({.filetype = &byte, .from = from, .to = to, .address = found.data(), .memory = &byte},
                     [&] { return ++reads, int64_t{0}; });
  };
  EXPECT_EQ(read(60, 150), 90);
  EXPECT_EQ(reads, 0);
  EXPECT_EQ(read(60, 151), 90);
  EXPECT_EQ(reads, 1);
  EXPECT_EQ(found[0], std::byte{3});
}

TEST(HeldWrites, RefuseMoreThanTheMemoryOfATask) {
  const TypeMap piece = TypeMap::bytes(1 << 10).resized(0, 2 << 10), byte = TypeMap::bytes(1);
  std::vector<std::byte> data(1 << 20);
  HeldWrites held;
  int64_t bytes = 0;
  const auto add = [&] {
    return held.add({.filetype = &piece,
                     .from = bytes,
                     .to = bytes + std::ssize(data),
                     .address = data.data(),
                     .memory = &byte});
  };
  while (add()) bytes += std::ssize(data);
  EXPECT_GT(bytes, held_memory / 2);
  EXPECT_LE(bytes, held_memory);
  ASSERT_NE(held.take(), nullptr);
  held.finish();
  EXPECT_TRUE(held.is_empty());
  EXPECT_TRUE(add());
}

}  // namespace
}  // namespace sheaf::exchange
