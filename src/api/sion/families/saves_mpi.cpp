// Collective waits for saves in the background.
#include <mpi.h>

#pragma GCC visibility push(default)
#include "sheaf_mpi.h"
#pragma GCC visibility pop

#include "api/sion/handles/guard.hpp"
#include "api/sion/save_handle.hpp"
#include "comm/agree.hpp"
#include "comm/mpi/mpi_comm.hpp"

using namespace sheaf;
using namespace sheaf::api;

int sheaf_save_wait_mpi(sheaf_save* save, int state, MPI_Comm comm) {
  static constexpr const char* function = "sheaf_save_wait_mpi";
  return guarded_together(function, -1, mpi_job_end(comm), 0, [&] {
    const std::unique_ptr<Comm> tasks = mpi_comm(comm);
    int64_t lacks = 0;
    std::optional<Error> problem;
    const auto wait = [&] {
      problem = attempt([&] {
        require(save, "save");
        lacks = wait_for_save(*save, state) == 0;
      });
    };
    // Only the first task looks again and again at what others have recorded. Before it waits in MPI, a task
    // sleeps until its own bytes are written.
    if (save && state == SHEAF_SAVE_DURABLE) save->save->finish_own_work();
    if (tasks->rank() == 0) wait();
    tasks->barrier();
    if (tasks->rank() != 0) wait();
    agree(*tasks, problem, std::span(&lacks, 1));
    return lacks == 0 ? 1 : 0;
  });
}
