// Positions in the stream of a task. Compares every kind of seek with a model, and with the example in the
// description of the interface.
#include <gtest/gtest.h>

#include "support/programs.hpp"

namespace sheaf::test::read_positions_test {

using namespace multifile;

namespace {

// Models the rules of sion_seek and sion_feof with block sizes alone.
struct PositionModel {
  std::vector<int64_t> sizes;
  int64_t block = 0;
  int64_t offset = 0;

  int64_t before(int64_t b) const { return std::accumulate(sizes.begin(), sizes.begin() + b, int64_t{0}); }
  int64_t absolute() const { return before(block) + offset; }
  int64_t total() const { return before(std::ssize(sizes)); }

  bool seek_block(int64_t b, int64_t p) {
    if (b < 0 || b >= std::ssize(sizes) || p < 0 || p > sizes[static_cast<size_t>(b)]) return false;
    block = b;
    offset = p;
    return true;
  }
  bool seek_absolute(int64_t a) {
    if (a < 0) return false;
    for (int64_t b = 0; b < std::ssize(sizes); ++b)
      if (a <= before(b + 1)) return seek_block(b, a - before(b));
    return false;
  }
  bool seek_from_end(int64_t e) {
    if (e > 0) return false;
    if (e == 0) return seek_block(std::ssize(sizes) - 1, sizes.back());
    if (!seek_absolute(total() + e)) return false;
    while (next_block_at_end()) {  // a position at a boundary belongs to the later block
    }
    return true;
  }
  bool next_block_at_end() {
    if (offset < sizes[static_cast<size_t>(block)] || block + 1 == std::ssize(sizes)) return false;
    ++block;
    offset = 0;
    return true;
  }
  int64_t advance(int64_t bytes) {
    int64_t done = 0;
    while (done < bytes) {
      const int64_t left = sizes[static_cast<size_t>(block)] - offset;
      if (left == 0) {
        if (!next_block_at_end()) break;
        continue;
      }
      const int64_t piece = std::min(left, bytes - done);
      offset += piece;
      done += piece;
    }
    return done;
  }
};

void random_step(Random& random, ReadStream& stream, PositionModel& model, int64_t task) {
  const int64_t total = model.total();
  switch (random.below(8)) {
    case 0: {
      const int64_t a = random.below(total + 20) - 5;
      require(stream.seek_absolute(a) == model.seek_absolute(a), "seek_absolute " + std::to_string(a));
      break;
    }
    case 1: {
      const int64_t e = 2 - random.below(total + 10);
      require(stream.seek_from_end(e) == model.seek_from_end(e), "seek_from_end " + std::to_string(e));
      break;
    }
    case 2: {
      const int64_t b = random.below(std::ssize(model.sizes) + 2) - 1;
      const int64_t p = random.below(model.sizes[static_cast<size_t>(model.block)] + 4) - 2;
      require(stream.seek_block(b, p) == model.seek_block(b, p), "seek_block");
      break;
    }
    case 3: {
      const bool at_end =
          model.offset == model.sizes[static_cast<size_t>(model.block)] && !model.next_block_at_end();
      require(stream.at_end() == at_end, "at_end");
      break;
    }
    case 4:
      model.next_block_at_end();
      stream.settle();
      break;
    default: {
      const int64_t want = random.chance(8) ? random.below(200000) : random.below(300);
      const int64_t from = model.absolute();
      const int64_t left = std::min(want, total - from);
      require(stream.available(want) == left, "available");
      std::vector<std::byte> found(static_cast<size_t>(want));
      const auto got = static_cast<int64_t>(stream.read(found));
      require(got == model.advance(want) && got == left, "read length");
      found.resize(static_cast<size_t>(got));
      require(found == content(task, from, got), "read bytes");
    }
  }
  require(stream.position() == StreamPosition{model.block, model.offset}, "place");
  require(stream.bytes_read() == model.absolute(), "bytes_read");
  require(stream.available_in_block() == model.sizes[static_cast<size_t>(model.block)] - model.offset,
          "left in block");
}

TEST(Positions, RandomReadsAndSeeksFollowTheModel) {
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    const Program p = random_program(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + p.describe());
    MemoryStore store;
    write_in_parallel(store, "a", p);
    Random random(seed);
    const int64_t buffer = random.pick<int64_t>({0, 1, 50, 9000, 128 << 10});
    Reader reader(store, "a", mode_of("r", buffer));
    std::vector<PositionModel> models;
    for (int64_t t = 0; t < p.ntasks(); ++t) models.push_back({p.expected(t).blocks});
    for (int step = 0; step < 300; ++step) {
      if (random.chance(10)) reader.select(random.below(p.ntasks()));
      const int64_t t = reader.task();
      ASSERT_NO_THROW(random_step(random, reader.stream(), models[static_cast<size_t>(t)], t))
          << "step " << step;
      const auto other = random.below(p.ntasks());
      EXPECT_EQ(reader.position_of(other).block, models[static_cast<size_t>(other)].block);
      EXPECT_EQ(reader.position_of(other).offset, models[static_cast<size_t>(other)].offset);
    }
  }
}

TEST(Positions, ExampleOfTheInterface) {
  Program p;
  p.fsblksize = 512;
  p.requests = {512};
  p.steps = {
      {{Step::write, 100}, {Step::ensure, 512}, {Step::write, 512}, {Step::write, 21}, {Step::ensure, 512}}};
  MemoryStore store;
  write_serially(store, "a", p);
  Reader reader(store, "a", mode_of("r"));
  ReadStream& stream = reader.stream();
  const auto at = [&](bool found) {
    const auto [block, offset] = stream.position();
    return std::tuple(found, block, offset);
  };
  using Place = std::tuple<bool, int64_t, int64_t>;
  EXPECT_EQ(at(stream.seek_absolute(100)), Place(true, 0, 100));
  EXPECT_EQ(at(stream.seek_absolute(101)), Place(true, 1, 1));
  EXPECT_EQ(at(stream.seek_absolute(633)), Place(true, 2, 21));
  EXPECT_EQ(at(stream.seek_absolute(634)), Place(false, 2, 21));
  EXPECT_EQ(at(stream.seek_from_end(0)), Place(true, 3, 0));
  EXPECT_EQ(at(stream.seek_from_end(-1)), Place(true, 2, 20));
  EXPECT_EQ(at(stream.seek_from_end(-21)), Place(true, 2, 0))
      << "the border of two blocks is the begin of the later one";
  EXPECT_EQ(at(stream.seek_from_end(-633)), Place(true, 0, 0));
  EXPECT_EQ(at(stream.seek_from_end(-634)), Place(false, 0, 0));
  EXPECT_EQ(at(stream.seek_from_end(1)), Place(false, 0, 0));
}

TEST(Positions, OfAMultifileWithoutTasks) {
  MemoryStore store;
  Writer writer(store, {"a", {}, {}, 512}, mode_of("w"));
  writer.close();
  Reader reader(store, "a", mode_of("r"));
  EXPECT_EQ(reader.ntasks(), 0);
  ReadStream& stream = reader.stream();
  EXPECT_TRUE(stream.at_end());
  EXPECT_FALSE(stream.seek_absolute(0));
  EXPECT_FALSE(stream.seek_from_end(0));
  EXPECT_FALSE(stream.seek_from_end(-1));
  EXPECT_FALSE(stream.seek_block(0, 0));
  std::byte byte;
  EXPECT_EQ(stream.read({&byte, 1}), 0u);
  EXPECT_EQ(code_of([&] { reader.select(0); }), Code::out_of_range);
}

}  // namespace
}  // namespace sheaf::test::read_positions_test
