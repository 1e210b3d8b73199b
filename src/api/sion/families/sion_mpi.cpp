// The MPI family: every process is one task.
#include <mpi.h>
#include <climits>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "api/sion/families/at_finalize.hpp"
#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/guard.hpp"
#include "api/sion/opening.hpp"
#include "base/setting.hpp"
#include "comm/mpi/mpi_comm.hpp"
#include "comm/mpi/mpi_groups.hpp"

using namespace sheaf;
using namespace sheaf::api;

namespace {

int open_mpi(const char* function, const char* fname, const char* file_mode, int* numfiles, MPI_Comm gcomm,
             const MPI_Comm* lcomm, sion_int64* chunksize, sion_int32* fsblksize, int* globalrank,
             FILE** fileptr, char** newfname) {
  return guarded_together(function, -1, mpi_job_end(gcomm), -1, [&] {
    const bool has_group = lcomm && *lcomm != MPI_COMM_NULL;
    const auto local = [=](Comm& all) -> std::unique_ptr<Comm> {
      if (!has_group) return nullptr;
      check_partition(all, gcomm, *lcomm);
      return mpi_comm(*lcomm);
    };
    std::unique_ptr<Comm> all = mpi_comm(gcomm);
    watch_finalize();
    return open_parallel(std::move(all), {function, fname, file_mode, numfiles, lcomm != nullptr, has_group,
                                          local, chunksize, fsblksize, globalrank, fileptr, newfname});
  });
}

}  // namespace

int sion_paropen_mpi(const char* fname, const char* file_mode, int* numFiles, MPI_Comm gComm,
                     const MPI_Comm* lComm, sion_int64* chunksize, sion_int32* fsblksize, int* globalrank,
                     FILE** fileptr, char** newfname) {
  return open_mpi("sion_paropen_mpi", fname, file_mode, numFiles, gComm, lComm, chunksize, fsblksize,
                  globalrank, fileptr, newfname);
}

int sion_paropen_comms_mpi(char* fname, const char* file_mode, int* numFiles, MPI_Comm gComm, MPI_Comm lComm,
                           sion_int64* chunksize, sion_int32* fsblksize, int* globalrank, FILE** fileptr,
                           char*) {
  if (numFiles) *numFiles = 0;
  return open_mpi("sion_paropen_comms_mpi", fname, file_mode, numFiles, gComm, &lComm, chunksize, fsblksize,
                  globalrank, fileptr, nullptr);
}

int sion_paropen_multi_mpi(char* fname, const char* file_mode, int* numFiles, MPI_Comm gComm, MPI_Comm* lComm,
                           sion_int64* chunksize, sion_int32* fsblksize, int* globalrank, FILE** fileptr,
                           char*) {
  return open_mpi("sion_paropen_multi_mpi", fname, file_mode, numFiles, gComm, lComm, chunksize, fsblksize,
                  globalrank, fileptr, nullptr);
}

int sion_parclose_mpi(int sid) { return close_parallel("sion_parclose_mpi", sid); }

int sion_parreinit_mpi(int sid, sion_int64 chunksize) {
  return reinit_parallel("sion_parreinit_mpi", sid, chunksize);
}

size_t sion_coll_fwrite_mpi(const void* data, size_t size, size_t nitems, int sid) {
  return sion_coll_fwrite(data, size, nitems, sid);
}

size_t sion_coll_fread_mpi(void* data, size_t size, size_t nitems, int sid) {
  return sion_coll_fread(data, size, nitems, sid);
}

// --- transactions: tasks proceed in groups of SION_SERBLOCKSIZE ---

namespace {

// Returns the number of tasks in a group. SION_SERBLOCKSIZE sets the number; the default depends on `ntasks`.
int step_of(int ntasks) {
  if (const auto step = quiet_number_setting("SION_SERBLOCKSIZE", INT_MIN, INT_MAX); step && *step > 0)
    return static_cast<int>(*step);
  return ntasks > 128 ? 32 : ntasks > 64 ? 16 : ntasks > 16 ? 8 : ntasks;
}

// Calls barriers so that groups of tasks proceed in turns. If `before` is true, calls one barrier for each
// turn before that of this task. Otherwise calls one for the turn of this task and for each later turn.
int take_turns(const char* function, int sid, bool before) {
  Comm* comm = comm_of(sid);
  return succeeds(function, comm ? comm->rank() : -1, [&] {
    if (!comm) throw Error(Code::invalid_argument, "invalid file identifier " + std::to_string(sid));
    const int step = step_of(comm->size());
    const int turns = (comm->size() + step - 1) / step;
    const int mine = comm->rank() / step;
    for (int turn = before ? 0 : mine; turn < (before ? mine : turns); ++turn) comm->barrier();
  });
}

}  // namespace

int sion_startof_transaction_mpi(int sid) { return take_turns("sion_startof_transaction_mpi", sid, true); }
int sion_endof_transaction_mpi(int sid) { return take_turns("sion_endof_transaction_mpi", sid, false); }

// --- file check ---

struct _sion_file_check_par_args_mpi_struct {
  std::string mode;
  MPI_Comm global;
  int numfiles;
  MPI_Comm local;
};

sion_file_check_par_args_mpi* sion_file_check_par_args_init_mpi(const char* file_mode, MPI_Comm gComm,
                                                                int numfiles, MPI_Comm lComm) {
  if (!file_mode) return nullptr;
  return new (std::nothrow) sion_file_check_par_args_mpi{file_mode, gComm, numfiles, lComm};
}

int sion_file_check_par_args_free_mpi(sion_file_check_par_args_mpi* args) {
  delete args;
  return SION_SUCCESS;
}

int sion_file_check_par_cb_mpi(char* fname, void* args) {
  auto* check = static_cast<sion_file_check_par_args_mpi*>(args);
  if (!check) return 0;
  const int printed = sheaf_print_errors(0);
  int numfiles = check->numfiles;
  sion_int64 chunksize = 0;
  sion_int32 fsblksize = -1;
  int rank = 0;
  const int sid = sion_paropen_mpi(fname, check->mode.c_str(), &numfiles, check->global, &check->local,
                                   &chunksize, &fsblksize, &rank, nullptr, nullptr);
  const int opened = sid >= 0 && sion_parclose_mpi(sid) == SION_SUCCESS;
  sheaf_print_errors(printed);
  return opened;
}
