// multifile_model: the expected contents of a multifile after a sequence of calls, kept in plain vectors, and
// random sequences for comparison. Follows docs/format.md, section 5; independent of src/multifile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace sheaf::test {

// Returns the byte at position `at` of the stream of a task. Bytes differ between tasks, and between
// positions that a wrong offset would confuse.
inline std::byte content(int64_t task, int64_t at) {
  return static_cast<std::byte>((17 * (task + 1) + 5 * at + at / 251 + at / 65521) & 0xff);
}

inline std::vector<std::byte> content(int64_t task, int64_t from, int64_t count) {
  std::vector<std::byte> bytes(static_cast<size_t>(count));
  for (int64_t i = 0; i < count;) {  // in runs that need no division per byte
    const int64_t at = from + i;
    const int64_t end = std::min({count, i + 251 - at % 251, i + 65521 - at % 65521});
    for (auto byte = static_cast<uint8_t>(content(task, at)); i < end;
         ++i, byte = static_cast<uint8_t>(byte + 5))
      bytes[static_cast<size_t>(i)] = static_cast<std::byte>(byte);
  }
  return bytes;
}

struct Step {
  enum StepKind { write, ensure, flush } kind;
  int64_t bytes;
};

// The blocks of one task.
struct TaskModel {
  int64_t chunk = 0;  // final size
  std::vector<int64_t> blocks{0};

  int64_t total() const { return std::accumulate(blocks.begin(), blocks.end(), int64_t{0}); }
  bool accepts(const Step& step) const {
    return step.kind == Step::write    ? step.bytes == 0 || chunk > 0
           : step.kind == Step::ensure ? step.bytes >= 0 && step.bytes <= chunk
                                       : true;
  }
  void apply(const Step& step) {
    if (step.kind == Step::flush || !accepts(step)) return;
    int64_t left = step.bytes;
    if (left <= chunk && left > chunk - blocks.back()) blocks.push_back(0);
    if (step.kind == Step::ensure) return;
    while (left > 0) {
      if (blocks.back() == chunk) blocks.push_back(0);
      const int64_t piece = std::min(left, chunk - blocks.back());
      blocks.back() += piece;
      left -= piece;
    }
  }
};

// A whole program: the steps of every task.
struct Program {
  int32_t fsblksize = 512;
  int32_t nfiles = 1;                    // parallel: a value <= 0 selects groups
  int64_t buffer = 0;                    // bytes
  std::vector<int64_t> requests;         // chunk size of each task
  std::vector<std::vector<Step>> steps;  // steps of each task

  int ntasks() const { return static_cast<int>(requests.size()); }
  int64_t chunk(int64_t task) const {
    const int64_t request = requests[static_cast<size_t>(task)];
    return (request + fsblksize - 1) / fsblksize * fsblksize;
  }
  TaskModel expected(int64_t task) const {
    TaskModel model{chunk(task), {0}};
    for (const Step& step : steps[static_cast<size_t>(task)]) model.apply(step);
    return model;
  }
  std::string describe() const {
    std::ostringstream out;
    out << "fsblksize " << fsblksize << ", nfiles " << nfiles << ", buffer " << buffer;
    for (size_t t = 0; t < requests.size(); ++t) {
      out << "\n  task " << t << " asks for " << requests[t] << ":";
      for (const Step& s : steps[t]) out << ' ' << "wef"[s.kind] << s.bytes;
    }
    return out.str();
  }
};

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t below(int64_t bound) { return std::uniform_int_distribution<int64_t>(0, bound - 1)(engine_); }
  bool chance(int in) { return below(in) == 0; }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return of.begin()[below(static_cast<int64_t>(of.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

// Returns a random size. Prefers sizes near 0, 1, `chunk`, the rest of a chunk, several chunks, and more than
// a buffer.
inline int64_t random_size(Random& random, int64_t chunk) {
  switch (random.below(7)) {
    case 0:
      return random.below(2);
    case 1:
      return std::max<int64_t>(0, chunk + random.below(3) - 1);
    case 2:
      return random.below(4 * chunk + 1);
    case 3:
      return random.chance(10) ? 70000 + random.below(3000) : 8;
    default:
      return random.below(chunk / 4 + 30);
  }
}

inline Program random_program(uint64_t seed) {
  Random random(seed);
  Program p;
  p.fsblksize = static_cast<int32_t>(random.pick<int64_t>({1, 7, 64, 512, 4096, 65536}));
  p.buffer = random.pick<int64_t>({0, 1, 13, 300, 5000, 128 << 10});
  const auto ntasks = static_cast<size_t>(1 + random.below(7));
  p.nfiles = static_cast<int32_t>(1 + random.below(static_cast<int64_t>(ntasks)));
  for (size_t t = 0; t < ntasks; ++t) {
    p.requests.push_back(random.pick<int64_t>({0, 1, 33, 511, 512, 513, 4096, 10001, 100000}));
    const int64_t chunk = p.chunk(static_cast<int64_t>(t));
    std::vector<Step> steps;
    int64_t volume = 0;
    for (int64_t count = random.below(40); count > 0 && volume < 600000 && std::ssize(steps) < 60; --count) {
      const auto kind =
          random.pick({Step::write, Step::write, Step::write, Step::write, Step::ensure, Step::flush});
      steps.push_back({kind, kind == Step::flush ? 0 : random_size(random, chunk)});
      if (chunk < 64) steps.back().bytes %= 2000;  // limits the number of blocks
      volume += steps.back().bytes;
    }
    p.steps.push_back(std::move(steps));
  }
  return p;
}

}  // namespace sheaf::test
