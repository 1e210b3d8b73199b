// Implements `sfio:` names in the MPI-IO drop-in. It reaches them through the I/O listeners of the session
// that libsheaf_sfio runs in this process. Without a session, each task accesses the subfiles itself.

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <string_view>

#include "comm/mpi/mpi_messages.hpp"
#include "mpiio/api/errors.hpp"
#include "mpiio/api/named_stores.hpp"
#include "sfio/api/shared_session.hpp"
#include "sfio/stripe_name.hpp"
#include "sfio/striped_store.hpp"

namespace sheaf::sfio {

namespace {

using mpiio::MpiError;

bool may_begin(MPI_Comm comm) {
  const char* const how = std::getenv("SHEAF_SFIO");
  if (!how || !*how || comm == MPI_COMM_NULL) return false;
  if (std::string_view(how) == "compute") return true;
  int same = MPI_UNEQUAL;
  PMPI_Comm_compare(comm, MPI_COMM_WORLD, &same);
  if (same != MPI_IDENT && same != MPI_CONGRUENT && same != MPI_SIMILAR)
    throw MpiError(
        MPI_ERR_COMM,
        "SHEAF_SFIO asks for I/O listeners; the first file named `sfio:` must be opened by all tasks, "
        "or sfio_start() called before");
  return true;
}

// Joins the running session before `path`, a `sfio:` name, is used; does nothing for other names. Collective
// over `comm`; local if `comm` is MPI_COMM_NULL. If no session runs and SHEAF_SFIO is set, begins one. Throws
// MpiError if the session needs more tasks than `comm` has, or cannot begin.
void follow_session(const std::string& path, MPI_Comm comm) {
  if (!is_stripe_path(path)) return;
  static std::mutex mutex;
  static int64_t followed = 0;
  const std::lock_guard hold(mutex);
  const auto session_of = reinterpret_cast<decltype(&sheaf_sfio_shared_session)>(
      dlsym(RTLD_DEFAULT, "sheaf_sfio_shared_session"));
  const auto listener_of = reinterpret_cast<decltype(&sheaf_sfio_shared_listener)>(
      dlsym(RTLD_DEFAULT, "sheaf_sfio_shared_listener"));
  if (!session_of || !listener_of) return;
  SharedSession session;
  if (session_of(&session, 0) != 0 ||
      (session.number == 0 && may_begin(comm) && session_of(&session, 1) != 0))
    throw MpiError(MPI_ERR_OTHER, "the session of I/O listeners did not begin");
  if (session.version != SharedSession().version)
    throw MpiError(MPI_ERR_OTHER, "libsheaf_sfio and libsheaf_mpiio are of different versions");
  if (session.number == followed) return;
  followed = session.number;
  if (session.number == 0) return set_session_store(nullptr);
  std::vector<ListenerFacts> listeners;
  for (int i = 0; i < session.listeners; ++i) {
    SharedListener listener;
    listener_of(i, &listener);
    listeners.push_back({listener.name, listener.task, listener.room});
  }
  auto link = message_link(mpi_messages_on(session.comm), std::move(listeners), session.timeout, guest_tags);
  set_session_store(make_striped_store(std::move(link)));
}

[[maybe_unused]] const bool registered = [] {
  mpiio::register_stores({any_store, any_store_here, follow_session});
  return true;
}();

}  // namespace

}  // namespace sheaf::sfio
