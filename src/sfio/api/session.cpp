// Implements the functions that start, stop and describe the session.
#include "sfio/api/exported.hpp"
#include "sfio/api/runtime.hpp"

using namespace sheaf::sfio;

int sfio_start(MPI_Comm all, const char* how, MPI_Comm* compute) {
  if (compute) *compute = MPI_COMM_NULL;
  return guarded(std::nullopt, "sfio_start", -1, [&] {
    sheaf::collective_call(sheaf::mpi_job_end(all), "sfio_start", [&] { Runtime::start(all, how); });
    if (compute) *compute = sfio_comm();
  });
}

int sfio_stop(void) {
  return guarded_together(std::nullopt, "sfio_stop", -1, [] { Runtime::stop(); });
}

MPI_Comm sfio_comm(void) { return Runtime::current() ? Runtime::current()->compute() : MPI_COMM_NULL; }

int sfio_listeners(void) {
  return Runtime::current() ? static_cast<int>(Runtime::current()->link()->listeners().size()) : 0;
}

const char* sfio_listener_name(int number) {
  if (number < 0 || number >= sfio_listeners()) return nullptr;
  return Runtime::current()->link()->listeners()[static_cast<size_t>(number)].name.c_str();
}

void sfio_traffic(int64_t* messages, int64_t* bytes) {
  const LinkCounts counts = Runtime::current() ? Runtime::current()->link()->counts() : LinkCounts();
  if (messages) *messages = counts.messages;
  if (bytes) *bytes = counts.bytes;
}

int64_t sfio_lent_bytes(void) { return Runtime::current() ? Runtime::current()->link()->counts().lent : 0; }
