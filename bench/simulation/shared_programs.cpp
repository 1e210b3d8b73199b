// Programs in which tasks share a file: the access patterns of the Blue Gene/L paper. By default each dump is
// one collective call. A word in `off` selects other calls: "independent" makes one independent call per
// task, "loop" one call per piece; "automatic" lets the library decide whether to transfer collectively.
#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "mpiio/file/shared_file.hpp"
#include "simulation/program_parts.hpp"
#include "simulation/taping_comm.hpp"

namespace sheaf::simulation {

using namespace mpiio;

namespace {

using layout::TypeMap;

bool has_word(const std::string& words, std::string_view word) {
  return ("," + words + ",").find("," + std::string(word) + ",") != std::string::npos;
}

Hints hints_of(const ProgramPart& part) {
  Hints hints;
  const std::string& off = part.options.off;
  hints.aggregators = part.options.aggregators;
  hints.buffer_size = part.options.buffer / part.options.scale;
  hints.block_size = part.machine.block / part.options.scale;
  hints.collective_write = hints.collective_read =
      has_word(off, "automatic") ? Choice::automatic : Choice::enabled;
  for (std::string_view words = off; !words.empty();) hints.switch_off(take_word(words));
  if (!part.options.exchange.empty() && !hints.set("sheaf_exchange", part.options.exchange))
    throw Error(Code::invalid_argument, "exchange=" + part.options.exchange + ": unknown words");
  return hints;
}

// A task's data of one dump.
struct DumpPattern {
  TypeMap type;
  int64_t displacement = 0;
  int64_t dump = 0;  // bytes of all tasks
};

// Calls take(offset, length) for every piece.
class PieceCallback final : public layout::PieceVisitor {
 public:
  explicit PieceCallback(std::function<void(int64_t, int64_t)> take) : take_(std::move(take)) {}
  void run(const layout::Run& run) override {
    for (int64_t i = 0; i < run.count; ++i) take_(run.offset + i * run.stride, run.length);
  }
  void equal(const layout::EqualBlocks& blocks) override {
    for (const int64_t offset : blocks.offsets) take_(blocks.base + offset, blocks.length);
  }
  void blocks(const layout::Blocks& blocks) override {
    for (size_t i = 0; i < blocks.offsets.size(); ++i)
      take_(blocks.base + blocks.offsets[i], blocks.starts[i + 1] - blocks.starts[i]);
  }

 private:
  std::function<void(int64_t, int64_t)> take_;
};

struct DumpTransfer {
  ProgramPart& part;
  SharedFile& file;
  bool writes;

  int64_t move(const View& view, int64_t position, int64_t bytes, bool together) const {
    std::byte* const memory = program_data(bytes).data();
    const Source from{memory, TypeMap::bytes(1), bytes};
    const Destination to{memory, TypeMap::bytes(1), bytes};
    if (together)
      return writes ? file.write_at_all(file.sequence(), view, position, from)
                    : file.read_at_all(file.sequence(), view, position, to);
    return writes ? file.write_at(view, position, from) : file.read_at(view, position, to);
  }

