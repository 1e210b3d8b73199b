// generations: multifiles of five tasks whose stream lengths identify their generation. Their readers fail
// unless all data belongs to one generation.
#pragma once

#include <optional>

#include "multifile/generation/generation.hpp"
#include "support/programs.hpp"

namespace sheaf::test {

inline constexpr int generation_tasks = 5;

inline int64_t stream_length(int generation, int64_t task) { return 40 * generation + 7 * task + 1; }

inline Program generation_program(int generation, int nfiles) {
  Program p;
  p.nfiles = nfiles;
  p.fsblksize = 64;
  for (int64_t t = 0; t < generation_tasks; ++t) {
    p.requests.push_back(64);
    p.steps.push_back({{Step::write, stream_length(generation, t)}});
  }
  return p;
}

inline void write_generation(Store& store, const std::string& path, int generation, int nfiles,
                             const std::string& words = "w", bool mapped = false) {
  const Program p = generation_program(generation, nfiles);
  if (!mapped) return write_in_parallel(store, path, p, 0, words);
  run_fibers(fibers(2), [&](Comm& comm) {
    std::vector<multifile::MappedWriteTask> mine;
    for (int t = comm.rank(); t < generation_tasks; t += 2)
      mine.push_back({t, 64, layout::place_blockwise(t, generation_tasks, nfiles)});
    multifile::Writer writer(store, comm.duplicate(), {path, nfiles, 64, mine}, shared_mode_of(comm, words));
    for (const multifile::MappedWriteTask& t : mine) {
      writer.select(t.globalrank);
      writer.stream().write(content(t.globalrank, 0, stream_length(generation, t.globalrank)));
    }
    writer.close();
  });
}

// Determines the generation of the streams that are added. Throws if the bytes of a stream belong to no
// generation, or to a different generation than those of earlier streams.
class FoundGeneration {
 public:
  void add(int64_t task, multifile::ReadStream& stream) {
    std::vector<std::byte> bytes(10'000);
    bytes.resize(stream.read(bytes));
    const int64_t length = std::ssize(bytes);
    const int64_t generation = (length - 7 * task - 1) / 40;
    require(length == stream_length(static_cast<int>(generation), task) && bytes == content(task, 0, length),
            "task " + std::to_string(task) + " has " + std::to_string(length) + " bytes, of no generation");
    require(!found_ || *found_ == generation, "task " + std::to_string(task) + " is of generation " +
                                                  std::to_string(generation) + ", others of " +
                                                  std::to_string(found_.value_or(0)));
    found_ = static_cast<int>(generation);
  }
  int value() const { return found_.value(); }

 private:
  std::optional<int> found_;
};

inline int generation_of(Store& store, const std::string& path) {
  multifile::Reader reader(store, path, mode_of("r"));
  FoundGeneration found;
  require(reader.ntasks() == generation_tasks, "number of tasks");
  for (int64_t t = 0; t < generation_tasks; ++t) {
    reader.select(t);
    found.add(t, reader.stream());
  }
  return found.value();
}

// Reads every task with a reader of its own and returns the generation. The file must not change between the
// opens.
inline int by_task(Store& store, const std::string& path) {
  FoundGeneration found;
  for (int64_t t = 0; t < generation_tasks; ++t) {
    multifile::Reader reader(store, path, t, mode_of("r"));
    found.add(t, reader.stream());
  }
  return found.value();
}

// Returns the generation in `found`, one entry per task of a group. Throws if the entries differ.
inline int common(std::span<const int> found) {
  require(std::ranges::all_of(found, [&](int one) { return one == found.front(); }), "tasks differ");
  return found.front();
}

// Reads as a group of five tasks and returns the generation. Collective.
inline int read_as_group(Store& store, Comm& comm, const std::string& path, const std::string& words = "r") {
  multifile::Reader reader(store, comm.duplicate(), path, mode_of(words));
  FoundGeneration found;
  found.add(comm.rank(), reader.stream());
  int64_t range[2] = {found.value(), -found.value()};
  comm.all_max(range);
  require(range[0] == -range[1], "tasks of a group differ");
  reader.close();
  return found.value();
}

inline int by_group(Store& store, const std::string& path, const std::string& words = "r") {
  std::vector<int> found(generation_tasks);
  run_fibers(fibers(generation_tasks), [&](Comm& comm) {
    found[static_cast<size_t>(comm.rank())] = read_as_group(store, comm, path, words);
  });
  return common(found);
}

// Reads in mapped mode with any number of tasks and returns the generation. Collective.
inline int read_mapped_generation(Store& store, Comm& comm, const std::string& path) {
  std::vector<int64_t> mine;
  for (int64_t t = comm.rank(); t < generation_tasks; t += comm.size()) mine.push_back(t);
  multifile::Reader reader(store, comm.duplicate(), multifile::MappedReadRequest{path, false, mine},
                           mode_of("r"));
  FoundGeneration found;
  for (const int64_t t : mine) {
    reader.select(t);
    found.add(t, reader.stream());
  }
  int64_t range[2] = {found.value(), -found.value()};
  comm.all_max(range);
  require(range[0] == -range[1], "processes differ");
  reader.close();
  return found.value();
}

inline int by_mapped(Store& store, const std::string& path) {
  std::vector<int> found(2);
  run_fibers(fibers(2), [&](Comm& comm) {
    found[static_cast<size_t>(comm.rank())] = read_mapped_generation(store, comm, path);
  });
  return common(found);
}

// Opens the multifile like a program that ignores extensions: opens file 0, then as many files as its header
// states. Returns whether all exist. Throws if they belong to different generations.
inline bool plain_reader_opens(Store& store, const std::string& path) {
  std::optional<format::Header> lead;
  std::optional<format::Identity> identity;
  for (int32_t k = 0; !lead || k < lead->nfiles; ++k) {
    std::shared_ptr<File> file;
    format::Header header;
    if (attempt([&] {
          file = store.open(format::physical_name(path, k), Access::read);
          header = multifile::MetadataReader(*file).header();
        }))
      return false;
    if (!lead) {
      lead = header;
      identity = multifile::read_identity(*file);
    }
    require(multifile::read_identity(*file) == identity, "a plain reader opens files of two generations");
  }
  return true;
}

}  // namespace sheaf::test
