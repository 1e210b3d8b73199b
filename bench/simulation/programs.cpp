#include "simulation/programs.hpp"

#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "simulation/program_parts.hpp"
#include "support/fibers/fiber_comm.hpp"

namespace sheaf::simulation {

namespace {

struct SimulatedProgram {
  std::string_view name;
  void (*body)(ProgramPart& part);
  Keep keep;
  size_t stack;
};

constexpr SimulatedProgram programs[] = {
    {"multifile", write_multifile, Keep::metadata, 32 << 10},
    {"task-files", write_task_files, Keep::nothing, 16 << 10},
    {"posix-shared", write_posix_shared, Keep::nothing, 16 << 10},
    {"one-task", write_one_task, Keep::nothing, 16 << 10},
    {"domains", write_domains, Keep::nothing, 16 << 10},
    {"contiguous", write_contiguous, Keep::nothing, 64 << 10},
    {"strided", write_strided, Keep::nothing, 64 << 10},
    {"coll_perf", write_coll_perf, Keep::nothing, 128 << 10},
    {"bt", write_bt, Keep::nothing, 128 << 10},
    {"elements", write_elements, Keep::nothing, 128 << 10},
};

}  // namespace

bool ProgramOptions::set(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view key = word.substr(0, equals);
  const std::string value(word.substr(equals + 1));
  if (key == "off") return off = value, true;
  if (key == "exchange") return exchange = value, true;
  if (key == "words") return words = value, true;
  const auto number = parse_bytes(value);
  if (!number) return false;
  const std::pair<std::string_view, std::function<void()>> settings[] = {
      {"tasks", [&] { tasks = static_cast<int>(*number); }},
      {"files", [&] { files = static_cast<int>(*number); }},
      {"bytes", [&] { bytes = *number; }},
      {"call", [&] { call = *number; }},
      {"told", [&] { told = *number; }},
      {"data", [&] { data = *number != 0; }},
      {"reads", [&] { reads = *number != 0; }},
      {"directories", [&] { directories = *number != 0; }},
      {"writers", [&] { writers = static_cast<int>(*number); }},
      {"piece", [&] { piece = *number; }},
      {"points", [&] { points = *number; }},
      {"dumps", [&] { dumps = static_cast<int>(*number); }},
      {"aggregators", [&] { aggregators = static_cast<int>(*number); }},
      {"buffer", [&] { buffer = *number; }},
      {"scale", [&] { scale = *number; }},
      {"skip", [&] { skip = *number; }},
  };
  for (const auto& [name, take] : settings) {
    if (name != key) continue;
    take();
    return tasks > 0 && skip > 0 && dumps > 0 && scale > 0;
  }
  return false;
}

std::vector<std::string_view> program_names() {
  std::vector<std::string_view> names;
  for (const SimulatedProgram& program : programs) names.push_back(program.name);
  return names;
}

RecordedProgram run_program(std::string_view name, const ProgramOptions& options, const Machine& machine) {
  for (const SimulatedProgram& program : programs) {
    if (program.name != name) continue;
    RecordedProgram noted{SimulationTape(options.tasks), {}};
    TapingStore store(noted.tape, (options.told > 0 ? options.told : machine.block) / options.scale,
                      program.keep, options.scale);
    FiberOptions fibers;
    fibers.ranks = options.tasks;
    fibers.ranks_per_node = machine.tasks_per_node;
    fibers.stack_bytes = program.stack;
    run_fibers(fibers, [&](Comm& comm) {
      ProgramPart part{comm, store, noted, options, machine};
      program.body(part);
    });
    return noted;
  }
  throw Error(Code::invalid_argument, "no program is called '" + std::string(name) + "'");
}

void ProgramPart::end_phase(const char* name) {
  const auto number = static_cast<int32_t>(ended++);
  if (std::ssize(noted.phases) <= number) noted.phases.emplace_back(name);
  noted.tape.note(comm.rank(), {.place = number, .kind = SimulationStepKind::phase});
  comm.barrier();
}

}  // namespace sheaf::simulation
