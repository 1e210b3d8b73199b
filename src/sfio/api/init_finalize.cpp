// Intercepts the two MPI calls that concern a session, MPI_Init and MPI_Finalize.
//
// MPI_Finalize ends the session first. No listener thread may be active when the real MPI_Finalize starts,
// because MPICH stops locking then. If the MPI library precedes this one in symbol order, an attribute of
// MPI_COMM_SELF ends the session instead (runtime_mpi.cpp). That suffices unless listeners are threads and
// the MPI library is MPICH.
//
// MPI_Init requests the thread level for listener threads if SHEAF_SFIO asks for them, because programs that
// open `sfio:` names only through MPI-IO do not request it. With Open MPI, it also makes MPI send messages in
// longer bursts.
#include <mpi.h>

#include <cstdlib>
#include <string_view>

#include "base/export.hpp"
#include "base/os/mpi_end.hpp"
#include "sfio/api/runtime.hpp"

namespace {

int init(int* argc, char*** argv, int required, int* provided) {
  const char* const how = std::getenv("SHEAF_SFIO");
  if (how && std::string_view(how).starts_with("thread")) required = MPI_THREAD_MULTIPLE;
#ifdef OPEN_MPI
  // Messages within a host are copied in fragments of 32 KiB, by default three at a time, and the sender must
  // poll after each burst. If compute tasks and listeners share cores, each burst of 96 KiB costs a context
  // switch, or a wait for a task that is not scheduled. With sixteen fragments, writes on two hosts with one
  // core each are 1.2 times as fast (bench/mpi_bench_sfio_nodes). A value set by the user is kept.
  setenv("OMPI_MCA_pml_ob1_send_pipeline_depth", "16", 0);
#endif
  return PMPI_Init_thread(argc, argv, required, provided);
}

int finalize() {
  try {
    sheaf::run_before_mpi_ends();  // striped multifiles need the session
    sheaf::sfio::Runtime::stop();
  } catch (const std::exception&) {
    // No error can be reported any more.
  }
  return PMPI_Finalize();
}

}  // namespace

extern "C" {

SHEAF_EXPORT int MPI_Init(int* argc, char*** argv) {
  int level = MPI_THREAD_SINGLE;
  return init(argc, argv, MPI_THREAD_SINGLE, &level);
}
SHEAF_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return init(argc, argv, required, provided);
}
SHEAF_EXPORT int MPI_Finalize(void) { return finalize(); }

#ifdef OPEN_MPI
// The Fortran calls of Open MPI bypass the C functions, so these functions replace them. The first ones are
// those of mpif.h and the module mpi; the others are those of the module mpi_f08, where the error argument is
// optional.
SHEAF_EXPORT void mpi_init_(MPI_Fint* error) { *error = MPI_Init(nullptr, nullptr); }
SHEAF_EXPORT void mpi_init_thread_(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error) {
  *error = MPI_Init_thread(nullptr, nullptr, *required, provided);
}
SHEAF_EXPORT void mpi_finalize_(MPI_Fint* error) { *error = finalize(); }

SHEAF_EXPORT void mpi_init_f08_(MPI_Fint* error) {
  const int result = MPI_Init(nullptr, nullptr);
  if (error) *error = result;
}
SHEAF_EXPORT void mpi_init_thread_f08_(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error) {
  const int result = MPI_Init_thread(nullptr, nullptr, *required, provided);
  if (error) *error = result;
}
SHEAF_EXPORT void mpi_finalize_f08_(MPI_Fint* error) {
  const int result = finalize();
  if (error) *error = result;
}
#endif

}  // extern "C"
