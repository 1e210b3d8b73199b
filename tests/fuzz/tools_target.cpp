// Runs the tools and appends to the multifile. Then reads the results and compares them with the input.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/commands.hpp"
#include "comm/agree.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/reading.hpp"
#include "fuzz/targets.hpp"
#include "multifile/keyval/keyval_check.hpp"
#include "multifile/tools/defrag.hpp"
#include "multifile/tools/split.hpp"
#include "multifile/tools/verify.hpp"
#include "multifile/writer/writer.hpp"
#include "storage/decorators/shared_handles.hpp"
#include "support/fibers/fiber_comm.hpp"

namespace sheaf::fuzz {

using namespace multifile;

namespace {

constexpr int64_t max_data = 1 << 20;  // limit for operations on all data

// Discards stdout during its lifetime.
class Silence {
 public:
  Silence() {
    std::fflush(stdout);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDOUT_FILENO);
    ::close(nowhere);
  }
  ~Silence() {
    std::fflush(stdout);
    ::dup2(kept_, STDOUT_FILENO);
    ::close(kept_);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  int kept_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
};

void print_everything(const Multifile& m) {
  const Silence silence;
  cli::DumpOptions options;
  options.blocks = options.mapping = options.mapping_by_file = options.internals = true;
  cli::dump_text(m, options);
  options.bytes = true;
  options.keys = options.records = has_records(m);
  // Records may be damaged; data printed before the damage remains.
  (void)attempt([&] { cli::dump_text(m, options); });
  cli::dump_json(m, false);
  (void)attempt([&] { cli::dump_json(m, true); });
  cli::print_info(m, false);
  cli::print_info(m, true);
}

void split_all(MemoryStore& store, const Multifile& m, const ReadContents& contents) {
  SplitRequest request;
  request.prefix = "task-";
  WorkProgress progress;
  const auto before = store.paths();
  const auto problem = attempt([&] { split(store, m, request, progress); });
  if (problem) return require(store.paths() == before, "a failed split leaves nothing");
  if (has_records(m)) return;
  for (const auto& [task, expected] : contents.tasks) {
    Bytes found = store.contents(split_name(request, task, m.row(task)));
    require(std::ssize(found) == expected.length, "length of a part");
    found.resize(expected.bytes.size());
    require(found == expected.bytes, "bytes of a part");
  }
}

void defragment(MemoryStore& inner, const Multifile& m, const ReadContents& contents,
                const ReadSettings& settings, bool sound) {
  // Uses the name that the readers open.
  WorkProgress progress;
  const DefragRequest request{"defragmented", 1, false};
  const auto before = inner.paths();
  const auto problem = attempt([&] { defrag(inner, m, request, progress); });
  require(!sound || !problem, "a sound multifile can be defragmented");
  if (problem) return require(inner.paths() == before, "a failed defrag leaves nothing");
  MemoryStore store;
  store.set_contents("m", inner.contents("defragmented"));
  require(verify(store, "m", true, progress).ok(), "a defragmented multifile is sound");
  const ReadOutcome again = read_serially(store, settings);
  require(!again.error && again.contents.tasks.size() >= contents.tasks.size(),
          "a defragmented multifile is readable");
  require_same(contents, again.contents, "defragmented");
}

// Appends to the multifile and compares the result with `contents`. `sound` states that the multifile has no
// errors and that no two tasks share bytes.
void append(MemoryStore& inner, const PackedFiles& files, const ReadContents& contents,
            const ReadSettings& settings, bool sound) {
  const auto image = [&] {
    std::vector<Bytes> all;
    if (std::ranges::all_of(files.files, [](const PackedInputFile& f) { return f.size() < max_data; }))
      for (const std::string& path : inner.paths()) all.push_back(inner.contents(path));
    return all;
  };
  const std::vector<Bytes> before = image();
  const Bytes more(static_cast<size_t>(files.option(1) ? 100 : 1), std::byte{0xa5});
  SharedHandles store(inner);
  FiberOptions options;
  options.ranks = settings.processes;
  options.stack_bytes = 128 << 10;
  int opened = 0, closed = 0;
  std::vector<int64_t> appended;
  run_fibers(options, [&](Comm& comm) {
    std::optional<Writer> writer;
    (void)attempt([&] {
      writer.emplace(store, comm.duplicate(), MappedAppendRequest{{"m", true, {}}, 0},
                     mode_of("append", settings));
    });
    if (!writer) return;
    ++opened;
    for (const OwnTask& t : writer->tasks()) {
      if (t.task >= 5) break;
      const auto problem = attempt([&] {
        writer->select(t.task);
        writer->stream().write(more);
      });
      if (!problem) appended.push_back(t.task);
    }
    closed += !attempt([&] { writer->close(); });
  });
  require(store.open_files() == 0, "all files are closed after appending");
  require(opened == 0 || opened == settings.processes, "processes agree about the open to append");
  require(closed == 0 || closed == settings.processes, "processes agree about the close");
  if (opened == 0) return require(image() == before, "an append that cannot begin changes nothing");
  if (!sound || closed == 0) return;
  const ReadOutcome again = read_serially(inner, settings);
  require(!again.error, "readable after appending");
  for (const auto& [task, old] : contents.tasks) {
    const auto found = again.contents.tasks.find(task);
    require(found != again.contents.tasks.end(), "all tasks are there after appending");
    Bytes expected = old.bytes;
    const bool grown = std::ranges::find(appended, task) != appended.end();
    if (grown && old.length == std::ssize(old.bytes))
      expected.insert(expected.end(), more.begin(), more.end());
    expected.resize(std::min<size_t>(expected.size(), static_cast<size_t>(max_bytes)));
    require(found->second.bytes == expected, "bytes after appending, task " + std::to_string(task));
    require(found->second.length == old.length + (grown ? std::ssize(more) : 0), "length after appending");
  }
}

}  // namespace

void fuzz_tools(std::span<const std::byte> input) {
  const PackedFiles files = unpack(input);
  if (files.files.empty() || files.holes_hold_metadata()) return;
  const MemoryBound bound(MemoryBound::for_files(files.bytes()) + 16 * max_data);
  MemoryStore store;
  put_files(store, files);
  const ReadSettings settings{files.processes(), files.buffer_bytes()};
  const ReadOutcome serial = read_serially(store, settings);
  WorkProgress progress;

  std::optional<Multifile> m;
  const auto problem = attempt([&] { m = load_multifile(store, "m"); });
  require(problem.has_value() == serial.error.has_value(), "loading and opening agree");
  const bool is_small = !m || m->data_bytes() <= max_data;
  const VerifyReport report = verify(store, "m", is_small, progress);
  if (!m) {
    require(!report.ok(), "verify finds what makes a multifile unreadable");
  } else {
    // A file with notes is not sound, because notes report blocks that extend into other chunks.
    const bool sound =
        report.ok() && std::ranges::all_of(report.files, [](const FileReport& f) { return f.notes.empty(); });
    if (report.ok()) require(serial.contents.failures.empty(), "a multifile that verify likes can be read");
    print_everything(*m);
    if (is_small) {
      split_all(store, *m, serial.contents);
      defragment(store, *m, serial.contents, settings, sound);
    }
    m.reset();
    MemoryStore fresh;
    put_files(fresh, files);
    append(fresh, files, serial.contents, settings, sound);
    return;
  }
  append(store, files, {}, settings, false);
}

}  // namespace sheaf::fuzz
