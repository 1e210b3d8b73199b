// Reads and repairs an unclosed multifile of three tasks whose journal has records from journal_model.hpp.
// Readers must find exactly the data that the model finds, before and after the repair.
#include "comm/agree.hpp"
#include "format/journal.hpp"
#include "fuzz/journal_model.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/packed_files.hpp"
#include "fuzz/targets.hpp"
#include "multifile/reader/reader.hpp"
#include "multifile/recover/repair.hpp"
#include "multifile/writer/writer.hpp"

namespace sheaf::fuzz {

using namespace multifile;

namespace {

constexpr int64_t journal_tasks = 3;
constexpr int64_t journal_chunk = 64;

// An unclosed file, and the incomplete journal of the program that wrote it.
struct Unclosed {
  Bytes file, journal;
  uint64_t seed = 0;

  Unclosed() {
    MemoryStore store;
    const std::vector<int64_t> sizes(journal_tasks, journal_chunk), ranks{0, 1, 2};
    Writer writer(store, {"m", sizes, ranks, journal_chunk}, parse_open_mode("w,buffer=0"));
    for (int64_t t = 0; t < journal_tasks; ++t) {
      writer.select(t);
      writer.stream().write(Bytes(4 * journal_chunk, std::byte{7}));
      writer.commit();
    }
    file = store.contents("m");
    journal = store.contents("m.journal");
    journal.resize(format::journal_header_size);
    const auto extension = format::decode_extension(file, "m");
    require(extension.has_value(), "the file has an identity");
    seed = format::journal_seed({extension->identity, journal_tasks, 1, 1});
  }
};

void check_reader(Store& store, const std::string& path, const std::vector<std::vector<int64_t>>& expected) {
  Reader reader(store, path, parse_open_mode("r"));
  for (int64_t t = 0; t < journal_tasks; ++t) {
    reader.select(t);
    const BlockSizes& found = reader.stream().sizes();
    const auto& sizes = expected[static_cast<size_t>(t)];
    require(found.count == std::ssize(sizes), "number of blocks");
    for (size_t b = 0; b < sizes.size(); ++b)
      require(found[static_cast<int64_t>(b)] == sizes[b], "size of a block");
    Bytes data(16 * journal_chunk);
    attempt([&] { data.resize(reader.stream().read(data)); });
  }
}

}  // namespace

void fuzz_journal(std::span<const std::byte> input) {
  static const Unclosed base;
  const MemoryBound bound(MemoryBound::for_files(std::ssize(base.file) + 64 * 256 * 3));
  Bytes journal = base.journal;
  const Slots slots = put_records(input, base.seed, journal);
  MemoryStore store;
  store.set_contents("m", base.file);
  store.set_contents("m.journal", journal);
  std::vector<std::vector<int64_t>> expected;
  bool possible = true;
  for (int64_t t = 0; t < journal_tasks; ++t) {
    expected.push_back(blocks_of(slots, journal_tasks, t));
    for (const int64_t size : expected.back()) possible &= size <= journal_chunk;
  }
  std::optional<Reader> reader;
  const auto problem = attempt([&] { reader.emplace(store, "m", parse_open_mode("r")); });
  reader.reset();
  if (slots.empty() || slots.begin()->first >= journal_tasks)
    return require(problem && problem->code() == Code::unclosed,
                   "a journal without records of first blocks is lost");
  if (possible) require(!problem, "an unclosed file of sound records can be read");
  if (problem) return;
  check_reader(store, "m", expected);
  WorkProgress quiet;
  if (attempt([&] { repair(store, "m", {}, quiet); })) return;
  check_reader(store, "m", expected);
}

}  // namespace sheaf::fuzz
