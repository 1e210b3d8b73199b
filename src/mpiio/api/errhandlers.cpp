#include "mpiio/api/errhandlers.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/non_copyable.hpp"
#include "mpiio/api/entry.hpp"
#include "mpiio/api/handles.hpp"

namespace sheaf::mpiio {
namespace {

// True while this thread opens or closes a shadow. The MPI library may then call entry points of the drop-in
// on its own file; these pass the call to the MPI library.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool at_shadow = false;

// Sets at_shadow during its lifetime.
class AtShadow : private NonCopyable {
 public:
  AtShadow() { at_shadow = true; }
  ~AtShadow() { at_shadow = false; }
};

// Functions of the handlers that the program created in C. `uses` counts the handles that the program has
// received and must still free. When it reaches 0, the entry is removed, because the MPI library may give the
// same handle to a new handler.
struct KnownHandlers {
  struct CreatedHandler {
    MPI_File_errhandler_function* function;
    int uses;  // references that the program has not freed
  };
  std::mutex mutex;
  std::map<MPI_Errhandler, CreatedHandler> handlers;
};

KnownHandlers& known() {
  static auto* const all = new KnownHandlers;  // never deleted: used until the process ends
  return *all;
}

MPI_File_errhandler_function* function_of(MPI_Errhandler handler) {
  const std::scoped_lock lock(known().mutex);
  const auto found = known().handlers.find(handler);
  return found == known().handlers.end() ? nullptr : found->second.function;
}

// Counts one more handle that the program has received. Adds the entry again if the program had freed all
// earlier handles.
void add_use(MPI_Errhandler handler, MPI_File_errhandler_function* function) {
  const std::scoped_lock lock(known().mutex);
  ++known().handlers.try_emplace(handler, KnownHandlers::CreatedHandler{function, 0}).first->second.uses;
}

void drop_use(MPI_Errhandler handler) {
  const std::scoped_lock lock(known().mutex);
  const auto found = known().handlers.find(handler);
  if (found != known().handlers.end() && --found->second.uses == 0) known().handlers.erase(found);
}

// Returns true for MPI_ERRORS_ABORT, which exists since MPI 4. MPICH 4.0 accepts this handler in no call, so
// its uses are not counted. Open MPI defines it as an object since version 5. The engine must load with older
// versions too, so it looks the object up by name at run time.
bool is_abort([[maybe_unused]] MPI_Errhandler handler) {
#ifdef OPEN_MPI
  static void* const own = find_function("ompi_mpi_errors_abort");
  return own && handler == own;
#elif defined MPI_ERRORS_ABORT
  return handler == MPI_ERRORS_ABORT;
#else
  return false;
#endif
}

bool is_fatal(MPI_Errhandler handler) { return handler == MPI_ERRORS_ARE_FATAL || is_abort(handler); }

std::mutex handler_of_self;

// Replaces the error handler of MPI_COMM_SELF by a predefined one during its lifetime.
class HandlerOfSelf : private NonCopyable {
 public:
  explicit HandlerOfSelf(MPI_Errhandler own) : lock_(handler_of_self) {
    PMPI_Comm_get_errhandler(MPI_COMM_SELF, &before_);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, own);
  }
  ~HandlerOfSelf() {
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, before_);
    SHEAF_REAL(Errhandler_free)(&before_);
  }

 private:
  std::scoped_lock<std::mutex> lock_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

// Stores a handle to a predefined handler, which the caller frees. The MPI library counts such handles, so
// only the library can issue one. It does so when the handler of an object is queried, for which
// MPI_COMM_SELF serves.
int borrow(MPI_Errhandler own, MPI_Errhandler* handler) {
  if (is_abort(own)) {
    *handler = own;
    return MPI_SUCCESS;
  }
  const HandlerOfSelf lent(own);
  return PMPI_Comm_get_errhandler(MPI_COMM_SELF, handler);
}

[[noreturn]] void die(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  SHEAF_REAL(Error_string)(code, text, &length);
  std::fprintf(stderr, "sheaf mpiio: fatal error on a file (MPI_ERRORS_ARE_FATAL): %s%s%s\n", text,
               *what ? ": " : "", what);
  PMPI_Abort(MPI_COMM_WORLD, code);
  std::abort();
}

// Runs call(errors, file) for the error handler of `file`. MPI_FILE_NULL selects the handler of files opened
// later.
template <class Call>
int on_errhandling(MPI_File file, Call call) {
  if (file == MPI_FILE_NULL) return call(default_errhandling(), file);
  const auto open = find_file(file);
  return open ? call(open->errors, open->handle()) : MPI_ERR_FILE;
}

}  // namespace

