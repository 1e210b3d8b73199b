// Random sequences of whole programs and tools over two multifiles, compared with streams in memory. The test
// shortens a failing sequence as far as possible and prints it with its seed. SHEAF_MODEL_SEED runs one seed,
// SHEAF_MODEL_RUNS sets the number of runs.
#include <gtest/gtest.h>

#include <map>

#include "multifile/recover/repair.hpp"
#include "multifile/tools/defrag.hpp"
#include "multifile/tools/split.hpp"
#include "multifile/tools/verify.hpp"
#include "support/mapped.hpp"
#include "support/variable.hpp"

namespace sheaf::test::model_test {

using namespace multifile;

namespace {

enum CommandKind : uint32_t { write, append, die_and_repair, defragment, split_up, read, kinds };
constexpr const char* names[] = {"write", "append", "die and repair", "defragment", "split", "read"};

// Numbers are taken modulo the number of choices, so every list of commands is a valid program, and smaller
// numbers are simpler.
struct ModelCommand {
  uint32_t kind = 0;
  std::array<uint32_t, 8> n{};
};

std::string describe(const std::vector<ModelCommand>& commands) {
  std::ostringstream out;
  for (const ModelCommand& c : commands) {
    out << "\n  " << names[c.kind % kinds] << ':';
    for (const uint32_t number : c.n) out << ' ' << number;
  }
  return out.str();
}

struct MultifileModel {
  int64_t version = 0;  // of the contents
  int32_t nfiles = 1;
  std::vector<int64_t> lengths;
  bool packed = false;  // written by defrag, so tasks without data have no chunks

  std::vector<std::byte> bytes(int64_t task, int64_t from, int64_t count) const {
    return content(task + 10 * version, from, count);
  }
};

class ModelWorld {
 public:
  void run(const ModelCommand& c) {
    const std::string path = c.n[0] % 2 ? "b" : "a";
    const std::string other = c.n[0] % 2 ? "a" : "b";
    const bool exists = model_.contains(path);
    switch (c.kind % kinds) {
      case write:
        return run_write(c, path, true);
      case die_and_repair:
        return run_write(c, path, false);
      case append:
        return exists ? run_append(c, path) : void();
      case defragment:
        return exists ? run_defrag(c, path, other) : void();
      case split_up:
        return exists ? run_split(path) : void();
      case read:
        return exists ? run_read(c, path) : void();
    }
  }

 private:
  static int64_t pieces(const ModelCommand& c) { return c.n[4] % 7; }
  static int64_t piece(const ModelCommand& c, int64_t task, int64_t number) {
    return (c.n[5] + 37 * task + 101 * number) % 1500;
  }

  static std::string words(const ModelCommand& c) {
    static constexpr const char* variants[] = {"", ",durable", ",journal=off"};
    return variants[c.n[6] % 3];
  }

  // Writes all pieces of one task. Flushes after each piece if requested.
  template <class Write, class Flush>
  void write_pieces(const ModelCommand& c, MultifileModel& to, int64_t task, const Write& put,
                    const Flush& flush) {
    int64_t& length = to.lengths[static_cast<size_t>(task)];
    for (int64_t i = 0; i < pieces(c); ++i) {
      const int64_t bytes = piece(c, task, i);
      put(to.bytes(task, length, bytes), i);
      length += bytes;
      if ((i + task) % 3 == 0) flush();
      yield();
    }
  }

