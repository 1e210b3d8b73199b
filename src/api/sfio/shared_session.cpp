#include "api/sfio/shared_session.hpp"

#include "api/sfio/runtime.hpp"
#include "base/export.hpp"

using namespace sheaf::sfio;

extern "C" SHEAF_EXPORT int sheaf_sfio_shared_session(SharedSession* session, int begins) {
  return guarded("MPI_File_open", -1, [&] {
    Runtime* const running = begins ? &Runtime::required() : Runtime::current();
    *session = {};
    if (running) *session = running->shared();
    return 0;
  });
}

extern "C" SHEAF_EXPORT SharedListener sheaf_sfio_shared_listener(int number) {
  const ListenerFacts& facts = Runtime::current()->link()->listeners()[static_cast<size_t>(number)];
  return {facts.name.c_str(), facts.room, facts.task};
}
