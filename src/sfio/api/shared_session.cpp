#include "sfio/api/shared_session.hpp"

#include "base/export.hpp"
#include "sfio/api/runtime.hpp"

using namespace sheaf::sfio;

extern "C" SHEAF_EXPORT int sheaf_sfio_shared_session(SharedSession* session, int begins) {
  return guarded(std::nullopt, "MPI_File_open", -1, [&] {
    Runtime* const runtime = begins ? &Runtime::required() : Runtime::current();
    *session = runtime ? runtime->shared() : SharedSession();
  });
}

extern "C" SHEAF_EXPORT void sheaf_sfio_shared_listener(int number, SharedListener* listener) {
  const ListenerFacts& facts = Runtime::current()->link()->listeners()[static_cast<size_t>(number)];
  *listener = {facts.name.c_str(), facts.room, facts.task};
}
