// Programs in which each task has its own file, or its own part of a file.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "multifile/metadata/parallel_open.hpp"
#include "multifile/reader/reader.hpp"
#include "multifile/writer/writer.hpp"
#include "simulation/program_parts.hpp"
#include "simulation/taping_comm.hpp"

namespace sheaf::simulation {

using namespace multifile;

namespace {

constexpr int64_t largest_call = 32 << 20;

// Calls take(offset, length) for each call of one task.
void for_each_call(const ProgramPart& part, const std::function<void(int64_t offset, int64_t length)>& take) {
  const int64_t call = std::min(part.options.call > 0 ? part.options.call : part.options.bytes, largest_call);
  for (int64_t at = 0; at < part.options.bytes; at += call) take(at, std::min(call, part.options.bytes - at));
}

// Runs transfer(). If only some tasks of a client may transfer at a time, runs the tasks in waves. `tape` is
// a Comm that records.
void in_turns(ProgramPart& part, Comm& tape, const std::function<void()>& transfer) {
  const int writers = part.options.writers;
  const int each = std::min(part.machine.tasks_per_client, part.options.tasks);
  if (writers <= 0 || writers >= each) return transfer();
  const auto client = tape.split(part.machine.client_of(part.comm.rank(), part.clients()), part.comm.rank());
  const int waves = (client->size() + writers - 1) / writers;
  for (int wave = 0; wave < waves; ++wave) {
    if (client->rank() / writers == wave) transfer();
    client->barrier();
  }
}

void read_multifile(ProgramPart& part, Comm& tape, const std::string& path) {
  std::string words = "br,checksums=off";
  if (!part.options.words.empty()) words += "," + part.options.words;
  const OpenMode mode = agree_on_call(tape, path, words, {}, std::nullopt);
  Reader reader(part.store, tape.duplicate(), path, mode);
  part.end_phase("open for reading");
  in_turns(part, tape, [&] {
    for_each_call(part, [&](int64_t, int64_t length) { reader.stream().read(program_data(length)); });
  });
  part.end_phase("read");
  reader.close();
  part.end_phase("close after reading");
}

}  // namespace

void write_multifile(ProgramPart& part) {
  const auto tape = taping_comm(part.comm.duplicate(), part.noted.tape, part.comm.rank());
  const std::string path = "d/multifile";
  part.end_phase("begin");
  {
    std::string words = "bw,journal=off,checksums=off";
    if (!part.options.words.empty()) words += "," + part.options.words;
    const OpenMode mode = agree_on_call(*tape, path, words, {}, std::nullopt);
    ParallelWriteRequest request;
    request.path = path;
    request.chunk_size = part.options.bytes;
    request.fsblksize = static_cast<int32_t>(part.options.told);
    request.keeps_chunks = part.options.told > 0;
    request.nfiles = part.options.files;
    if (part.options.files == 0) {
      // The physical files of I/O nodes, each used by the tasks of one node.
      request.local = tape->split(part.machine.client_of(part.comm.rank(), part.clients()), part.comm.rank());
    }
    Writer writer(part.store, tape->duplicate(), std::move(request), mode);
    part.end_phase("open");
    if (part.options.data) {
      in_turns(part, *tape, [&] {
        for_each_call(part, [&](int64_t, int64_t length) { writer.stream().write(program_data(length)); });
        writer.stream().flush();
      });
    }
    part.end_phase("write");
    writer.close();
    part.end_phase("close");
  }
  if (part.options.data && part.options.reads) read_multifile(part, *tape, path);
}

void write_task_files(ProgramPart& part) {
  const auto tape = taping_comm(part.comm.duplicate(), part.noted.tape, part.comm.rank());
  const std::string number = std::to_string(part.comm.rank());
  const std::string path = part.options.directories ? "d" + number + "/file" : "d/file." + number;
  part.end_phase("begin");
  auto file = part.store.open(path, Access::fresh);
  part.end_phase("open");
  if (part.options.data)
    in_turns(part, *tape, [&] {
      for_each_call(part, [&](int64_t at, int64_t length) { file->write_at(program_data(length), at); });
    });
  part.end_phase("write");
  file->close();
  part.end_phase("close");
  if (!part.options.data || !part.options.reads) return;
  file = part.store.open(path, Access::read);
  part.end_phase("open for reading");
  in_turns(part, *tape, [&] {
    for_each_call(part, [&](int64_t at, int64_t length) { file->read_at(program_data(length), at); });
  });
  part.end_phase("read");
  file->close();
  part.end_phase("close after reading");
}

void write_posix_shared(ProgramPart& part) {
  const int64_t begin = part.options.bytes * part.comm.rank();
  part.end_phase("begin");
  if (part.comm.rank() == 0) part.store.open("d/shared", Access::create)->close();
  const auto tape = taping_comm(part.comm.duplicate(), part.noted.tape, part.comm.rank());
  tape->barrier();
  const auto file = part.store.open("d/shared", Access::write);
  part.end_phase("open");
  for_each_call(part, [&](int64_t at, int64_t length) { file->write_at(program_data(length), begin + at); });
  part.end_phase("write");
  file->close();
  part.end_phase("close");
  if (!part.options.reads) return;
  const auto again = part.store.open("d/shared", Access::read);
  part.end_phase("open for reading");
  for_each_call(part, [&](int64_t at, int64_t length) { again->read_at(program_data(length), begin + at); });
  part.end_phase("read");
  again->close();
  part.end_phase("close after reading");
}

// Task 0 receives the data of each other task in turn and writes them. In the read phase, task 0 reads and
// sends them.
void write_one_task(ProgramPart& part) {
  const int tasks = part.options.tasks;
  const auto message = static_cast<int64_t>(
      1e9 * (part.machine.latency + static_cast<double>(part.options.bytes) / part.machine.port));
  const bool first = part.comm.rank() == 0;
  std::shared_ptr<File> file;
  part.end_phase("begin");
  if (first) file = part.store.open("d/one", Access::fresh);
  part.end_phase("open");
  for (int task = 0; first && task < tasks; ++task) {
    if (task > 0) part.noted.tape.note(0, {.length = message, .kind = SimulationStepKind::rest});
    for_each_call(part, [&](int64_t at, int64_t length) {
      file->write_at(program_data(length), task * part.options.bytes + at);
    });
  }
  part.end_phase("write");
  if (first) file->close();
  part.end_phase("close");
  if (!part.options.reads) return;
  if (first) file = part.store.open("d/one", Access::read);
  part.end_phase("open for reading");
  for (int task = 0; first && task < tasks; ++task) {
    for_each_call(part, [&](int64_t at, int64_t length) {
      file->read_at(program_data(length), task * part.options.bytes + at);
    });
    if (task > 0) part.noted.tape.note(0, {.length = message, .kind = SimulationStepKind::rest});
  }
  part.end_phase("read");
  if (first) file->close();
  part.end_phase("close after reading");
}

}  // namespace sheaf::simulation
