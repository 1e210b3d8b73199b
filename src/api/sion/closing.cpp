// Closes and reinitializes handles opened by opening.cpp.
#include <cstdio>

#include "api/sion/handles/on_handle.hpp"
#include "api/sion/opening.hpp"

namespace sheaf::api {

void report_overrun(const char* function, SionHandle& handle) {
  if (handle.writer->chunks().take_overrun())
    warn(function,
         "task " + std::to_string(handle.task()) + " wrote beyond its chunk of " +
             std::to_string(handle.writer->geometry().size) +
             " bytes through its own stream, where other tasks have theirs; these bytes were moved to "
             "further chunks, and the "
             "close will say whether any are missing; call sion_ensure_free_space first, or open with "
             "fileptr=stream",
         handle.task());
}

namespace {

// Settles the program's stream, as get_handle() does, before a collective call. If this fails, the task must
// still take part in the call, so the error is reported, and the close fails later.
void settle_stream(const char* function, SionHandle& handle) {
  begin_call(handle);
  if (const auto problem = attempt([&] { handle.settle(); })) report(function, *problem, handle.task(), 0);
}

// Synchronizes with the program's stream before a close and reports writes beyond the chunk. A failure makes
// the close fail.
void report_last_overrun(const char* function, SionHandle& handle) {
  settle_stream(function, handle);
  if (!handle.writer) return;
  // A close may wait for other tasks. Commit first, so that the data are recorded if SIGTERM arrives during
  // the wait.
  if (handle.gate) attempt([&] { handle.writes->commit(); });
  if (!handle.shared()) return;
  attempt([&] { handle.writer->flush(); });
  report_overrun(function, handle);
}

// Runs body(handle) as on_found_handle() does, as a collective call of the tasks that opened the multifile.
// Returns SION_SUCCESS, -1 if the sid is invalid, 0 on any other error.
template <class Body>
int on_found_handle_together(const char* function, int sid, Body&& body) {
  return on_found_handle(function, sid, -1, 0, [&](SionHandle& handle) {
    return collective_call(job_end_of(handle), function, [&] { return body(handle); });
  });
}

}  // namespace

namespace {

// Closes a multifile that is saved in the background, and lets the save continue.
std::shared_ptr<saves::TaskSave> capture(SionHandle& handle) {
  saves::BegunSave& begun = *handle.closing.save;
  // The program waits for the requests of the close.
  const BackgroundWriter::Hold hold(begun.store->writer());
  return saves::close_captured(begun, *handle.writes, std::move(handle.closing.ownership),
                               [&] { return handle.release_writer(); });
}

}  // namespace

std::shared_ptr<saves::TaskSave> close_handle(const char* function, int sid, SionHandle& opened) {
  report_last_overrun(function, opened);
  const std::unique_ptr<SionHandle> handle = remove_handle(sid);
  const std::unique_ptr<FILE, int (*)(FILE*)> second(handle->program.second, std::fclose);
  if (handle->reads) {
    handle->reads->close();
    return nullptr;
  }
  if (handle->closing.save) return capture(*handle);
  const int32_t nfiles = handle->facts().nfiles;
  handle->writes->close();
  if (handle->closing.atomic)
    finish_atomic(*handle->comm(), *handle->store, *handle->closing.atomic, nfiles,
                  handle->closing.ownership.get());
  return nullptr;
}

int close_parallel(const char* function, int sid, OpenedBy by) {
  return on_found_handle_together(function, sid, [&](SionHandle& handle) {
    if (by == OpenedBy::mapped && handle.opened.by != by && handle.opened.by != OpenedBy::duplicate)
      throw Error(Code::wrong_mode,
                  "the handle was not opened mapped; close it with the call that fits its open");
    if (handle.is_serial())
      throw Error(Code::wrong_mode, "the handle was opened serially; close it with sion_close");
    if (handle.opened.by == OpenedBy::duplicate)
      throw Error(Code::wrong_mode, "the handle is a duplicate; release it with sion_dedup");
    close_handle(function, sid, handle);
  });
}

int reinit_parallel(const char* function, int sid, long long chunksize) {
  return on_found_handle_together(function, sid, [&](SionHandle& handle) {
    if (!handle.writes)
      throw Error(Code::wrong_mode, "only a multifile opened in parallel for writing can be laid out anew");
    settle_stream(function, handle);
    handle.writes->resize_chunks(chunksize);
  });
}

JobEnd job_end_of(SionHandle& handle) {
  const Comm* const comm = handle.is_serial() ? nullptr : handle.comm();
  return comm ? comm->job_end() : JobEnd();
}

Comm* comm_of(int sid) {
  SionHandle* h = find_handle(sid);
  return h && !h->is_serial() ? h->comm() : nullptr;
}

}  // namespace sheaf::api