  void dump(const DumpPattern& pattern, int number) const {
    View view;
    view.displacement = pattern.displacement + number * pattern.dump;
    if (has_word(part.options.off, "loop")) {
      int64_t count = 0;
      PieceCallback pieces([&](int64_t offset, int64_t length) {
        if (count++ % part.options.skip == 0) move(View{}, view.displacement + offset, length, false);
      });
      pattern.type.visit(0, 0, pattern.type.size(), pieces);
      return;
    }
    view.filetype = pattern.type;
    const int64_t call = part.options.call > 0 ? part.options.call / part.options.scale : pattern.type.size();
    for (int64_t at = 0; at < pattern.type.size(); at += call)
      move(view, at, std::min(call, pattern.type.size() - at), !has_word(part.options.off, "independent"));
  }
};

// Collective. Reads the first and last of `bytes` bytes, so that the library makes its window pool before the
// first timed call.
void prepare(ProgramPart& part, SharedFile& file, int64_t bytes) {
  const bool first = part.comm.rank() == 0;
  const int64_t mine = first || part.comm.rank() == part.comm.size() - 1 ? 1 : 0;
  View view;
  view.displacement = first ? 0 : bytes - 1;
  file.read_at_all(file.sequence(), view, 0, {program_data(1).data(), TypeMap::bytes(1), mine});
}

void write_pattern(ProgramPart& part, const std::vector<DumpPattern>& dumps) {
  const bool collective = !has_word(part.options.off, "loop") && !has_word(part.options.off, "independent");
  part.end_phase("begin");
  auto own = taping_comm(part.comm.duplicate(), part.noted.tape, part.comm.rank(), part.options.scale);
  const auto file = SharedFile::open(std::move(own), part.store, "d/shared",
                                     {.read = true, .write = true, .create = true}, hints_of(part));
  if (collective) prepare(part, *file, dumps.front().dump * std::ssize(dumps));
  part.end_phase("open");
  for (const bool writes : {true, false}) {
    if (!writes && !part.options.reads) break;
    int number = 0;
    for (const DumpPattern& pattern : dumps) {
      DumpTransfer{part, *file, writes}.dump(pattern, number++);
      if (collective) part.comm.barrier();
    }
    if (writes) file->sync();
    part.end_phase(writes ? "write" : "read");
  }
  file->close();
  part.end_phase("close");
}

void repeat(ProgramPart& part, const DumpPattern& pattern) {
  write_pattern(part, std::vector<DumpPattern>(static_cast<size_t>(part.options.dumps), pattern));
}

// Returns three factors of the number of tasks, as equal as possible, in ascending order.
std::vector<int64_t> grid_of(int tasks) {
  std::vector<int64_t> best{1, 1, tasks};
  for (int64_t a = 1; a * a * a <= tasks; ++a)
    for (int64_t b = a; tasks % a == 0 && a * b * b <= tasks; ++b)
      if (tasks / a % b == 0 && tasks / a / b - a <= best[2] - best[0]) best = {a, b, tasks / a / b};
  return best;
}

}  // namespace

void write_domains(ProgramPart& part) {
  const int64_t tasks = part.options.tasks;
  const int64_t blocks = part.options.points;
  const int64_t block = part.machine.block;
  const bool aligned = !has_word(part.options.off, "aligned");
  const auto border = [&](int64_t task) {
    return aligned ? blocks * task / tasks * block : blocks * block * task / tasks;
  };
  part.end_phase("begin");
  const auto file = part.store.open("d/shared", Access::create);
  part.end_phase("open");
  const int64_t from = border(part.comm.rank());
  const int64_t to = border(part.comm.rank() + 1);
  for (int64_t at = from; at < to; at += 16 << 20)
    file->write_at(program_data(std::min<int64_t>(16 << 20, to - at)), at);
  part.end_phase("write");
  file->close();
  part.end_phase("close");
}

void write_contiguous(ProgramPart& part) {
  const int64_t bytes = part.options.bytes / part.options.scale;
  repeat(part, {TypeMap::bytes(bytes), part.comm.rank() * bytes, part.options.tasks * bytes});
}

// Distributes pieces round-robin over the tasks.
void write_strided(ProgramPart& part) {
  const ProgramOptions& o = part.options;
  const int64_t piece = o.piece / o.scale;
  repeat(part, {TypeMap::vector(o.bytes / o.piece, 1, piece * o.tasks, TypeMap::bytes(piece)),
                part.comm.rank() * piece, o.bytes / o.piece * piece * o.tasks});
}

// Writes a three-dimensional array of ints in blocks of points^3.
void write_coll_perf(ProgramPart& part) {
  const int64_t n = part.options.points;
  const std::vector<int64_t> grid = grid_of(part.options.tasks);
  const int64_t rank = part.comm.rank();
  const int64_t row = n / part.options.scale;
  const int64_t starts[] = {rank / (grid[1] * grid[2]) * n, rank / grid[2] % grid[1] * n,
                            rank % grid[2] * row};
  const int64_t sizes[] = {grid[0] * n, grid[1] * n, grid[2] * row};
  const int64_t parts[] = {n, n, row};
  repeat(part, {TypeMap::subarray(sizes, parts, starts, true, TypeMap::bytes(4)), 0,
                part.options.tasks * n * n * row * 4});
}

// Writes points^3 cells of 5 doubles in diagonal multipartitioning; `tasks` must be a square.
void write_bt(ProgramPart& part) {
  const int64_t n = part.options.points;
  const int64_t cell_bytes = 40 / part.options.scale;
  int64_t q = 1;
  while (q * q < part.options.tasks) ++q;
  const auto begin = [&](int64_t cell) { return cell * n / q; };
  const int64_t rank = part.comm.rank();
  std::vector<TypeMap> cells;
  for (int64_t z = 0; z < q && q * q == part.options.tasks; ++z) {
    const int64_t at[] = {z, (rank / q + z) % q, (rank % q + z) % q};
    int64_t sizes[] = {n, n, n};
    int64_t parts[3], starts[3];
    for (int d = 0; d < 3; ++d) {
      starts[d] = begin(at[d]);
      parts[d] = begin(at[d] + 1) - starts[d];
    }
    cells.push_back(TypeMap::subarray(sizes, parts, starts, true, TypeMap::bytes(cell_bytes)));
  }
  if (cells.empty()) throw Error(Code::invalid_argument, "bt needs a square number of tasks");
  const std::vector<int64_t> lengths(cells.size(), 1);
  const std::vector<int64_t> places(cells.size(), 0);
  repeat(part, {TypeMap::structure(lengths, places, cells), 0, n * n * n * cell_bytes});
}

// Writes spectral elements of `piece` bytes, scattered over the tasks; `bytes` is the total of all tasks.
void write_elements(ProgramPart& part) {
  const ProgramOptions& o = part.options;
  const int64_t piece = o.piece / o.scale;
  const int64_t count = o.bytes / o.piece;
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  std::vector<int64_t> mine;
  for (int64_t i = part.comm.rank(); i < count; i += o.tasks)
    mine.push_back(order[static_cast<size_t>(i)] * piece);
  std::sort(mine.begin(), mine.end());
  order = {};
  repeat(part, {TypeMap::indexed_block(1, mine, TypeMap::bytes(piece)), 0, count * piece});
}

}  // namespace sheaf::simulation
