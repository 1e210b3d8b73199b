// collective_model: computes the expected contents of a collectively written multifile (docs/format.md,
// section "Collective layouts") from whole vectors, independently of src/.
#pragma once

#include <numeric>

#include "support/multifile_model.hpp"

namespace sheaf::test {

inline int64_t round_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

// Returns, for each task of one physical file, the first task of its group. If collsize is 0, the group size
// is chosen automatically.
inline std::vector<int64_t> groups_of(const std::vector<int64_t>& requests, int64_t fsblksize,
                                      int64_t collsize) {
  const auto n = std::ssize(requests);
  const int64_t total = std::accumulate(requests.begin(), requests.end(), int64_t{0});
  std::vector<int64_t> firsts(requests.size(), 0);
  if (total == 0) return firsts;
  const int64_t limit = (total + fsblksize - 1) / fsblksize;
  int64_t most = n;
  for (const auto& [from, count] :
       {std::pair<int64_t, int64_t>{16, 4}, {32, 8}, {64, 8}, {128, 8}, {256, 16}, {512, 32}})
    if (n >= from) most = count;
  if (collsize > 0) most = (n + collsize - 1) / collsize;
  const int64_t average = round_up(total / std::min(most, limit), fsblksize);
  int64_t sum = 0;
  for (int64_t t = 0; t < n; ++t) {
    const int64_t r = requests[static_cast<size_t>(t)];
    const bool begins = t == 0 || sum + r > average;
    firsts[static_cast<size_t>(t)] = begins ? t : firsts[static_cast<size_t>(t) - 1];
    sum = begins ? r : sum + r;
  }
  return firsts;
}

inline std::vector<int64_t> collective_chunks(const std::vector<int64_t>& requests, int64_t fsblksize,
                                              int64_t collsize, bool merge) {
  const std::vector<int64_t> firsts = groups_of(requests, fsblksize, collsize);
  std::vector<int64_t> chunks = requests;
  if (merge)
    for (int64_t& chunk : chunks) chunk = round_up(chunk, fsblksize);
  for (size_t first = 0; first < firsts.size();) {
    size_t end = first;
    int64_t sum = 0;
    while (end < firsts.size() && firsts[end] == static_cast<int64_t>(first)) sum += requests[end++];
    if (merge) {
      chunks[first] = round_up(sum, fsblksize);
    } else {
      chunks[end - 1] += round_up(sum, fsblksize) - sum;
    }
    first = end;
  }
  return chunks;
}

// A sequence of collective calls. Each task may write independently before each call.
struct CollectiveProgram {
  int32_t fsblksize = 512;
  int32_t nfiles = 1;
  int64_t collsize = 0;
  bool merge = false;
  std::vector<int64_t> requests;
  struct Call {
    std::vector<int64_t> alone;     // bytes that each task first writes independently
    std::vector<int64_t> together;  // bytes that each task writes in the collective call
  };
  std::vector<Call> calls;

  int ntasks() const { return static_cast<int>(requests.size()); }
  int first_of_file(int task) const {
    const int per_file = ntasks() / nfiles;
    return std::min(task / per_file, nfiles - 1) * per_file;
  }
  int end_of_file(int task) const {
    const int per_file = ntasks() / nfiles;
    const int file = std::min(task / per_file, nfiles - 1);
    return file == nfiles - 1 ? ntasks() : (file + 1) * per_file;
  }
  std::vector<int64_t> requests_of_file(int task) const {
    return {requests.begin() + first_of_file(task), requests.begin() + end_of_file(task)};
  }
  int64_t chunk(int task) const {
    return collective_chunks(requests_of_file(task), fsblksize, collsize,
                             merge)[static_cast<size_t>(task - first_of_file(task))];
  }
  int collector(int task) const {
    const int first = first_of_file(task);
    return first + static_cast<int>(groups_of(requests_of_file(task), fsblksize,
                                              collsize)[static_cast<size_t>(task - first)]);
  }

  // Returns the expected blocks of a task and its bytes.
  std::pair<TaskModel, std::vector<std::byte>> expected(int task) const {
    TaskModel model{chunk(task), {0}};
    std::vector<std::byte> bytes;
    std::vector<int64_t> done(
        requests.size());  // bytes of each task so far, by collective and independent calls
    const auto write = [&](int from, int64_t count, bool here) {
      if (here && count > 0 && model.chunk > 0) {
        model.apply({Step::write, count});
        const auto piece = content(from, done[static_cast<size_t>(from)], count);
        bytes.insert(bytes.end(), piece.begin(), piece.end());
      }
      done[static_cast<size_t>(from)] += count;
    };
    for (const Call& call : calls) {
      for (int t = 0; t < ntasks(); ++t) write(t, call.alone[static_cast<size_t>(t)], t == task);
      for (int t = 0; t < ntasks(); ++t)
        write(t, call.together[static_cast<size_t>(t)], merge ? collector(t) == task : t == task);
    }
    return {model, bytes};
  }
  std::string words() const {
    std::string words = "collective";
    if (merge) words += ",cmerge";
    if (collsize > 0) words += ",collsize=" + std::to_string(collsize);
    return words;
  }
  std::string describe() const {
    std::ostringstream out;
    out << words() << ", fsblksize " << fsblksize << ", nfiles " << nfiles << ", requests";
    for (const int64_t r : requests) out << ' ' << r;
    for (const Call& call : calls) {
      out << "\n  alone";
      for (const int64_t n : call.alone) out << ' ' << n;
      out << " together";
      for (const int64_t n : call.together) out << ' ' << n;
    }
    return out.str();
  }
};

inline CollectiveProgram random_collective_program(uint64_t seed) {
  Random random(seed);
  CollectiveProgram p;
  p.fsblksize = static_cast<int32_t>(random.pick<int64_t>({1, 64, 512, 4096, 65536}));
  const auto ntasks = static_cast<size_t>(1 + random.below(random.chance(6) ? 40 : 9));
  p.nfiles =
      static_cast<int32_t>(1 + random.below(std::min<int64_t>(3, std::ssize(std::vector<char>(ntasks)))));
  p.collsize = random.pick<int64_t>({0, 0, 1, 2, 3, 5, 1000});
  p.merge = random.chance(3);
  const bool none = random.chance(20);
  const int64_t usual = random.pick<int64_t>({1, 33, 512, 4096, 100000, 600000});
  for (size_t t = 0; t < ntasks; ++t)
    p.requests.push_back(none ? 0 : random.chance(3) ? random.pick<int64_t>({0, 1, 100, 5000}) : usual);
  const int64_t scale = random.pick<int64_t>({1, 50, usual, 3000, 200000, 400000});
  const int64_t calls = random.below(random.chance(4) ? 30 : 6);
  for (int64_t c = 0; c < calls; ++c) {
    CollectiveProgram::Call call;
    for (size_t t = 0; t < ntasks; ++t) {
      const bool writes = p.chunk(static_cast<int>(t)) > 0;
      const int64_t most = std::min(scale, 4000 * std::max<int64_t>(1, p.chunk(static_cast<int>(t))));
      call.alone.push_back(writes && random.chance(4) ? random.below(2 * most) : 0);
      const int64_t goal = p.merge ? p.chunk(p.collector(static_cast<int>(t))) : p.chunk(static_cast<int>(t));
      const int64_t size = random.chance(4)   ? 0
                           : random.chance(8) ? random.below(3 * scale + 2)
                                              : random.below(scale + 1);
      call.together.push_back(goal > 0 ? std::min(size, 3000 * goal) : 0);
    }
    p.calls.push_back(std::move(call));
  }
  return p;
}

}  // namespace sheaf::test
