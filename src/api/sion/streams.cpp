// Calls that return and replace FILE* and descriptors.
#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/on_handle.hpp"
#include "api/sion/opening.hpp"
#include "sfio/striped_store.hpp"
#include "storage/store.hpp"

using namespace sheaf;
using namespace sheaf::api;

namespace {

// Returns the program's stream; throws in posix mode.
StdioHandle& ansi_stream(SionHandle& handle) {
  if (handle.opened.posix) throw Error(Code::wrong_mode, "there is no FILE* in posix mode");
  return handle.share();
}

}  // namespace

FILE* sion_get_fp(int sid) {
  SionHandle* h = find_handle(sid);
  if (h && h->opened.posix) return nullptr;
  return on_handle("sion_get_fp", sid, static_cast<FILE*>(nullptr), [](SionHandle& handle) {
    return handle.program.second ? handle.program.second : handle.stream();
  });
}

int sion_get_fd(int sid) {
  SionHandle* h = find_handle(sid);
  if (h && !h->opened.posix && !h->facts().compressed) return -1;
  return on_handle("sion_get_fd", sid, -1, [](SionHandle& handle) { return handle.share().descriptor(); });
}

int sion_set_fp_closed(int sid) {
  return succeeds_on_handle("sion_set_fp_closed", sid, [](SionHandle& handle) {
    if (handle.program.plain) return handle.drop_stream();
    if (!handle.shared()) throw Error(Code::wrong_mode, "no stream of this handle was given out");
    handle.program.second = nullptr;  // the closed stream was this one if set
    if (handle.reader) handle.reader->forget_handle();
    if (handle.writer) {
      handle.writer->chunks().forget_handle();
      report_overrun("sion_set_fp_closed", handle);
    }
  });
}

int sion_set_second_fp(int sid, FILE* fp) {
  return succeeds_on_handle("sion_set_second_fp", sid, [fp](SionHandle& handle) {
    if (!fp) throw Error(Code::invalid_argument, "the second stream is NULL");
    if (handle.program.second)
      return warn("sion_set_second_fp", "a second stream is registered already, and stays", handle.task());
    StdioHandle& own = ansi_stream(handle);
    const int64_t position = own.position();
    own.use_stream(fp);
    own.move_to(position);
    handle.program.second = fp;
  });
}

int sion_unset_second_fp(int sid) {
  return succeeds_on_handle("sion_unset_second_fp", sid, [](SionHandle& handle) {
    if (!handle.program.second)
      return warn("sion_unset_second_fp", "no second stream is registered", handle.task());
    const int64_t position = handle.share().position();
    handle.share().use_own_stream();
    handle.share().move_to(position);
    handle.program.second = nullptr;
  });
}

int sion_optimize_fp_buffer(int sid) {
  return succeeds_on_handle("sion_optimize_fp_buffer", sid, [](SionHandle& handle) {
    if (handle.program.plain) return;  // uses the buffers of the library
    ansi_stream(handle).set_buffer(static_cast<size_t>(handle.facts().fsblksize));
  });
}

int _sion_file_stat_file(const char* fname) {
  return guarded("_sion_file_stat_file", -1, 0,
                 [&] { return int{fname != nullptr && sfio::any_store().status(fname).exists}; });
}
