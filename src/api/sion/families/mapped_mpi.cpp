// Mapped calls of the MPI family.
#include <mpi.h>

#include <memory>
#include <utility>

#include "api/sion/families/at_finalize.hpp"
#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/guard.hpp"
#include "api/sion/mapped.hpp"
#include "api/sion/opening.hpp"
#include "comm/mpi/mpi_comm.hpp"

using namespace sheaf;
using namespace sheaf::api;

int sion_paropen_mapped_mpi(char* fname, const char* file_mode, int* numFiles, MPI_Comm gComm,
                            int* nlocaltasks, int** globalranks, sion_int64** chunksizes,
                            int** mapping_filenrs, int** mapping_lranks, sion_int32* fsblksize,
                            FILE** fileptr) {
  static constexpr const char* function = "sion_paropen_mapped_mpi";
  return guarded_together(function, -1, mpi_job_end(gComm), -1, [&] {
    std::unique_ptr<Comm> all = mpi_comm(gComm);
    watch_finalize();
    return open_mapped(std::move(all), {function, fname, file_mode, numFiles, nlocaltasks, globalranks,
                                        chunksizes, mapping_filenrs, mapping_lranks, fsblksize, fileptr});
  });
}

int sion_parclose_mapped_mpi(int sid) {
  return close_parallel("sion_parclose_mapped_mpi", sid, OpenedBy::mapped);
}