Errhandling& default_errhandling() {
  static auto* const one = new Errhandling;
  return *one;
}

Errhandling::~Errhandling() {
  if (shadow_ == MPI_FILE_NULL) return;
  forget_shadow(shadow_);
  const AtShadow passing;
  SHEAF_REAL(File_close)(&shadow_);
}

int Errhandling::hold(MPI_Errhandler handler, MPI_File file) {
  if (shadow_ == MPI_FILE_NULL) {
    const AtShadow passing;
    if (SHEAF_REAL(File_open)(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &shadow_) !=
        MPI_SUCCESS) {
      shadow_ = MPI_FILE_NULL;
      return MPI_ERR_OTHER;
    }
    if (file != MPI_FILE_NULL) register_shadow(shadow_, file);
  }
  // The MPI library rejects a handler that was created for another type of object. MPICH 5 then calls the
  // error handler of MPI_COMM_SELF, which by default ends the program. That handler is therefore replaced
  // during the call.
  const HandlerOfSelf returns(MPI_ERRORS_RETURN);
  return SHEAF_REAL(File_set_errhandler)(shadow_, handler);
}

int Errhandling::set(MPI_Errhandler handler, MPI_File file) {
  if (handler == MPI_ERRHANDLER_NULL) return MPI_ERR_ARG;
  if (handler == MPI_ERRORS_RETURN || is_fatal(handler)) {
    own_ = handler;
    return MPI_SUCCESS;
  }
  if (const int result = hold(handler, file)) return result;  // also rejects handlers of other object types
  own_ = MPI_ERRHANDLER_NULL;
  function_ = function_of(handler);
  return MPI_SUCCESS;
}

int Errhandling::get(MPI_Errhandler* handler) const {
  if (own_ != MPI_ERRHANDLER_NULL) return borrow(own_, handler);
  const int result = SHEAF_REAL(File_get_errhandler)(shadow_, handler);
  if (result == MPI_SUCCESS && function_) add_use(*handler, function_);
  return result;
}

int Errhandling::call(MPI_File handle, int code, const char* what) const {
  if (is_fatal(own_)) die(code, what);
  if (own_ != MPI_ERRHANDLER_NULL) return code;
  if (function_) {
    function_(&handle, &code);
  } else {
    SHEAF_REAL(File_call_errhandler)(shadow_, code);
  }
  return code;
}

void Errhandling::inherit(const Errhandling& other, MPI_File file) {
  own_ = other.own_;
  if (own_ != MPI_ERRHANDLER_NULL) return;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (other.get(&handler) != MPI_SUCCESS || hold(handler, file) != MPI_SUCCESS) {
    own_ = MPI_ERRORS_RETURN;
    return;
  }
  function_ = other.function_;
  PMPI_Errhandler_free(&handler);
}

}  // namespace sheaf::mpiio

using namespace sheaf::mpiio;

extern "C" {

int PMPI_File_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* handler) {
  const int result = SHEAF_REAL(File_create_errhandler)(function, handler);
  if (result != MPI_SUCCESS) return result;
  const std::scoped_lock lock(known().mutex);
  known().handlers[*handler] = {function, 1};
  return MPI_SUCCESS;
}

int PMPI_File_set_errhandler(MPI_File file, MPI_Errhandler handler) {
  if (at_shadow) return SHEAF_REAL(File_set_errhandler)(file, handler);
  return on_errhandling(file, [&](Errhandling& errors, MPI_File own) { return errors.set(handler, own); });
}

int PMPI_File_get_errhandler(MPI_File file, MPI_Errhandler* handler) {
  if (at_shadow) return SHEAF_REAL(File_get_errhandler)(file, handler);
  return on_errhandling(file, [&](Errhandling& errors, MPI_File) { return errors.get(handler); });
}

int PMPI_File_call_errhandler(MPI_File file, int code) {
  if (at_shadow) return SHEAF_REAL(File_call_errhandler)(file, code);
  return on_errhandling(file, [&](Errhandling& errors, MPI_File) {
    errors.call(file, code, "");
    return MPI_SUCCESS;
  });
}

int PMPI_Errhandler_free(MPI_Errhandler* handler) {
  if (handler && is_abort(*handler)) {
    *handler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
  }
  if (handler) drop_use(*handler);
  return SHEAF_REAL(Errhandler_free)(handler);
}

}  // extern "C"
