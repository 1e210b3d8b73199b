// The hybrid family: every thread of every process is one task. Compiled with OpenMP; only master threads
// call MPI.
#include <mpi.h>

#include <memory>

#include "api/sion/families/at_finalize.hpp"
#include "api/sion/families/team.hpp"
#include "api/sion/handles/debug_log.hpp"
#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/guard.hpp"
#include "api/sion/handles/locks.hpp"
#include "comm/mpi/mpi_comm.hpp"
#include "comm/mpi/mpi_groups.hpp"
#include "comm/threads/hybrid_comm.hpp"
#include "layout/placement.hpp"
#include "sion_ompi.h"

using namespace sheaf;
using namespace sheaf::multifile;
using namespace sheaf::api;

namespace {

// Arguments of the master thread, which apply to the whole process.
struct Given {
  int* numfiles_at = nullptr;
  int numfiles = 0;
  bool has_local = false;
  bool has_group = false;
};

// Places tasks in physical files. The number of files counts processes, so all threads of a process use the
// same file. Only a table places every task individually; the function then changes nothing.
void place_processes(Comm& comm, ParallelWriteRequest& request, const OpenMode& mode, int threads,
                     const std::function<std::unique_ptr<Comm>(Comm&)>& local) {
  if (mode.file_policy == FilePolicy::table) return;
  const int processes = comm.size() / threads;
  int nfiles = mode.file_policy == FilePolicy::fixed ? mode.files : request.nfiles;
  if (mode.file_policy == FilePolicy::automatic) nfiles = std::min(processes, comm.node_count());
  if (mode.file_policy == FilePolicy::per_node || (mode.file_policy == FilePolicy::caller && nfiles <= 0)) {
    request.local = mode.file_policy == FilePolicy::per_node ? comm.split_by_node() : local(comm);
  } else {
    if (nfiles > processes)
      throw Error(Code::invalid_argument, "'" + std::string(request.path) + "': " + std::to_string(nfiles) +
                                              " physical files for " + std::to_string(processes) +
                                              " processes");
    if (nfiles > 1)
      request.local =
          comm.split(layout::place_blockwise(comm.rank() / threads, processes, nfiles).file, comm.rank());
  }
  request.nfiles = 0;
}

}  // namespace

int sion_paropen_ompi(const char* fname, const char* file_mode, int* numFiles, MPI_Comm gComm,
                      const MPI_Comm* lComm, sion_int64* chunksize, sion_int32* fsblksize, int* globalrank,
                      FILE** fileptr, char** newfname) {
  static constexpr const char* function = "sion_paropen_ompi";
  const JobEnd end = omp_get_num_threads() > 1 ? team_job_end() : mpi_job_end(gComm);
  return guarded_together(function, -1, end, -1, [&] {
    use_library_lock();
    use_thread_numbers(omp_get_thread_num);
    const bool master = omp_get_thread_num() == 0;
    const int threads = omp_get_num_threads();
    Given given;
    std::unique_ptr<Comm> team, spare, processes, group;
    call_of_one_process(end, function, [&] {
      team = start_team();
      std::optional<Error> problem;
      if (master) {
        problem = attempt([&] {
          processes = mpi_comm(gComm);
          watch_finalize();
          given = {numFiles, numFiles ? *numFiles : 0, lComm != nullptr, lComm && *lComm != MPI_COMM_NULL};
        });
      }
      agree(*team, problem);
      team->broadcast(std::as_writable_bytes(std::span(&given, 1)), 0);
      spare = team->duplicate();
    });
    const auto local = [&](Comm& all) -> std::unique_ptr<Comm> {
      if (!given.has_group) return nullptr;
      check_partition(all, gComm, master ? *lComm : MPI_COMM_NULL);
      call_of_one_process(end, function, [&] {
        agree(*spare, master ? attempt([&] { group = mpi_comm(*lComm); }) : std::nullopt);
      });
      return hybrid_comm(std::move(group), std::move(spare));
    };

    int numfiles = given.numfiles;
    const auto place = [&](Comm& comm, ParallelWriteRequest& request, const OpenMode& mode) {
      place_processes(comm, request, mode, threads, local);
    };
    const int sid = open_parallel(hybrid_comm(std::move(processes), std::move(team)),
                                  {.function = function,
                                   .fname = fname,
                                   .file_mode = file_mode,
                                   .numfiles = given.numfiles_at ? &numfiles : nullptr,
                                   .has_local = given.has_local,
                                   .has_group = given.has_group,
                                   .local = local,
                                   .chunksize = chunksize,
                                   .fsblksize = fsblksize,
                                   .globalrank = globalrank,
                                   .fileptr = fileptr,
                                   .newfname = newfname,
                                   .may_collect = master,  // only master threads collect
                                   .shares = true,
                                   .place = place});
    if (sid < 0) return sid;
    // Only the master sets a variable that the threads share.
    if (numFiles && (master || numFiles != given.numfiles_at)) *numFiles = numfiles;
    return sid;
  });
}

int sion_parclose_ompi(int sid) {
  static constexpr const char* function = "sion_parclose_ompi";
  const Comm* const comm = comm_of(sid);
  return run_guarded(
      SION_SUCCESS,
      [&] {
        call_of_one_process(comm ? comm->job_end() : JobEnd(), function, [&] { check_team_closes(sid); });
        return close_parallel(function, sid);
      },
      [&](const std::exception& error) {
        const auto* const own = dynamic_cast<const Error*>(&error);
        const int result = own && own->code() == Code::invalid_argument ? -1 : 0;
        report(function, error, -1, result);
        return result;
      });
}