  void run_write(const ModelCommand& c, const std::string& path, bool closes) {
    MultifileModel made;
    made.version = ++version_ % 20;
    made.lengths.assign(1 + c.n[2] % 5, 0);
    const auto ntasks = static_cast<int>(made.lengths.size());
    const int way = closes ? static_cast<int>(c.n[1] % 5) : 0;
    if (way > 0) made.nfiles = 1 + static_cast<int32_t>(c.n[3] % static_cast<uint32_t>(ntasks));
    Program p;
    p.fsblksize = std::array{1, 64, 512, 4096}[c.n[3] % 4];
    p.nfiles = made.nfiles;
    p.buffer = c.n[7] % 2 ? 128 << 10 : 100;
    for (int64_t t = 0; t < ntasks; ++t) p.requests.push_back(1 + (c.n[7] + 211 * t) % 900);
    for (const std::string& name : std::exchange(files_[path], {})) store_.remove(name);
    for (int32_t k = 0; k < made.nfiles; ++k) files_[path].push_back(format::physical_name(path, k));
    if (way == 0) {
      write_serially(c, path, p, made, closes);
    } else if (way == 1) {
      write_mapped(c, path, p, made);
    } else {
      write_in_parallel(c, path, p, made, std::array{"", ",collective", ",collective,collsize=2"}[way - 2]);
    }
    model_[path] = made;
  }

