// For every k, the k-th operation of a program of one task or of a tool fails. The failure is reported,
// existing files stay, and a file that gets its final name is complete and correct.
#include "multifile/keyval/keyval_writer.hpp"
#include "multifile/recover/repair.hpp"
#include "multifile/tools/defrag.hpp"
#include "multifile/tools/split.hpp"
#include "multifile/tools/verify.hpp"
#include "support/faults.hpp"
#include "support/stores/recording_store.hpp"

namespace sheaf::test::tool_faults_test {

using namespace multifile;

namespace {

constexpr int64_t tasks = 3;
constexpr int64_t records = 4;
const std::string compressed = ",compress=lz4,frame=1k,compress_threads=0";

int64_t record_bytes(int64_t task) { return 200 + 150 * task; }

using Streams = std::vector<std::vector<std::byte>>;
using Make = std::function<void(MemoryStore&)>;
using Body = std::function<void(Comm&, Store&, Outcomes&)>;
using Check = std::function<void(MemoryStore&, const Outcomes&)>;

using Committed = std::function<void()>;  // called when all data is flushed

// Tasks take turns; with the word `keyval` they write records.
void write_serially(Store& store, const std::string& words, const Committed& committed) {
  const std::vector<int64_t> chunks{500, 700, 900}, ranks{0, 1, 2};
  Writer writer(store, {"a", chunks, ranks, 512}, mode_of("w" + words, 300));
  for (int64_t i = 0; i < records; ++i)
    for (int64_t t = 0; t < tasks; ++t) {
      writer.select(t);
      const auto data = content(t, i * record_bytes(t), record_bytes(t));
      if (words.find("keyval") != std::string::npos) {
        write_record(writer.stream(), writer.facts().metadata_order, static_cast<uint64_t>(t + i % 2), data);
      } else {
        writer.stream().write(data);
      }
      if (i == 1) writer.commit();
    }
  writer.commit();
  committed();
  writer.close();
}

void write_set(Store& inner, const std::string& words, const Committed& committed) {
  SharedHandles store(inner);
  run_fibers(fibers(tasks), [&](Comm& comm) {
    const int64_t me = comm.rank();
    ParallelWriteRequest request;
    request.path = "a";
    request.nfiles = 2;
    request.fsblksize = 512;
    request.chunk_size = 500 + 200 * me;
    Writer writer(store, comm.duplicate(), std::move(request), shared_mode_of(comm, "w" + words, 300));
    for (int64_t i = 0; i < records; ++i)
      writer.stream().write(content(me, i * record_bytes(me), record_bytes(me)));
    writer.commit();
    comm.barrier();
    if (me == 0) committed();
    comm.barrier();
    writer.close();
  });
}

struct StoredFiles : std::map<std::string, std::vector<std::byte>> {
  explicit StoredFiles(const MemoryStore& store) {
    for (const std::string& path : store.paths()) emplace(path, store.contents(path));
  }
};

// Creates identical files each time, identities included.
Make same(const std::function<void(MemoryStore&)>& make) {
  MemoryStore memory;
  make(memory);
  return [files = StoredFiles(memory)](MemoryStore& store) {
    for (const auto& [path, bytes] : files) store.set_contents(path, bytes);
  };
}

using Write = void (*)(Store&, const std::string&, const Committed&);

Make whole(Write write, const std::string& words = "") {
  return same([&](MemoryStore& memory) { write(memory, words, [] {}); });
}

// Leaves the files of a program that dies after flushing all data.
Make unclosed(Write write, const std::string& words = "") {
  return same([&](MemoryStore& memory) {
    MemoryStore store;
    RecordingStore tape(store);
    size_t length = 0;
    write(tape, words, [&] { length = tape.length(); });
    tape.replay(length, memory);
  });
}

Streams streams_made_by(const Make& make) {
  MemoryStore memory;
  make(memory);
  return streams_of(memory);
}

// Includes a lease, which stays as that of a dead owner if it cannot be removed.
bool is_temporary(const std::string& path) {
  return path.find(".part") != std::string::npos || path.ends_with(".lease");
}

// Only the files of `before` remain, unchanged, besides those that the faulty store does not allow to be
// removed.
void expect_as_before(MemoryStore& memory, const StoredFiles& before) {
  for (const std::string& path : memory.paths())
    if (!is_temporary(path)) {
      ASSERT_TRUE(before.contains(path)) << path << " is left behind";
      EXPECT_EQ(memory.contents(path), before.at(path)) << path << " has changed";
    }
  for (const auto& [path, bytes] : before) EXPECT_TRUE(memory.status(path).exists) << path << " is gone";
}

StoredFiles files_made_by(const Make& make) {
  MemoryStore memory;
  make(memory);
  return StoredFiles(memory);
}

// One call on the only task.
Body act(const std::function<void(Store&)>& call) {
  return [=](Comm&, Store& store, Outcomes& outcomes) { outcomes.all(0, "call", [&] { call(store); }); };
}

const std::function<void(Store&)> reading_all = [](Store& store) {
  const Streams found = streams_of(store);
  for (int64_t t = 0; t < tasks; ++t)
    if (std::ssize(found[static_cast<size_t>(t)]) < records * record_bytes(t))
      throw Error(Code::io, "a stream ends early");
};

void read_one(Store& store) {
  Reader one(store, "a", 2, mode_of("r", 100));
  std::vector<std::byte> bytes(static_cast<size_t>(records * record_bytes(2)));
  if (one.stream().read(bytes) < bytes.size()) throw Error(Code::io, "the stream ends early");
  EXPECT_EQ(bytes, content(2, 0, std::ssize(bytes)));
}

void verify_all(Store& store) {
  WorkProgress quiet;
  const VerifyReport report = verify(store, "a", true, quiet);
  for (const FileReport& file : report.files)
    if (!file.findings.empty())
      throw Error(file.state == FileState::unreadable ? Code::io : Code::damaged,
                  file.findings.front().message);
}

DefragRequest to_out(bool replace, const std::string& words) {
  DefragRequest request;
  request.output = "out";
  request.replace = replace;
  request.plain = words == "plain";
  if (words.starts_with(",")) request.compression = mode_of("w" + words).compression;
  return request;
}

void write_again(Store& store, const std::string& words) {
  write_serially(store, words, [] {});
}

// In unclosed files, data that ends early is a valid prefix.
bool is_closed(const std::string& name) { return name.find("Unclosed") == std::string::npos; }

std::vector<FaultyProgram> programs() {
  std::vector<FaultyProgram> all;
  const auto writes = [&](const std::string& name, const std::string& words) {
    const Streams expected = streams_made_by(whole(write_serially, words));
    const Check check = [=](MemoryStore& memory, const Outcomes& outcomes) {
      Streams found;
      if (attempt([&] { found = streams_of(memory); })) {
        EXPECT_TRUE(outcomes.any_failed());
        return;
      }
      if (!outcomes.any_failed()) {
        EXPECT_EQ(found, expected);
      }
      for (size_t t = 0; t < found.size(); ++t)
        EXPECT_TRUE(found[t].size() <= expected[t].size() &&
                    std::equal(found[t].begin(), found[t].end(), expected[t].begin()))
            << "task " << t;
    };
    all.push_back({.name = "Write" + name,
                   .reads = false,
                   .notices = false,
                   .body = act([=](Store& store) { write_again(store, words); }),
                   .check = check});
  };
  writes("", "");
  writes("Durable", ",durable");
  writes("Plain", ",journal=off,checksums=off");
  writes("Compressed", compressed);
  writes("Records", ",keyval=inline");

  // Tools that only read leave all files unchanged.
  const auto reads = [&](const std::string& name, const Make& make, const std::function<void(Store&)>& call) {
    const StoredFiles before = files_made_by(make);
    all.push_back({.name = name,
                   .reads = is_closed(name),
                   .make = make,
                   .body = act(call),
                   .check = [=](MemoryStore& memory, const Outcomes&) { expect_as_before(memory, before); }});
  };
  struct ToolSource {
    const char* name;
    Make make;
  };
  const std::vector<ToolSource> sources{{"File", whole(write_serially)},
                                        {"Plain", whole(write_serially, ",journal=off,checksums=off")},
                                        {"Set", whole(write_set)},
                                        {"CompressedFile", whole(write_serially, compressed)},
                                        {"CompressedSet", whole(write_set, compressed)},
                                        {"Records", whole(write_serially, ",keyval=inline")},
                                        {"Unclosed", unclosed(write_serially)},
                                        {"UnclosedSet", unclosed(write_set)}};
  for (const auto& [name, make] : sources) {
    reads(std::string("Read") + name, make, reading_all);
    if (std::string_view(name) != "Records") reads(std::string("ReadOneTaskOf") + name, make, read_one);
    if (std::string_view(name).find("Unclosed") != 0) reads(std::string("Verify") + name, make, verify_all);
  }

  // A result under its final name is complete and correct; the file it replaces stays until then.
  const auto defrags = [&](const std::string& name, const Make& from, bool replace,
                           const std::string& words) {
    const std::vector<std::byte> old(100, std::byte{7});
    const Make make = [=](MemoryStore& memory) {
      from(memory);
      if (replace) memory.set_contents("out", old);
    };
    const StoredFiles before = files_made_by(make);
    const Streams expected = streams_made_by(from);
    const Check check = [=](MemoryStore& memory, const Outcomes& outcomes) {
      const bool there = memory.status("out").exists && memory.contents("out") != old;
      EXPECT_TRUE(outcomes.any_failed() || there);
      if (there) {
        EXPECT_EQ(streams_of(memory, "out"), expected);
        WorkProgress quiet;
        EXPECT_TRUE(verify(memory, "out", true, quiet).ok());
        memory.remove("out");
        if (replace) memory.set_contents("out", old);
      }
      expect_as_before(memory, before);
    };
    const auto call = [=](Store& store) {
      WorkProgress quiet;
      defrag(store, load_multifile(store, "a"), to_out(replace, words), quiet);
    };
    all.push_back(
        {.name = "Defrag" + name, .reads = is_closed(name), .make = make, .body = act(call), .check = check});
  };
  for (const auto& [name, make] : sources) defrags(name, make, false, "");
  defrags("SetReplacing", whole(write_set), true, "");
  defrags("SetDecompressing", whole(write_set, compressed), false, "plain");
  defrags("SetCompressing", whole(write_set), false, compressed);
  defrags("RecordsCompressing", whole(write_serially, ",keyval=inline"), true, compressed);

  const auto splits = [&](const std::string& name, const Make& make) {
    const StoredFiles before = files_made_by(make);
    SplitRequest request;
    request.prefix = "task.";
    MemoryStore sound;
    make(sound);
    WorkProgress quiet;
    split(sound, load_multifile(sound, "a"), request, quiet);
    const StoredFiles after(sound);
    const Check check = [=](MemoryStore& memory, const Outcomes& outcomes) {
      size_t there = 0;
      for (const std::string& path : memory.paths()) {
        if (is_temporary(path) || before.contains(path)) continue;
        ASSERT_TRUE(after.contains(path)) << path;
        EXPECT_EQ(memory.contents(path), after.at(path)) << path;
        memory.remove(path);
        ++there;
      }
      EXPECT_TRUE(outcomes.any_failed() || there == after.size() - before.size());
      expect_as_before(memory, before);
    };
    const auto call = [=](Store& store) {
      WorkProgress silent;
      split(store, load_multifile(store, "a"), request, silent);
    };
    all.push_back(
        {.name = "Split" + name, .reads = is_closed(name), .make = make, .body = act(call), .check = check});
  };
  for (const auto& [name, make] : sources) splits(name, make);

  // Flushed data survives whatever fails, and the next repair succeeds.
  const auto repairs = [&](const std::string& name, const Make& make, const Streams& expected,
                           const RepairRequest& request) {
    const Check check = [=](MemoryStore& memory, const Outcomes& outcomes) {
      WorkProgress quiet;
      const std::string result = request.copy_to.empty() ? "a" : request.copy_to;
      if (!outcomes.any_failed()) {
        EXPECT_FALSE(Reader(memory, result, mode_of("r")).facts().unclosed);
        EXPECT_EQ(streams_of(memory, result), expected);
      }
      EXPECT_EQ(streams_of(memory), expected);
      repair(memory, "a", {}, quiet);
      EXPECT_EQ(streams_of(memory), expected);
      EXPECT_TRUE(verify(memory, "a", true, quiet).ok());
    };
    const auto call = [=](Store& store) {
      WorkProgress quiet;
      repair(store, "a", request, quiet);
    };
    // A journal of a complete file that cannot be removed does no harm.
    all.push_back({.name = "Repair" + name,
                   .reads = false,
                   .notices = false,
                   .make = make,
                   .body = act(call),
                   .check = check});
  };
  RepairRequest copy;
  copy.copy_to = "copy";
  repairs("File", unclosed(write_serially), streams_made_by(whole(write_serially)), {});
  repairs("Durable", unclosed(write_serially, ",durable"), streams_made_by(whole(write_serially)), {});
  repairs("Set", unclosed(write_set), streams_made_by(whole(write_set)), {});
  repairs("SetCopied", unclosed(write_set), streams_made_by(whole(write_set)), copy);
  repairs("Compressed", unclosed(write_serially, compressed),
          streams_made_by(whole(write_serially, compressed)), {});
  repairs("Records", unclosed(write_serially, ",keyval=inline"),
          streams_made_by(whole(write_serially, ",keyval=inline")), {});
  return all;
}

using ToolFaults = FaultTable;
TEST_P(ToolFaults, AreToldAndHarmNothing) { sweep(std::get<0>(GetParam()), std::get<1>(GetParam())); }
INSTANTIATE_TEST_SUITE_P(All, ToolFaults,
                         ::testing::Combine(::testing::ValuesIn(programs()),
                                            ::testing::ValuesIn(kinds_of_fault())),
                         name_of_case);

}  // namespace
}  // namespace sheaf::test::tool_faults_test
