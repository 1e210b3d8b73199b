// The OpenMP family: every thread of the current team is one task. Compiled with OpenMP.
#include "api/sion/families/team.hpp"
#include "api/sion/handles/debug_log.hpp"
#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/guard.hpp"
#include "api/sion/handles/locks.hpp"
#include "sion_omp.h"

using namespace sheaf;
using namespace sheaf::api;

int sion_paropen_omp(const char* fname, const char* file_mode, sion_int64* chunksize, sion_int32* fsblksize,
                     int* globalrank, FILE** fileptr, char** newfname) {
  static constexpr const char* function = "sion_paropen_omp";
  return guarded_together(function, omp_get_thread_num(), team_job_end(), -1, [&] {
    use_library_lock();
    use_thread_numbers(omp_get_thread_num);
    int numfiles = 1;
    const int sid =
        open_parallel(start_team(), {.function = function,
                                     .fname = fname,
                                     .file_mode = file_mode,
                                     .numfiles = &numfiles,
                                     .has_local = true,
                                     .chunksize = chunksize,
                                     .fsblksize = fsblksize,
                                     .fileptr = fileptr,
                                     .newfname = newfname,
                                     .may_collect = omp_get_thread_num() == 0,  // only thread 0 collects
                                     .shares = true});
    if (sid >= 0 && globalrank && find_handle(sid)->writer) *globalrank = omp_get_thread_num();
    return sid;
  });
}

int sion_parclose_omp(int sid) {
  static constexpr const char* function = "sion_parclose_omp";
  return guarded_together(function, omp_get_thread_num(), team_job_end(), 0, [&] {
    check_team_closes(sid);
    return close_parallel(function, sid);
  });
}