  // Writes as a serial program. A program that dies has flushed at least the first piece of each task, so a
  // repair leaves a prefix.
  void write_serially(const ModelCommand& c, const std::string& path, const Program& p, MultifileModel& made,
                      bool closes) {
    std::vector<int64_t> ranks(made.lengths.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<int64_t> flushed = made.lengths;
    {
      const std::string mode = "w" + (closes ? words(c) : "");
      Writer writer(store_, {path, p.requests, ranks, p.fsblksize}, mode_of(mode, p.buffer));
      for (const int64_t t : ranks) {
        writer.select(t);
        const auto flush = [&] {
          writer.commit();
          flushed = made.lengths;
        };
        write_pieces(
            c, made, t, [&](auto&& bytes, int64_t) { writer.stream().write(bytes); }, flush);
      }
      if (closes) return writer.close();
      writer.commit();
      flushed = made.lengths;
      writer.select(0);
      writer.stream().write(made.bytes(0, made.lengths[0], 50));
    }
    WorkProgress quiet;
    repair(store_, path, {}, quiet);
    Reader reader(store_, path, mode_of("r"));
    require(!reader.facts().unclosed, "the repaired file is not complete");
    for (const int64_t t : ranks) {
      reader.select(t);
      const int64_t found = reader.stream().available(1 << 30);
      int64_t& length = made.lengths[static_cast<size_t>(t)];
      require(found >= flushed[static_cast<size_t>(t)] && found <= length + (t == 0 ? 50 : 0),
              "length after a repair");
      length = found;
    }
  }

  void write_in_parallel(const ModelCommand& c, const std::string& path, const Program& p,
                         MultifileModel& made, const std::string& more) {
    TaskHandles shared(store_);
    run_fibers(fibers(p.ntasks(), c.n[4] % 5), [&](Comm& comm) {
      Writer writer(shared, comm.duplicate(), request_of(path, p, comm),
                    shared_mode_of(comm, "w" + words(c) + more, p.buffer));
      const auto put = [&](const std::vector<std::byte>& bytes, int64_t number) {
        if (writer.collective() && number % 3 != 1) return writer.collective()->write(bytes, std::nullopt);
        writer.stream().write(bytes);
      };
      write_pieces(c, made, comm.rank(), put, [&] { writer.commit(); });
      writer.close();
    });
  }

  void write_mapped(const ModelCommand& c, const std::string& path, const Program& p, MultifileModel& made) {
    TaskHandles shared(store_);
    run_fibers(fibers(2, c.n[4] % 5), [&](Comm& comm) {
      std::vector<MappedWriteTask> mine;
      for (int t = comm.rank(); t < p.ntasks(); t += 2)
        mine.push_back(
            {t, p.requests[static_cast<size_t>(t)], layout::place_blockwise(t, p.ntasks(), p.nfiles)});
      Writer writer(shared, comm.duplicate(), {path, p.nfiles, p.fsblksize, mine},
                    shared_mode_of(comm, "w" + words(c), p.buffer));
      write_as_process(c, made, writer);
    });
  }

  void run_append(const ModelCommand& c, const std::string& path) {
    MultifileModel& made = model_.at(path);
    TaskHandles shared(store_);
    run_fibers(fibers(1 + static_cast<int>(c.n[1] % 3), c.n[4] % 5), [&](Comm& comm) {
      Writer writer(shared, comm.duplicate(), MappedAppendRequest{{path, true, {}}, 0},
                    mode_of("append" + words(c)));
      write_as_process(c, made, writer);
    });
  }

  void write_as_process(const ModelCommand& c, MultifileModel& made, Writer& writer) {
    for (const OwnTask& task : writer.tasks()) {
      if (made.packed && made.lengths[static_cast<size_t>(task.task)] == 0) continue;
      writer.select(task.task);
      write_pieces(
          c, made, task.task, [&](auto&& bytes, int64_t) { writer.stream().write(bytes); },
          [&] { writer.commit(); });
    }
    writer.close();
  }

  void run_defrag(const ModelCommand& c, const std::string& path, const std::string& other) {
    WorkProgress quiet;
    for (const std::string& name : std::exchange(files_[other], {other})) store_.remove(name);
    defrag(store_, load_multifile(store_, path), {other, static_cast<int32_t>(c.n[3] % 3 * 512), true},
           quiet);
    model_[other] = model_.at(path);
    model_[other].nfiles = 1;
    model_[other].packed = true;
    run_read(c, other);
  }

  void run_split(const std::string& path) {
    WorkProgress quiet;
    const Multifile multifile = load_multifile(store_, path);
    SplitRequest request;
    request.prefix = "task.";
    request.replace = true;
    split(store_, multifile, request, quiet);
    const MultifileModel& expected = model_.at(path);
    for (int64_t t = 0; t < std::ssize(expected.lengths); ++t) {
      const std::string name = split_name(request, t, multifile.row(t));
      require(store_.contents(name) == expected.bytes(t, 0, expected.lengths[static_cast<size_t>(t)]),
              "bytes of " + name);
      store_.remove(name);
    }
  }

  // Compares reads from the start and from other positions of a task with `expected`.
  static void check(const ModelCommand& c, const MultifileModel& expected, int64_t task, ReadStream& stream) {
    const int64_t length = expected.lengths[static_cast<size_t>(task)];
    for (int64_t number = 0; number < 4; ++number) {
      const int64_t from = number == 0 ? 0 : (c.n[5] + 977 * number + 31 * task) % (length + 1);
      require(stream.seek_absolute(from), "seek");
      std::vector<std::byte> found(number == 0 ? static_cast<size_t>(length) + 1 : c.n[6] % 3000);
      found.resize(stream.read(found));
      const int64_t count = std::min<int64_t>(number == 0 ? length : c.n[6] % 3000, length - from);
      require(found == expected.bytes(task, from, count),
              "task " + std::to_string(task) + ": bytes from " + std::to_string(from));
    }
  }

  void run_read(const ModelCommand& c, const std::string& path) {
    const MultifileModel& expected = model_.at(path);
    const auto ntasks = std::ssize(expected.lengths);
    WorkProgress quiet;
    require(verify(store_, path, true, quiet).ok(), "verify");
    const int way = static_cast<int>(c.n[1] % 5);
    TaskHandles shared(store_);
    if (way == 0) {
      Reader reader(store_, path, mode_of("r"));
      require(reader.ntasks() == ntasks && !reader.facts().unclosed, "a complete file");
      for (int64_t t = 0; t < ntasks; ++t) reader.select(t), check(c, expected, t, reader.stream());
    } else if (way == 1) {
      for (int64_t t = 0; t < ntasks; ++t)
        check(c, expected, t, Reader(store_, path, t, mode_of("r", 100)).stream());
    } else if (way == 2) {
      run_fibers(fibers(1 + static_cast<int>(c.n[2] % 3)), [&](Comm& comm) {
        Reader reader(shared, comm.duplicate(), MappedReadRequest{path, true, {}}, mode_of("r"));
        for (const OwnTask& task : reader.tasks())
          reader.select(task.task), check(c, expected, task.task, reader.stream());
        reader.close();
      });
    } else {
      run_fibers(fibers(static_cast<int>(ntasks), c.n[4] % 5), [&](Comm& comm) {
        Reader reader(shared, comm.duplicate(), path, mode_of(way == 3 ? "r" : "r,collective=2"));
        if (auto* const together = reader.collective())
          read_together(c, expected, comm.rank(), reader.stream(), *together);
        check(c, expected, comm.rank(), reader.stream());
        reader.close();
      });
    }
  }

  static void read_together(const ModelCommand& c, const MultifileModel& expected, int64_t task,
                            ReadStream& stream, CollectiveReader& together) {
    std::vector<std::byte> found;
    for (int64_t number = 0; number < 6; ++number) {
      std::vector<std::byte> out(
          static_cast<size_t>(stream.available((c.n[6] + 59 * task + 400 * number) % 2000)));
      together.read(out, std::nullopt);
      found.insert(found.end(), out.begin(), out.end());
    }
    require(found == expected.bytes(task, 0, std::ssize(found)),
            "task " + std::to_string(task) + ": bytes read together");
  }

  MemoryStore store_;
  std::map<std::string, MultifileModel> model_;
  std::map<std::string, std::vector<std::string>> files_;
  int64_t version_ = 0;
};

std::string problem_of(const std::vector<ModelCommand>& commands) {
  try {
    ModelWorld world;
    for (const ModelCommand& c : commands) world.run(c);
    ModelCommand last;
    last.kind = read;
    for (const uint32_t file : {0U, 1U}) {
      last.n = {file, 0, 0, 0, 0, 0, 700};
      world.run(last);
    }
    return "";
  } catch (const std::exception& e) {
    return *e.what() ? e.what() : "?";
  }
}

std::vector<ModelCommand> commands_of(uint64_t seed) {
  Random random(seed);
  std::vector<ModelCommand> commands(static_cast<size_t>(1 + random.below(12)));
  for (ModelCommand& c : commands) {
    c.kind = static_cast<uint32_t>(random.below(kinds));
    for (uint32_t& number : c.n) number = static_cast<uint32_t>(random.below(5000));
  }
  return commands;
}

// Returns a shortest failing sequence: removes commands and reduces numbers as long as the sequence still
// fails.
std::vector<ModelCommand> shortest(std::vector<ModelCommand> commands) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    const auto accept = [&](const std::vector<ModelCommand>& simpler) {
      if (problem_of(simpler).empty()) return false;
      commands = simpler;
      return smaller = true;
    };
    for (size_t i = commands.size(); i-- > 0;) {
      auto simpler = commands;
      simpler.erase(simpler.begin() + static_cast<ptrdiff_t>(i));
      accept(simpler);
    }
    for (size_t i = 0; i < commands.size(); ++i)
      for (size_t k = 0; k < commands[i].n.size(); ++k)
        for (const uint32_t less : {0U, commands[i].n[k] / 2, commands[i].n[k] - 1}) {
          if (less >= commands[i].n[k]) continue;
          auto simpler = commands;
          simpler[i].n[k] = less;
          if (accept(simpler)) break;
        }
  }
  return commands;
}

TEST(Model, ProgramsAndToolsDoWhatAMapOfStreamsDoes) {
  const uint64_t only = variable("SHEAF_MODEL_SEED", 0);
  const uint64_t first = only ? only : 1;
  const uint64_t last = only ? only : variable("SHEAF_MODEL_RUNS", 1000);
  for (uint64_t seed = first; seed <= last; ++seed) {
    const std::vector<ModelCommand> commands = commands_of(seed);
    if (problem_of(commands).empty()) continue;
    const std::vector<ModelCommand> few = shortest(commands);
    FAIL() << problem_of(few) << "\nSHEAF_MODEL_SEED=" << seed << ", at its shortest:" << describe(few);
  }
}

}  // namespace
}  // namespace sheaf::test::model_test
