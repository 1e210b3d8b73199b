// Serial open and close.
#include <cstdlib>
#include <limits>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/handle.hpp"
#include "api/sion/handles/report.hpp"
#include "api/sion/opening.hpp"
#include "metadata/task_rows.hpp"
#include "mode/environment.hpp"
#include "stripedfile/striped_store.hpp"

using namespace sheaf;
using namespace sheaf::api;

namespace {

OpenMode serial_mode(const char* function, const char* file_mode) {
  OpenMode mode = parse_open_mode(file_mode ? file_mode : "", words_of_environment());
  if (mode.direction == Direction::none) mode.direction = Direction::read;
  report_unknown_words(function, mode, -1);
  return mode;
}

// Gives `count` values to a caller: skipped, allocated or filled (sion_serial.h).
template <class T, class Value>
void give_array(T** array, int64_t count, Value&& value) {
  if (!array) return;
  if (!*array) {
    *array = static_cast<T*>(std::malloc(sizeof(T) * static_cast<size_t>(std::max<int64_t>(count, 1))));
    if (!*array) throw std::bad_alloc();
  }
  for (int64_t t = 0; t < count; ++t) (*array)[t] = static_cast<T>(value(t));
}

std::unique_ptr<Handle> open_to_write(const char* fname, const OpenMode& mode, const int* ntasks,
                                      const int* nfiles, sion_int64* const* chunksizes, sion_int32* fsblksize,
                                      int* const* globalranks) {
  require(ntasks, "ntasks");
  require(fsblksize, "fsblksize");
  if (nfiles && *nfiles > 1)
    throw Error(Code::invalid_argument,
                "a serial program writes one physical file, not " + std::to_string(*nfiles));
  if (*ntasks < 0) throw Error(Code::invalid_argument, std::to_string(*ntasks) + " tasks");
  if (!chunksizes || !*chunksizes) throw Error(Code::invalid_argument, "no chunk sizes given");
  if (!globalranks || !*globalranks) throw Error(Code::invalid_argument, "no global ranks given");
  const auto n = static_cast<size_t>(*ntasks);
  const std::vector<int64_t> sizes(*chunksizes, *chunksizes + n);
  const std::vector<int64_t> ranks(*globalranks, *globalranks + n);
  SerialWriteRequest request;
  const auto alone = self_comm();
  const auto store = any_store_for(fname);
  auto atomic = begin_atomic(*alone, mode, fname, *store, false);
  request.path = atomic ? atomic->temporary : fname;
  request.stored_name = fname;
  request.chunk_sizes = sizes;
  request.globalranks = ranks;
  request.fsblksize = *fsblksize;
  auto writer = std::make_unique<Writer>(*store, request, mode);
  *fsblksize = writer->facts().fsblksize;
  auto handle = std::make_unique<Handle>(store, std::move(writer), mode);
  handle->atomic = std::move(atomic);
  return handle;
}

std::unique_ptr<Handle> open_to_read(const char* fname, const OpenMode& mode, int* ntasks, int* nfiles,
                                     sion_int64** chunksizes, sion_int32* fsblksize, int** globalranks) {
  const auto store = any_store_for(fname);
  auto reader = std::make_unique<Reader>(*store, fname, mode);
  const Multifile& m = reader->multifile();
  if (ntasks) *ntasks = static_cast<int>(m.ntasks());
  if (nfiles) *nfiles = reader->facts().nfiles;
  if (fsblksize) *fsblksize = reader->facts().fsblksize;
  report_keyval("sion_open", mode, reader->facts().keyval, -1);
  report_unclosed("sion_open", reader->facts(), fname, -1);
  TaskRows rows(m);
  give_array(chunksizes, m.ntasks(), [&](int64_t t) { return rows.at(t).geometry.size; });
  give_array(globalranks, m.ntasks(), [&](int64_t t) { return rows.at(t).globalrank; });
  return std::make_unique<Handle>(store, std::move(reader), mode);
}

std::unique_ptr<Handle> open_to_append(const char* fname, const OpenMode& mode, int* ntasks, int* nfiles,
                                       sion_int64** chunksizes, sion_int32* fsblksize, int** globalranks) {
  // What the caller learns is what a reader finds.
  open_to_read(fname, mode, ntasks, nfiles, chunksizes, fsblksize, globalranks);
  const auto store = any_store_for(fname);
  auto writer =
      std::make_unique<Writer>(*store, self_comm(), MappedAppendRequest{{fname, true, {}}, 0}, mode);
  return std::make_unique<Handle>(store, std::move(writer), mode);
}

}  // namespace

int sion_open(char* fname, const char* file_mode, int* ntasks, int* nfiles, sion_int64** chunksizes,
              sion_int32* fsblksize, int** globalranks, FILE** fileptr) {
  return guarded("sion_open", -1, -1, [&] {
    require(fname, "fname");
    const OpenMode mode = serial_mode("sion_open", file_mode);
    auto handle =
        mode.append     ? open_to_append(fname, mode, ntasks, nfiles, chunksizes, fsblksize, globalranks)
        : mode.writes() ? open_to_write(fname, mode, ntasks, nfiles, chunksizes, fsblksize, globalranks)
                        : open_to_read(fname, mode, ntasks, nfiles, chunksizes, fsblksize, globalranks);
    handle->opened_by = OpenedBy::serial;
    give_stream(*handle, fileptr);
    if (mode.writes()) keep_lease(*handle, fname);
    return add_handle(handle);
  });
}

int sion_open_rank(char* fname, const char* file_mode, sion_int64* chunksize, sion_int32* fsblksize,
                   int* rank, FILE** fileptr) {
  return guarded("sion_open_rank", rank ? *rank : -1, -1, [&] {
    require(fname, "fname");
    require(rank, "rank");
    const OpenMode mode = serial_mode("sion_open_rank", file_mode);
    if (mode.writes())
      throw Error(Code::wrong_mode,
                  std::string("'") + fname + "': a single task can be opened for reading only");
    const auto store = any_store_for(fname);
    auto reader = std::make_unique<Reader>(*store, fname, *rank, mode);
    report_keyval("sion_open_rank", mode, reader->facts().keyval, *rank);
    report_unclosed("sion_open_rank", reader->facts(), fname, *rank);
    if (chunksize) *chunksize = reader->stream().geometry().size;
    if (fsblksize) *fsblksize = reader->facts().fsblksize;
    auto handle = std::make_unique<Handle>(store, std::move(reader), mode);
    handle->opened_by = OpenedBy::serial;
    give_stream(*handle, fileptr);
    return add_handle(handle);
  });
}

int sion_close(int sid) {
  Handle* h = find_handle(sid);
  const int task = h ? h->task() : -1;
  return guarded("sion_close", task, SION_NOT_SUCCESS, [&] {
    if (!(h ? *h : get_handle(sid)).is_serial())
      throw Error(Code::wrong_mode,
                  "the handle was opened in parallel; close it with the call that fits its open");
    report_last_overrun("sion_close", *h);
    const std::unique_ptr<Handle> handle = remove_handle(sid);
    const SecondStream second(*handle);
    close_collectively(*handle);
    return SION_SUCCESS;
  });
}

int _sion_close_sid(int sid) { return sion_close(sid); }
