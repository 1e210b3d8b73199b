// The calls that hand out and exchange FILE* and descriptors.
#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/handle.hpp"
#include "api/sion/handles/report.hpp"
#include "api/sion/opening.hpp"
#include "storage/store.hpp"
#include "stripedfile/striped_store.hpp"

using namespace sheaf;
using namespace sheaf::api;

namespace {

// The program's stream; throws in posix mode.
StdioHandle& ansi_stream(Handle& handle) {
  if (handle.posix) throw Error(Code::wrong_mode, "there is no FILE* in posix mode");
  return handle.share();
}

template <class Result, class Body>
Result on_stream(const char* function, int sid, Result failure, Body&& body) {
  Handle* h = find_handle(sid);
  return guarded(function, h ? h->task() : -1, failure, [&]() -> Result { return body(get_handle(sid)); });
}

}  // namespace

FILE* sion_get_fp(int sid) {
  Handle* h = find_handle(sid);
  if (h && h->posix) return nullptr;
  FILE* stream = nullptr;
  guarded("sion_get_fp", h ? h->task() : -1, 0, [&] {
    Handle& handle = get_handle(sid);
    stream = handle.second ? handle.second : handle.stream();
    return 1;
  });
  return stream;
}

int sion_get_fd(int sid) {
  Handle* h = find_handle(sid);
  if (h && !h->posix && !h->facts().compressed) return -1;
  return on_stream("sion_get_fd", sid, -1, [](Handle& handle) { return handle.share().descriptor(); });
}

int sion_set_fp_closed(int sid) {
  return on_stream("sion_set_fp_closed", sid, SION_NOT_SUCCESS, [](Handle& handle) {
    if (handle.plain) {
      handle.drop_stream();
      return SION_SUCCESS;
    }
    if (!handle.shared()) throw Error(Code::wrong_mode, "no stream of this handle was given out");
    handle.second = nullptr;  // it was that one, if there is one
    if (handle.reader) handle.reader->forget_handle();
    if (handle.writer) {
      handle.writer->forget_handle();
      report_overrun("sion_set_fp_closed", handle);
    }
    return SION_SUCCESS;
  });
}

int sion_set_second_fp(int sid, FILE* fp) {
  return on_stream("sion_set_second_fp", sid, SION_NOT_SUCCESS, [fp](Handle& handle) {
    if (!fp) throw Error(Code::invalid_argument, "the second stream is NULL");
    if (handle.second) {
      warn("sion_set_second_fp", "a second stream is registered already, and stays", handle.task());
      return SION_SUCCESS;
    }
    StdioHandle& own = ansi_stream(handle);
    const int64_t position = own.position();
    own.use_stream(fp);
    own.move_to(position);
    handle.second = fp;
    return SION_SUCCESS;
  });
}

int sion_unset_second_fp(int sid) {
  return on_stream("sion_unset_second_fp", sid, SION_NOT_SUCCESS, [](Handle& handle) {
    if (!handle.second) {
      warn("sion_unset_second_fp", "no second stream is registered", handle.task());
      return SION_SUCCESS;
    }
    const int64_t position = handle.share().position();
    handle.share().use_own_stream();
    handle.share().move_to(position);
    handle.second = nullptr;
    return SION_SUCCESS;
  });
}

int sion_optimize_fp_buffer(int sid) {
  return on_stream("sion_optimize_fp_buffer", sid, SION_NOT_SUCCESS, [](Handle& handle) {
    if (handle.plain) return SION_SUCCESS;  // goes through the library's buffers
    ansi_stream(handle).set_buffer(static_cast<size_t>(handle.facts().fsblksize));
    return SION_SUCCESS;
  });
}

int _sion_file_stat_file(const char* fname) {
  return guarded("_sion_file_stat_file", -1, 0,
                 [&] { return int{fname != nullptr && any_store().status(fname).exists}; });
}
