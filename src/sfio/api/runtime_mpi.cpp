// The session under MPI and its functions.
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/os/mpi_end.hpp"
#include "base/report/report.hpp"
#include "base/service_thread.hpp"
#include "comm/agree.hpp"
#include "comm/mpi/mpi_comm.hpp"
#include "comm/mpi/mpi_messages.hpp"
#include "sfio/api/exported.hpp"
#include "sfio/api/runtime.hpp"
#include "sfio/session/listener.hpp"
#include "sfio/session/message_link.hpp"
#include "sfio/striped_store.hpp"
#include "storage/store.hpp"

namespace sheaf::sfio {

namespace {

Runtime* running = nullptr;

// Ends the session in MPI_Finalize, which first deletes the attributes of MPI_COMM_SELF, while all of MPI
// still works (MPI 3.1, section 8.7.1).
int end_with_mpi(MPI_Comm, int, void*, void*) {
  try {
    run_before_mpi_ends();  // striped multifiles need the session
    Runtime::stop();
  } catch (const std::exception&) {
  }
  return MPI_SUCCESS;
}

void end_at_finalize() {
  static bool attached = false;
  if (attached) return;
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_with_mpi, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  MPI_Comm_free_keyval(&key);
  attached = true;
}

void require_mpi() {
  int flag = 0;
  MPI_Initialized(&flag);
  if (!flag) throw Error(Code::invalid_argument, "MPI has not been initialized");
  MPI_Finalized(&flag);
  if (flag) throw Error(Code::invalid_argument, "MPI has been finalized");
}

// Returns a place with two threads that alternate in MPI calls, if the thread level allows it.
std::unique_ptr<Workplace> place_of_listener() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level >= MPI_THREAD_SERIALIZED ? guarded_place() : thread_place();
}

const char* words_of(const char* how) {
  if (how && *how) return how;
  const char* const set = std::getenv("SHEAF_SFIO");
  return set ? set : "";
}

}  // namespace

void report_error(const char* call, const std::exception& error) {
  report(call, error, running ? running->comm().rank() : -1, -1);
  const ErrorFacts& facts = last_error_facts();
  errno = facts.errno_value ? facts.errno_value : facts.code == Code::invalid_argument ? EINVAL : EIO;
}

Runtime* Runtime::current() { return running; }

Runtime& Runtime::required() {
  if (!running) start(MPI_COMM_WORLD, nullptr);
  if (!running) throw Error(Code::wrong_mode, "this task is an I/O listener");
  return *running;
}

void Runtime::start(MPI_Comm all, const char* how) {
  require_mpi();
  if (running) throw Error(Code::wrong_mode, "a session is running already; sfio_stop() ends it");
  std::unique_ptr<Runtime> session(new Runtime);
  session->begin(all, how);
  if (session->compute_ == MPI_COMM_NULL) return;  // this task was a listener; the session has ended
  end_at_finalize();
  set_session_store(make_striped_store(session->link_));
  running = session.release();
}

void Runtime::begin(MPI_Comm all, const char* how) {
  const auto tasks = mpi_comm(all);
  Role role = Role::automatic;
  agree(*tasks, attempt([&] {
    role = role_of(*tasks, words_of(how));
    options_ = options_from_environment();
  }));
  const char* const names = std::getenv("SHEAF_SFIO_HOSTS");
  const Roster roster = make_roster(*tasks, role, options_, names ? names : "");
  const bool in_thread = roster.serves && roster.computes;
  agree(*tasks, attempt([&] {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (in_thread && level < MPI_THREAD_MULTIPLE)
      throw Error(Code::wrong_mode,
                  "listeners in threads need MPI_Init_thread with MPI_THREAD_MULTIPLE; or start sheaf-iod "
                  "beside the program, "
                  "or let tasks be listeners (SHEAF_SFIO=listeners=K)");
    if (roster.serves) service_ = make_service(*files_, roster, tasks->rank(), options_);
  }));
  MPI_Comm_split(all, roster.computes ? 0 : MPI_UNDEFINED, tasks->rank(), &compute_);
  messages_ = mpi_messages(all);
  if (!roster.computes) {
    serve(*messages_, *service_, options_.room, *place_of_listener());
    return;
  }
  static int64_t sessions = 0;
  number_ = ++sessions;
  comm_ = mpi_comm(compute_);
  link_ = message_link(mpi_messages_on(messages_->comm()), roster.listeners, options_.timeout, own_tags);
  agree(*comm_, attempt([&] {
    if (in_thread) serve_in_thread();
  }));
}

void Runtime::serve_in_thread() {
  thread_ = service_thread([this, own = std::shared_ptr<Messages>(mpi_messages_on(messages_->comm()))] {
    try {
      serve(*own, *service_, options_.room, *place_of_listener(), [this] { return given_up_.load(); });
    } catch (const std::exception& error) {
      report_error("I/O listener", error);  // the clients detect that the listener is gone
    }
  });
}

SharedSession Runtime::shared() const {
  return {.number = number_,
          .comm = messages_->comm(),
          .timeout = options_.timeout,
          .listeners = static_cast<int32_t>(link_->listeners().size())};
}

void Runtime::stop() {
  if (!running) return;
  const std::unique_ptr<Runtime> session(std::exchange(running, nullptr));
  set_session_store(nullptr);
  session->comm_->barrier();
  if (session->comm_->rank() == 0) say_goodbye(*session->link_);
  if (session->thread_.joinable()) session->thread_.join();
}

Runtime::Runtime() : files_(posix_store_here()) {}

Runtime::~Runtime() {
  given_up_.store(true);
  if (thread_.joinable()) thread_.join();
  link_.reset();
  messages_.reset();
  comm_.reset();
  int finalized = 0;
  if (compute_ != MPI_COMM_NULL && MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized)
    MPI_Comm_free(&compute_);
}

}  // namespace sheaf::sfio
