// The OpenMP family: every thread of the current team is one task. Compiled with OpenMP.
#include "api/sion/families/team.hpp"
#include "api/sion/handles/debug_log.hpp"
#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/locks.hpp"
#include "api/sion/handles/report.hpp"
#include "sion_omp.h"

using namespace sheaf;
using namespace sheaf::api;

int sion_paropen_omp(const char* fname, const char* file_mode, sion_int64* chunksize, sion_int32* fsblksize,
                     int* globalrank, FILE** fileptr, char** newfname) {
  static constexpr const char* function = "sion_paropen_omp";
  return guarded(function, omp_get_thread_num(), -1, [&] {
    use_library_lock();
    use_thread_numbers(omp_get_thread_num);
    int numfiles = 1;
    int task = 0;
    ParallelOpen call{function, fname,     file_mode, &numfiles, true,    false,
                      nullptr,  chunksize, fsblksize, &task,     fileptr, newfname};
    call.shares = true;
    call.may_collect = omp_get_thread_num() == 0;  // as the groups of the format have it
    const int sid = open_parallel(meet_team(), call);
    if (sid >= 0 && globalrank && find_handle(sid)->writer) *globalrank = task;
    return sid;
  });
}

int sion_parclose_omp(int sid) {
  static constexpr const char* function = "sion_parclose_omp";
  return guarded(function, omp_get_thread_num(), 0, [&] {
    check_team_closes(sid);
    return close_parallel(function, sid);
  });
}
