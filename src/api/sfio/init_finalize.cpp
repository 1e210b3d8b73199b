// The two calls of MPI that a session needs to be in.
//
// MPI_Finalize ends the session first: a listener's thread must not be at work any more when it begins, since
// MPICH does without its locks from then on. A program whose MPI library stands in front of this one gets
// there through an attribute of MPI_COMM_SELF (runtime_mpi.cpp), which is as good unless listeners are
// threads and the MPI is MPICH.
//
// MPI_Init asks for the thread level that listeners in threads need, if SHEAF_SFIO wants them: programs that
// only open `sfio:` names through MPI-IO know nothing of it. Under Open MPI it also lets messages go in
// longer turns.
#include <mpi.h>

#include <cstdlib>
#include <string_view>

#include "api/sfio/runtime.hpp"
#include "api/sion/forgotten.hpp"
#include "base/export.hpp"

namespace {

int init(int* argc, char*** argv, int required, int* provided) {
  const char* const how = std::getenv("SHEAF_SFIO");
  if (how && std::string_view(how).starts_with("thread")) required = MPI_THREAD_MULTIPLE;
#ifdef OPEN_MPI
  // A message within a node is copied in fragments of 32 KiB, by default three at a time, and the sender must
  // look after each three of them. Where compute tasks and listeners share cores that is a change of task, or
  // a wait for one that is not at work, every 96 KiB: with two nodes of one core each, sixteen at a time make
  // writing 1.2 times as fast (bench/mpi_bench_sfio_nodes). Who has set it is right.
  setenv("OMPI_MCA_pml_ob1_send_pipeline_depth", "16", 0);
#endif
  return PMPI_Init_thread(argc, argv, required, provided);
}

int finalize() {
  try {
    sheaf::api::end_with_mpi();  // striped multifiles need the session
    sheaf::sfio::Runtime::stop();
  } catch (const std::exception&) {
    // There is nobody left to tell.
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
// Fortran calls of Open MPI pass by those of C. First mpif.h and the module mpi; then the module mpi_f08,
// where the error may be left out.
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
