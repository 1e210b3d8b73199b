// simulation/program_parts: the work of one task in each program.
#pragma once

#include "comm/comm.hpp"
#include "simulation/programs.hpp"
#include "simulation/taping_store.hpp"

namespace sheaf::simulation {

// A task's part of a program.
struct ProgramPart {
  Comm& comm;  // not recorded
  TapingStore& store;
  RecordedProgram& noted;
  const ProgramOptions& options;
  const Machine& machine;
  int ended = 0;  // number of phases

  // Ends a phase; a barrier of all tasks.
  void end_phase(const char* name);
  int clients() const { return (options.tasks + machine.tasks_per_client - 1) / machine.tasks_per_client; }
};

// Programs with files of tasks: a multifile, a file per task, one file for all, and one task that writes for
// all.
void write_multifile(ProgramPart& part);
void write_task_files(ProgramPart& part);
void write_posix_shared(ProgramPart& part);
void write_one_task(ProgramPart& part);

// Programs with shared files. In `domains` every task has one contiguous extent, balanced or in whole blocks.
void write_domains(ProgramPart& part);
void write_contiguous(ProgramPart& part);
void write_strided(ProgramPart& part);
void write_coll_perf(ProgramPart& part);
void write_bt(ProgramPart& part);
void write_elements(ProgramPart& part);

}  // namespace sheaf::simulation
